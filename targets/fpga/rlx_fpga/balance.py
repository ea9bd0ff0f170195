"""Depths of the queues where streams that were forked meet again.

All figures are parts of a frame. After a fork, every branch must accept as much as the slowest one
takes before it produces something, or the fork deadlocks. With, for each branch from the fork to
the layer where they meet,

- lag: the maximum that the branch can have taken beyond the share that it has produced (line
  buffers, sums over a frame, registers, queues),
- lead: the maximum that it can have produced beyond the share that it has taken (a layer that skips
  rows produces a row as soon as it has its first pixels),

and for each operand of that layer ahead and behind (a concatenation reads operands in turn), the
queue in front of operand e needs

    max over operands f != e of (lag(f) + ahead(f))  +  lead(e) + behind(e)

of a frame. It is then never full before every other operand has data, so there is no deadlock, and
no branch ever waits for the queue of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class OperandFlow:
    """A stream into a stage.

    Attributes:
        source: Stage that drives it; negative for inputs of the pipeline.
        capacity: What the registers in front of the stage hold, as part of a frame.
        ahead: By how much the stage can take more than the share that it has produced.
        behind: By how much the stage can take less than the share that it has produced.
    """

    source: int
    capacity: Fraction = NOTHING
    ahead: Fraction = NOTHING
    behind: Fraction = NOTHING


@dataclass(frozen=True, slots=True)
class StageFlow:
    """How far input and output of a stage can drift apart.

    Attributes:
        operands: Its input streams.
        hold: Maximum that it can have taken beyond the share that it has produced.
        lead: Maximum that it can have produced beyond the share that it has taken.
    """

    operands: tuple[OperandFlow, ...]
    hold: Fraction = NOTHING
    lead: Fraction = NOTHING


def queue_depths(stages: Sequence[StageFlow]) -> list[list[Fraction]]:
    """Return for each operand of each stage how much of a frame its queue must hold.

    Args:
        stages: In topological order; sources are indices into it.
    """
    forks = _forks(stages)
    lags: dict[int, dict[int, Fraction]] = {fork: {fork: NOTHING} for fork in forks}
    leads: dict[int, dict[int, Fraction]] = {fork: {fork: NOTHING} for fork in forks}
    depths: list[list[Fraction]] = []
    for index, stage in enumerate(stages):
        meeting = [
            fork
            for fork in forks
            if sum(operand.source in lags[fork] for operand in stage.operands) > 1
        ]
        near = [fork for fork in meeting if not _passed_through(stages, stage, fork, meeting)]
        depths.append(
            [_depth(stage, place, near, lags, leads) for place in range(len(stage.operands))]
        )
        for fork in forks:
            reached = [
                (operand, depth)
                for operand, depth in zip(stage.operands, depths[-1], strict=True)
                if operand.source in lags[fork]
            ]
            if reached:
                lags[fork][index] = stage.hold + min(
                    lags[fork][operand.source] + operand.capacity + operand.ahead + depth
                    for operand, depth in reached
                )
                leads[fork][index] = stage.lead + max(
                    leads[fork][operand.source] + operand.behind for operand, _ in reached
                )
    return depths


def _forks(stages: Sequence[StageFlow]) -> list[int]:
    """Return the sources that are read more than once."""
    sources = [operand.source for stage in stages for operand in stage.operands]
    return sorted({source for source in sources if sources.count(source) > 1})


def _depth(
    stage: StageFlow,
    place: int,
    forks: Sequence[int],
    lags: dict[int, dict[int, Fraction]],
    leads: dict[int, dict[int, Fraction]],
) -> Fraction:
    """Return the formula of the module's docstring, for the worst of ``forks``."""
    mine = stage.operands[place]
    depth = NOTHING
    for fork in forks:
        if mine.source not in lags[fork]:
            continue
        others = [
            lags[fork][other.source] + other.capacity + other.ahead
            for index, other in enumerate(stage.operands)
            if index != place and other.source in lags[fork]
        ]
        if others:
            depth = max(depth, max(others) + leads[fork][mine.source] + mine.behind)
    return depth


def _passed_through(
    stages: Sequence[StageFlow], stage: StageFlow, fork: int, others: Sequence[int]
) -> bool:
    """Return whether all paths from ``fork`` to ``stage`` lead through one of the other forks.

    Then the other one determines the depth: up to it there is only one stream.
    """
    for other in others:
        if other == fork:
            continue
        reached = {fork}
        for index, between in enumerate(stages):
            if index != other and any(o.source in reached for o in between.operands):
                reached.add(index)
            if between is stage:
                break
        if not any(operand.source in reached for operand in stage.operands):
            return True
    return False
