"""Layers computed by a kernel of the test's choice, not the cheapest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rlx_cortexm import program
from rlx_cortexm.candidate import Candidate

Chooser = Callable[[Sequence[Candidate]], Candidate]


@contextmanager
def chosen_by(chooser: Chooser) -> Iterator[list[Candidate]]:
    """Let ``chooser`` choose while code is emitted; give the candidates chosen, in order."""
    chosen: list[Candidate] = []

    def choose(candidates: Sequence[Candidate], room: object = None) -> Candidate:
        del room
        chosen.append(chooser(candidates))
        return chosen[-1]

    usual = program.choose
    program.choose = choose
    try:
        yield chosen
    finally:
        program.choose = usual


def named(start: str, turn: int = 0) -> Chooser:
    """Return a chooser of candidates whose name begins with ``start``, another for each node.

    Nodes without such a candidate get their plain kernel, which is the last one.
    """
    turns = iter(range(turn, 1 << 30))

    def chooser(candidates: Sequence[Candidate]) -> Candidate:
        found = [c for c in candidates if c.name.startswith(start)] or [candidates[-1]]
        return found[next(turns) % len(found)]

    return chooser
