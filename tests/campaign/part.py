"""Part of the campaign, and the outcome of one of its cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Amounts: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one case.

    Attributes:
        result: One word that the table counts, such as ``equal``, ``refused``, ``accepted``.
        finding: Fault, in one line; empty if there is none.
        amounts: Other amounts that the table adds up, such as ``cycles`` or ``frames``.
    """

    result: str
    finding: str = ""
    amounts: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A numbered list of cases and how to run one.

    Attributes:
        name: Name on the command line.
        title: First column of the table: what is done to rlx.
        goal: Property that must hold, for the table.
        run: Runs the case of a number, always the same; what it raises is a finding.
        cases: Cases of the long form, numbered from 0.
        short: Those of them, spread evenly, that the test suite runs; 0 for a part whose short form
            is a file of tests of its own.
        deadline_s: Wall-clock limit of a case; past it the case counts as hanging.
        cpu_s: Processor seconds that a case may take; None for no limit.
        memory_mb: Megabytes (10^6) by which a case may raise the peak of the process; None for no
            limit.
        crash: Result that a crash of the process counts as, where it is not that of rlx; None for a
            finding.
        prepare: Called once before the first case, so that what all cases share (models, compiled
            templates) counts for none of them.
        prepare_case: Called before each case with its number; what it takes is not measured.
        marks: Marks of the short form's test, such as ``sim``.
    """

    name: str
    title: str
    goal: str
    run: Callable[[int], Outcome]
    cases: int
    short: int
    deadline_s: float = 120.0
    cpu_s: float | None = None
    memory_mb: int | None = None
    crash: str | None = None
    prepare: Callable[[], object] | None = None
    prepare_case: Callable[[int], object] | None = None
    marks: tuple[str, ...] = ()

    def spread(self, count: int) -> list[int]:
        """Return ``count`` numbers of cases, from all over the list."""
        count = min(count, self.cases)
        return [k * self.cases // count for k in range(count)]
