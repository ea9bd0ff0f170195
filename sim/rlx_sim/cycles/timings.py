"""Tables of timings (``timings.toml``) as objects, by core.

Tests: tests/sim/cycles/test_instruction.py
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIKE: Final = MappingProxyType({"cortex-m35p": "cortex-m33"})
"""Cores whose pipeline is that of another."""


class Bound(IntEnum):
    """Choice among the cycles of a row that gives a range."""

    MIN = 0
    EXPECTED = 1
    MAX = 2


@dataclass(frozen=True, slots=True)
class Timing:
    """Row of a table; see ``timings.toml``.

    Attributes:
        cycles: Fewest, expected and most cycles.
        source: Document.
    """

    cycles: tuple[int, int, int]
    source: str
    word: int = 0
    words_a_cycle: int = 0
    unit: str = ""
    busy: int = 0

    def cost(self, words: int, bound: Bound) -> int:
        """Return the cycles of an instruction that transfers so many registers."""
        transfer = -(-words // self.words_a_cycle) if self.words_a_cycle else words * self.word
        return self.cycles[bound] + transfer


@dataclass(frozen=True, slots=True)
class Pairing:
    """Instructions that may begin in the same cycle.

    Attributes:
        alone: Kinds that never do.
        older: Kinds that do only as the first of a pair.
        younger: Kinds that may be the second; empty for all.
        one_of: Groups of kinds of which a pair has at most one.
        refused: Kinds of first and second that do not pair.
        banked: Kinds of loads that pair only if they read different banks: odd and even words.
        is_narrow: Whether both have to be encoded in 16 bits.
        taken_after_flags: Whether a taken branch pairs with an instruction that sets the flags.
    """

    alone: frozenset[str] = frozenset()
    older: frozenset[str] = frozenset()
    younger: frozenset[str] = frozenset()
    one_of: tuple[frozenset[str], ...] = ()
    refused: frozenset[tuple[str, str]] = frozenset()
    banked: frozenset[str] = frozenset()
    is_narrow: bool = False
    taken_after_flags: bool = True


@dataclass(frozen=True, slots=True)
class CoreTimings:
    """All timings of a core.

    Attributes:
        core: Its name.
        published: Whether Arm publishes a table.
        issue_width: Instructions that may begin in a cycle.
        note: Assumptions, for the reader.
        kinds: Row of each kind of instruction.
        taken_extra: Further cycles of a transfer of control, by kind.
        mispredicted: Further cycles of a wrong prediction; None on cores that do not predict.
        late: Cycles that a result is late, by kind of its instruction and use.
        pipelined: Kinds that take a cycle less directly after one of ``pipelined_after``.
        pipelined_after: Those kinds.
        base_update: Whether loads that update their base are pipelined: ``never``, or with an
            ``other base``.
        pairing: Pairs, on cores that issue two instructions.
        sources: Documents of all rows.
    """

    core: str
    published: bool
    issue_width: int
    note: str
    kinds: Mapping[str, Timing]
    taken_extra: Mapping[str, tuple[int, int, int]]
    mispredicted: tuple[int, int, int] | None
    late: Mapping[tuple[str, str], int]
    pipelined: frozenset[str] = frozenset()
    pipelined_after: frozenset[str] = frozenset()
    base_update: str = "never"
    pairing: Pairing = field(default_factory=Pairing)
    sources: tuple[str, ...] = ()


@cache
def modelled_cores() -> tuple[str, ...]:
    """Return the names of all cores that have a table, without extensions."""
    return (*(name for name in _data() if name != "source"), *_LIKE)


@cache
def timings_of(cpu: str) -> CoreTimings | None:
    """Return the timings of a core by GCC's name, possibly with extensions; None without any."""
    name = cpu.partition("+")[0]
    row = _data().get(_LIKE.get(name, name))
    if row is None or name == "source":
        return None
    pipelining = row.get("pipelining", {})
    mispredicted = row.get("mispredicted")
    return CoreTimings(
        core=name,
        **{key: row[key] for key in ("published", "issue_width", "note")},
        kinds={kind: _timing(entry) for entry in row["timing"] for kind in entry["kinds"]},
        taken_extra={k: _range(v) for k, v in row["taken"].items() if k != "source"},
        mispredicted=None if mispredicted is None else _range(mispredicted["cycles"]),
        late={
            (kind, use): entry["late"]
            for entry in row.get("forward", ())
            for kind in entry["from"]
            for use in entry["to"]
        },
        pipelined=frozenset(pipelining.get("of", ())),
        pipelined_after=frozenset(pipelining.get("after", ())),
        base_update=pipelining.get("base_update", "never"),
        pairing=_pairing(row.get("pair", {})),
        sources=_sources(row),
    )


def _timing(entry: Mapping[str, Any]) -> Timing:
    values = {key: value for key, value in entry.items() if key not in ("kinds", "cycles")}
    return Timing(_range(entry["cycles"]), **values)


def _pairing(row: Mapping[str, Any]) -> Pairing:
    return Pairing(
        **{key: frozenset(row.get(key, ())) for key in ("alone", "older", "younger", "banked")},
        one_of=tuple(frozenset(group) for group in row.get("one_of", ())),
        refused=frozenset((first, second) for first, second in row.get("refused", ())),
        is_narrow=row.get("is_narrow", False),
        taken_after_flags=row.get("taken_after_flags", True),
    )


def _sources(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the documents of all rows of a core, each once."""
    parts = [*row["timing"], *row.get("forward", ()), row["taken"]]
    parts += [row[key] for key in ("mispredicted", "pipelining", "pair") if key in row]
    keys = [part[key] for part in parts for key in ("source", "base_update_source") if key in part]
    documents = _data()["source"]
    return tuple(dict.fromkeys(documents[key] for key in keys))


def _range(value: int | list[int]) -> tuple[int, int, int]:
    if isinstance(value, int):
        return value, value, value
    minimum, expected, maximum = value
    return minimum, expected, maximum


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("rlx_sim.cycles").joinpath("timings.toml").read_text("utf-8"))
