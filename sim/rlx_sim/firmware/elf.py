"""Bytes of built code by kind of section.

Tests: tests/sim/firmware/test_emulators.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_WRITE, _ALLOCATED, _EXECUTABLE = 1, 2, 4


@dataclass(frozen=True, slots=True)
class SectionSizes:
    """Bytes of compiled code.

    Attributes:
        text: Machine code.
        const: Constants that stay in flash.
        data: Initialised variables, in flash and RAM.
        bss: Variables that start at zero, in RAM.
        sections: Bytes of each section by name, equal names added.
    """

    text: int
    const: int
    data: int
    bss: int
    sections: Mapping[str, int]


def object_sizes(paths: Iterable[Path]) -> SectionSizes:
    """Return the bytes that some ELF files occupy in the memory of the device.

    Raises:
        ToolMissingError: pyelftools is not installed.
    """
    find("pyelftools")
    totals = {"text": 0, "const": 0, "data": 0, "bss": 0}
    sections: dict[str, int] = {}
    for path in paths:
        for name, kind, size in _allocated(path):
            totals[kind] += size
            sections[name] = sections.get(name, 0) + size
    return SectionSizes(**totals, sections=dict(sorted(sections.items())))


def _allocated(path: Path) -> list[tuple[str, str, int]]:
    """Return name, kind and size of each section that occupies memory."""
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        return [
            (section.name, _kind(section), int(section["sh_size"]))
            for section in ELFFile(file).iter_sections()
            if section["sh_flags"] & _ALLOCATED and section["sh_size"]
        ]


def _kind(section: Any) -> str:  # noqa: ANN401 (pyelftools carries no types)
    flags = section["sh_flags"]
    if flags & _EXECUTABLE:
        return "text"
    if not flags & _WRITE:
        return "const"
    return "bss" if section["sh_type"] == "SHT_NOBITS" else "data"
