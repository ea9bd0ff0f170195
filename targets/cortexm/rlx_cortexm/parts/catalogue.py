"""Microcontrollers as data: core, maximum clock, flash and RAM.

The data are in ``parts.toml``: a new part needs only a table there. A board is another name of its
part.

Tests: tests/targets/cortexm/test_parts.py
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_KIB: Final = 1024
_MIN_PREFIX: Final = 5
"""Letters of a part's name from which on it may be cut short."""
_MAX_SUGGESTED: Final = 4
"""Number of parts that a message suggests."""
_GROUPS: Final = ("all", "boards")
"""Words that select several parts where these are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CortexPart:
    """A microcontroller.

    Attributes:
        key: Value of ``--part``.
        name: Name as the vendor writes it, or that of the board; a small x in it is any letter.
        chip: Name of a board's part; empty for a part.
        vendor: Maker of the part.
        core: GCC's name of the core that runs the network.
        fpu: Precision of its floating-point unit: none, single or double.
        clock_mhz: Maximum clock of that core.
        flash_bytes: Flash for program and constants; None if it is outside, of any size.
        ram_bytes: RAM on the chip.
        block_bytes: Largest part of it with consecutive addresses.
        ram_note: Blocks of the RAM, possibly empty.
        wait_states: Cycles by which a read of the flash is delayed at the maximum clock, or None.
        read_bits: Width of such a read.
        cache: Caches between flash and core, possibly empty.
        prefetch: Whether the next read begins while the core executes what the last one returned.
        code_cache_bytes: Size of a cache of code, which may hold constants too; 0 without.
        data_cache_bytes: Size of a cache of constants; 0 without.
        source: Documents with these figures.
    """

    key: str
    name: str
    vendor: str
    core: str
    fpu: str
    clock_mhz: float
    flash_bytes: int | None
    ram_bytes: int
    block_bytes: int
    ram_note: str
    wait_states: int | None
    read_bits: int
    cache: str
    source: str
    chip: str = ""
    prefetch: bool = False
    code_cache_bytes: int = 0
    data_cache_bytes: int = 0

    @property
    def summary(self) -> str:
        """Its figures in one line."""
        flash = "external flash" if self.flash_bytes is None else f"{_kib(self.flash_bytes)} flash"
        whole = self.block_bytes == self.ram_bytes
        block = "" if whole else f" ({_kib(self.block_bytes)} contiguous)"
        name = f"{self.name} with {self.chip}" if self.chip else f"{self.vendor} {self.name}"
        return (
            f"{name}: {self.core}, {self.clock_mhz:g} MHz, {flash},"
            f" {_kib(self.ram_bytes)} RAM{block}"
        )

    def matches(self, typed: str) -> bool:
        """Whether an order code begins with the name: STM32F446RET6 for STM32F446xE."""
        pattern = "(AT)?" + re.escape(self.name).replace("x", "[A-Z]")
        return re.match(pattern, typed, flags=re.IGNORECASE) is not None


@cache
def parts() -> Mapping[str, CortexPart]:
    """Return all parts by key, in the order of the file."""
    return MappingProxyType({key: _part(key, row) for key, row in _data()["part"].items()})


@cache
def boards() -> Mapping[str, CortexPart]:
    """Return all boards by key, each as the part that it has, under the board's name."""
    return MappingProxyType({key: _board(key, row) for key, row in _data()["board"].items()})


def part(name: str) -> CortexPart:
    """Return the part or board called ``name``.

    Capitals and hyphens do not count. An order code selects its part, and so does an unambiguous
    beginning of a name.

    Raises:
        UsageError: No part matches, or several do.
    """
    plain = _plain(name)
    for key, entry in {**parts(), **boards()}.items():
        if plain in (_plain(key), _plain(entry.name)):
            return entry
    candidates = [entry for entry in parts().values() if entry.matches(name)]
    if not candidates and len(plain) >= _MIN_PREFIX:
        candidates = [entry for key, entry in parts().items() if _plain(key).startswith(plain)]
    if len(candidates) == 1:
        return candidates[0]
    if plain in _GROUPS:
        raise UsageError(
            f"expected one part, got {name!r}",
            where="--part",
            hint=f"to compare several: rlx estimate MODEL --target cortexm --parts {plain}",
        )
    keys = [entry.key for entry in candidates]
    if not keys and len(plain) >= _MIN_PREFIX:
        keys = [key for key in boards() if _plain(key).startswith(plain)]
    suggestion = _suggestion(plain, keys)
    raise UsageError(
        f"no part is called {name!r}",
        where="--part",
        hint=f"{suggestion}'rlx targets cortexm' lists them",
    )


def check_part_clock(chip: CortexPart, clock: float) -> None:
    """Check that a part can run at a clock in hertz.

    Raises:
        UsageError: Its maximum is lower.
    """
    if clock > chip.clock_mhz * 1e6:
        raise UsageError(
            f"{chip.name} runs at {chip.clock_mhz:g} MHz at most, not at {clock / 1e6:g} MHz",
            where="--clock",
            hint=f"write --clock {chip.clock_mhz:g}MHz or less, or leave it out",
        )


def _suggestion(plain: str, several: list[str]) -> str:
    """Return a suggestion: the parts that a beginning is that of, or similar names."""
    by_plain = {_plain(key): key for key in (*parts(), *boards())}
    close = get_close_matches(plain, by_plain, n=2, cutoff=0.75)
    suggested = several or [by_plain[text] for text in close]
    rest = len(suggested) - _MAX_SUGGESTED
    more = f" or {rest} more" if rest > 0 else ""
    named = " or ".join(map(repr, suggested[:_MAX_SUGGESTED]))
    return f"did you mean {named}{more}? " if suggested else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _kib(nbytes: int) -> str:
    return f"{nbytes // _KIB} KiB"


def _data() -> dict[str, Any]:
    return tomllib.loads(files("rlx_cortexm.parts").joinpath("parts.toml").read_text("utf-8"))


def _part(key: str, row: Mapping[str, Any]) -> CortexPart:
    flash, ram = row.get("flash_kib"), row["ram_kib"]
    return CortexPart(
        key=key,
        **{name: row[name] for name in ("name", "vendor", "core", "fpu", "clock_mhz", "source")},
        flash_bytes=None if flash is None else flash * _KIB,
        ram_bytes=ram * _KIB,
        block_bytes=row.get("block_kib", ram) * _KIB,
        ram_note=row.get("ram_note", ""),
        wait_states=row.get("wait_states"),
        read_bits=row.get("read_bits", 32),
        cache=row.get("cache", ""),
        prefetch=row.get("prefetch", False),
        code_cache_bytes=row.get("code_cache_bytes", 0),
        data_cache_bytes=row.get("data_cache_bytes", 0),
    )


def _board(key: str, row: Mapping[str, Any]) -> CortexPart:
    """Return the part of a board, under the board's name, with the board's flash."""
    chip = parts()[row["part"]]
    bare = replace(chip, key=key, name=row["name"], chip=chip.name)
    flash = row.get("flash_kib")
    return bare if flash is None else replace(bare, flash_bytes=flash * _KIB)
