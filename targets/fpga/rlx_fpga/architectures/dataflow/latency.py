"""Predict when the results of a frame arrive, with no other frame under way.

Every layer has a ``Demand`` (how much of its operands it needs before each part of its work), its
cycles for a frame, and the latency of its registers. A stream is described by an arrival curve: the
cycles after which parts of a frame have arrived, linear in between. The arrival curve of a layer's
results follows from those of its operands. Cycles in which a layer waits for its consumer are left
out: queues keep them few.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ArrivalCurve = list[tuple[float, float]]
"""Parts of a frame, ascending from 0 to 1, and the cycles after which they have arrived."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A point in a layer's work on a frame; all figures are parts of a frame.

    Attributes:
        needed: Input that must have arrived before the layer continues.
        done: Work done before.
        given: Results produced before.
    """

    needed: float
    done: float
    given: float

    def of(self, index: int, count: int) -> Progress:
        """Return the same point in image ``index`` of a frame of ``count`` images."""
        return Progress(
            (self.needed + index) / count, (self.done + index) / count, (self.given + index) / count
        )


Demand = tuple[Progress, ...]
"""Points of a layer's work, ascending. None: output is proportional to input."""

EVEN: Demand = ()


def at_once(work: float = 1.0) -> Demand:
    """Return the demand of a layer that produces nothing before it has the whole frame.

    Args:
        work: Part of its work that cannot start earlier.
    """
    return Progress(0, 0, 0), Progress(1, 1 - work, 0)


def repeated(demand: Demand, count: int) -> Demand:
    """Return the demand for ``count`` images, one after the other."""
    return tuple(step.of(index, count) for index in range(count) for step in demand)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """The timing of one stage.

    Attributes:
        sources: Streams it reads: negative for inputs, else indices of earlier stages.
        demand: How much of them it needs, and when.
        cycles: Cycles for a frame without waiting.
        registers: Latency from input to output, registers in front of it included.
    """

    sources: tuple[int, ...]
    demand: Demand
    cycles: int
    registers: int


def arrival_curves(
    stages: Sequence[StageTiming], inputs: Mapping[int, int]
) -> dict[int, ArrivalCurve]:
    """Return the arrival curve of each stage's results, and of the inputs.

    Args:
        stages: In topological order.
        inputs: Cycles until each input of the pipeline has arrived, by its (negative) number.
    """
    found: dict[int, ArrivalCurve] = {
        source: [(0.0, 0.0), (1.0, float(cycles))] for source, cycles in inputs.items()
    }
    for index, one in enumerate(stages):
        found[index] = _results(one, [found[source] for source in one.sources])
    return found


def _results(stage: StageTiming, operands: Sequence[ArrivalCurve]) -> ArrivalCurve:
    """Return the arrival curve of a stage's results."""
    demand = stage.demand or tuple(
        Progress(part, part, part) for part in sorted({part for one in operands for part, _ in one})
    )
    time = done = 0.0
    curve: ArrivalCurve = []
    for step in (*demand, Progress(1, 1, 1)):
        time += (step.done - done) * stage.cycles
        time = max(time, *(_time_of(one, step.needed) for one in operands))
        done = step.done
        curve.append((step.given, time + stage.registers))
    return curve


def _time_of(curve: ArrivalCurve, part: float) -> float:
    """Return the cycles after which ``part`` of a stream has arrived."""
    index = bisect_left(curve, part, key=lambda point: point[0])
    after, late = curve[index]
    if not index or after == part:
        return late
    before, early = curve[index - 1]
    return early + (late - early) * (part - before) / (after - before)


def fill(stages: Sequence[StageTiming], results: Sequence[int]) -> float:
    """Return the frames that line buffers and layers that need a whole frame hold back.

    It is the maximum, over all paths to ``results``, of the sum of what each stage needs before it
    produces anything.
    """
    held: dict[int, float] = {}
    for index, one in enumerate(stages):
        needed = max((step.needed for step in one.demand if not step.given), default=0)
        held[index] = needed + max(held.get(source, 0) for source in one.sources)
    return max((held.get(result, 0) for result in results), default=0)
