"""What built code takes: bytes by kind of section, and the deepest stack."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.errors import SimulationError
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_WRITE, _ALLOCATED, _EXECUTABLE = 1, 2, 4

_NODE: Final = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"')
_EDGE: Final = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
_USAGE: Final = re.compile(r"\\n(\d+) bytes \(([a-z,]+)\)")


@dataclass(frozen=True, slots=True)
class Sizes:
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


@dataclass(frozen=True, slots=True)
class StackBound:
    """The deepest stack that calls between the model's functions can need.

    Attributes:
        bytes: Sum of frames along the worst path.
        path: Functions on that path, the entry point first.
        unknown: Functions on any path whose frame the compiler did not tell (of its library).
    """

    bytes: int
    path: tuple[str, ...]
    unknown: tuple[str, ...]


def object_sizes(paths: Iterable[Path]) -> Sizes:
    """Return the bytes of everything in some ELF files that takes memory on the device.

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
    return Sizes(**totals, sections=dict(sorted(sections.items())))


def _allocated(path: Path) -> list[tuple[str, str, int]]:
    """Return name, kind and size of each section that takes memory."""
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


def stack_bound(call_graphs: Iterable[Path]) -> StackBound | None:
    """Return the worst path through what GCC's ``-fcallgraph-info=su`` wrote, or None.

    Frames of indirect calls and of the compiler's own library are not in the bound; they are
    counted when the stack is measured.

    Args:
        call_graphs: The ``.ci`` files; none of them gives None.

    Raises:
        SimulationError: Functions call each other in a circle, or a frame has no fixed size.
    """
    frames: dict[str, int] = {}
    calls: dict[str, list[str]] = {}
    for path in call_graphs:
        text = path.read_text(encoding="utf-8")
        frames |= _frames(text)
        for caller, callee in _EDGE.findall(text):
            calls.setdefault(_function(caller), []).append(_function(callee))
    if not frames:
        return None
    depths = _depths(frames, calls)
    worst = max(depths, key=lambda name: depths[name][0])
    called = {callee for callees in calls.values() for callee in callees}
    path_names = depths[worst][1]
    return StackBound(depths[worst][0], path_names, tuple(sorted(called - frames.keys())))


def _frames(text: str) -> dict[str, int]:
    frames = {}
    for title, label in _NODE.findall(text):
        usage = _USAGE.search(label)
        if usage is None:
            continue
        if usage[2] == "dynamic":
            raise SimulationError(
                f"the stack of {_function(title)} has no fixed size", where="emitted C"
            )
        frames[_function(title)] = int(usage[1])
    return frames


def _depths(
    frames: Mapping[str, int], calls: Mapping[str, list[str]]
) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return for each function the bytes and the path of the deepest chain of calls from it."""
    depths: dict[str, tuple[int, tuple[str, ...]]] = {}

    def visit(name: str, above: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        if name in above:
            raise SimulationError(f"{name} calls itself, directly or not", where="emitted C")
        if name not in depths:
            below = [visit(callee, (*above, name)) for callee in calls.get(name, ())]
            deepest = max(below, default=(0, ()))
            depths[name] = (frames.get(name, 0) + deepest[0], (name, *deepest[1]))
        return depths[name]

    for name in frames:
        visit(name, ())
    return depths


def _function(title: str) -> str:
    """Return a function's name; GCC puts the file before that of a static one."""
    return title.rsplit(":", 1)[-1]
