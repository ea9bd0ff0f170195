"""Depths of the queues where streams that were forked meet again.

All figures are parts of a frame. After a fork, every branch must accept as much as the slowest one
accepts before it produces something, or the fork deadlocks. With, for each branch from the fork to
the layer where they meet,

- lag: the maximum that the branch must have accepted beyond the share that it has produced (line
  buffers, sums over a frame, registers); of several operands the one that needs more. Further
  space in queues of the branch does not count: the branch need not fill it,
- lead: the maximum that it can have produced beyond the share that it has accepted (a layer that
  skips rows produces a row as soon as it has its first pixels),

and for each operand of that layer ahead and behind (a concatenation reads operands in turn), the
queue before operand e needs

    max over operands f != e of (lag(f) + ahead(f))  +  lead(e) + behind(e)

of a frame. It is then never full before every other operand has data, so deadlocks are impossible,
and no branch ever waits for the queue of another.

Inputs that meet in more than one layer can deadlock in the same way, though neither is forked for
the other: where they meet first they advance together, as from one fork, and are treated as one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = Fraction(0)

Fork: TypeAlias = tuple[int, ...]
"""A source that is read more than once, or several inputs that advance together."""


@dataclass(frozen=True, slots=True)
class OperandFlow:
    """A stream into a stage.

    Attributes:
        source: Stage that drives it; negative for inputs of the pipeline.
        capacity: Part of a frame that the registers before the stage hold.
        ahead: Part of a frame that the stage can accept beyond the share that it has produced.
        behind: Part of a frame by which it can accept less than the share that it has produced.
    """

    source: int
    capacity: Fraction = NOTHING
    ahead: Fraction = NOTHING
    behind: Fraction = NOTHING


@dataclass(frozen=True, slots=True)
class StageFlow:
    """Maximum drift between input and output of a stage.

    Attributes:
        operands: Its input streams.
        hold: Maximum that it can have accepted beyond the share that it has produced.
        lead: Maximum that it can have produced beyond the share that it has accepted.
    """

    operands: tuple[OperandFlow, ...]
    hold: Fraction = NOTHING
    lead: Fraction = NOTHING


def queue_depths(stages: Sequence[StageFlow]) -> list[list[Fraction]]:
    """Return for each operand of each stage the part of a frame that its queue must hold.

    Args:
        stages: In topological order; sources are indices into it.
    """
    forks = [*_forks(stages), *_coupled_inputs(stages)]
    lags = {fork: dict.fromkeys(fork, NOTHING) for fork in forks}
    leads = {fork: dict.fromkeys(fork, NOTHING) for fork in forks}
    depths: list[list[Fraction]] = []
    for index, stage in enumerate(stages):
        meeting = [
            fork
            for fork in forks
            if sum(operand.source in lags[fork] for operand in stage.operands) > 1
        ]
        near = _nearest_forks(stages, stage, meeting)
        depths.append(
            [_depth(stage, place, near, lags, leads) for place in range(len(stage.operands))]
        )
        for fork in forks:
            reached = [o for o in stage.operands if o.source in lags[fork]]
            if reached:
                lags[fork][index] = stage.hold + max(
                    lags[fork][o.source] + o.capacity + o.ahead for o in reached
                )
                leads[fork][index] = stage.lead + max(
                    leads[fork][o.source] + o.behind for o in reached
                )
    return depths


def _forks(stages: Sequence[StageFlow]) -> list[Fork]:
    """Return the sources that are read more than once."""
    sources = [operand.source for stage in stages for operand in stage.operands]
    return [(source,) for source in sorted({s for s in sources if sources.count(s) > 1})]


def _coupled_inputs(stages: Sequence[StageFlow]) -> list[Fork]:
    """Return the inputs that meet in more than one stage, those together that do."""
    inputs: dict[int, set[int]] = {}
    meetings: Counter[frozenset[int]] = Counter()
    for index, stage in enumerate(stages):
        reached = [inputs.get(o.source, {o.source}) for o in stage.operands]
        inputs[index] = set().union(*reached)
        meetings.update({
            frozenset(pair)
            for one, other in combinations(reached, 2)
            for pair in product(one, other)
            if pair[0] != pair[1]
        })  # fmt: skip
    groups: list[frozenset[int]] = []
    for pair in (pair for pair, count in meetings.items() if count > 1):
        near = [group for group in groups if group & pair]
        groups = [*(group for group in groups if group not in near), pair.union(*near)]
    return sorted(tuple(sorted(group)) for group in groups)


def _depth(
    stage: StageFlow,
    operand_index: int,
    forks: Sequence[Fork],
    lags: dict[Fork, dict[int, Fraction]],
    leads: dict[Fork, dict[int, Fraction]],
) -> Fraction:
    """Return the formula of the module's docstring, for the worst of ``forks``."""
    mine = stage.operands[operand_index]
    depth = NOTHING
    for fork in forks:
        if mine.source not in lags[fork]:
            continue
        other_lags = [
            lags[fork][other.source] + other.capacity + other.ahead
            for index, other in enumerate(stage.operands)
            if index != operand_index and other.source in lags[fork]
        ]
        if other_lags:
            depth = max(depth, max(other_lags) + leads[fork][mine.source] + mine.behind)
    return depth


def _nearest_forks(
    stages: Sequence[StageFlow], stage: StageFlow, meeting: Sequence[Fork]
) -> Sequence[Fork]:
    """Return the forks that determine the depths before ``stage``; one at least."""
    near = list(meeting)
    for fork in meeting:
        # Only among those that are left: an input and a group with it exclude each other.
        if _is_bypassed(stages, stage, fork, near):
            near.remove(fork)
    return near


def _is_bypassed(
    stages: Sequence[StageFlow], stage: StageFlow, fork: Fork, other_forks: Sequence[Fork]
) -> bool:
    """Return whether all paths from ``fork`` to ``stage`` lead through one of the other forks.

    Then the other one determines the depth: up to it there is only one stream.
    """
    for other in other_forks:
        if other == fork:
            continue
        reached = set(fork) - set(other)
        for index, between in enumerate(stages):
            if index not in other and any(o.source in reached for o in between.operands):
                reached.add(index)
            if between is stage:
                break
        if not any(operand.source in reached for operand in stage.operands):
            return True
    return False
