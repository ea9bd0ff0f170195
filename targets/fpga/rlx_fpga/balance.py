"""Depths of the queues where streams that were split meet again.

All figures are parts of a frame. From a fork on, every branch must be able to take as much as the
slowest one takes before it gives something, or the fork stands still for ever. With, for each
branch from the fork to the layer where they meet,

- lag: the most that the branch can have taken beyond the share that it has given (line buffers,
  sums over a frame, registers, queues on the way),
- lead: the most that it can have given beyond the share that it has taken (a layer that skips rows
  gives a row as soon as it has its first pixels),

and for each operand of that layer ahead and behind (a concatenation takes turns), the queue in
front of operand e needs

    max over operands f != e of (lag(f) + ahead(f))  +  lead(e) + behind(e)

of a frame. It is then never full before another operand has given something, so there is no
deadlock, and no branch ever waits for the queue of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class Operand:
    """A stream into a stage.

    Attributes:
        source: Stage it comes from; negative for inputs of the pipeline.
        slack: What the registers on the way hold, as part of a frame.
        ahead: By how much the stage can take more than the share that it has given.
        behind: By how much the stage can take less than the share that it has given.
    """

    source: int
    slack: Fraction = NOTHING
    ahead: Fraction = NOTHING
    behind: Fraction = NOTHING


@dataclass(frozen=True, slots=True)
class Timing:
    """A stage as the balance sees it.

    Attributes:
        operands: Its streams.
        hold: Most that it can have taken beyond the share that it has given.
        lead: Most that it can have given beyond the share that it has taken.
    """

    operands: tuple[Operand, ...]
    hold: Fraction = NOTHING
    lead: Fraction = NOTHING


def queue_depths(stages: Sequence[Timing]) -> list[list[Fraction]]:
    """Return for each operand of each stage how much of a frame its queue must hold.

    Args:
        stages: In an order in which sources come first; sources refer to it.
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
                    lags[fork][operand.source] + operand.slack + operand.ahead + depth
                    for operand, depth in reached
                )
                leads[fork][index] = stage.lead + max(
                    leads[fork][operand.source] + operand.behind for operand, _ in reached
                )
    return depths


def _forks(stages: Sequence[Timing]) -> list[int]:
    """Return the sources that are read more than once."""
    sources = [operand.source for stage in stages for operand in stage.operands]
    return sorted({source for source in sources if sources.count(source) > 1})


def _depth(
    stage: Timing,
    place: int,
    forks: Sequence[int],
    lags: dict[int, dict[int, Fraction]],
    leads: dict[int, dict[int, Fraction]],
) -> Fraction:
    """Return the formula of the module's text, for the worst of ``forks``."""
    mine = stage.operands[place]
    depth = NOTHING
    for fork in forks:
        if mine.source not in lags[fork]:
            continue
        others = [
            lags[fork][other.source] + other.slack + other.ahead
            for index, other in enumerate(stage.operands)
            if index != place and other.source in lags[fork]
        ]
        if others:
            depth = max(depth, max(others) + leads[fork][mine.source] + mine.behind)
    return depth


def _passed_through(
    stages: Sequence[Timing], stage: Timing, fork: int, others: Sequence[int]
) -> bool:
    """Return whether all ways from ``fork`` to ``stage`` lead through one of the other forks.

    Then the other one decides: up to it there is only one stream.
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
