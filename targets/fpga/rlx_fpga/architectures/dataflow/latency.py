"""Predict when the results of a frame arrive, without other frames in flight.

Every layer has a ``Demand`` (the part of its operands it needs before each part of its work), its
cycles for a frame, and the latency of its registers. A stream is described by an arrival curve: the
cycles after which parts of a frame have arrived, linear in between. The arrival curve of a layer's
results follows from those of its operands. Cycles in which a layer waits for its consumer are left
out: queues keep them few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

Floats = npt.NDArray[np.float64]
"""Parts of a frame, or cycles."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrivalCurve:
    """Arrival times of the parts of a frame.

    Attributes:
        parts: Parts of a frame, ascending from 0 to 1, float64 [points]. One that occurs twice is
            a pause: it arrives at the first of its times, and the next data start at the second.
        times: Cycles after which they have arrived, float64 [points].
    """

    parts: Floats
    times: Floats

    @property
    def end(self) -> float:
        """Cycles after which the whole frame has arrived."""
        return float(self.arrived(np.ones(1))[0])

    def arrived(self, parts: Floats) -> Floats:
        """Return the cycles after which ``parts`` have arrived."""
        after = np.searchsorted(self.parts, parts)
        before = np.maximum(after - 1, 0)
        span = self.parts[after] - self.parts[before]
        share = np.divide(parts - self.parts[before], span, out=np.ones_like(parts), where=span > 0)
        return self.times[before] + share * (self.times[after] - self.times[before])

    def delayed(self, cycles: int) -> ArrivalCurve:
        """Return the curve of the same parts ``cycles`` later."""
        return ArrivalCurve(self.parts, self.times + cycles)

    def delay(self, before: ArrivalCurve) -> float:
        """Return the maximum cycles from the arrival of a part in another stream to that here."""
        parts = np.unique(np.concatenate([self.parts, before.parts]))
        return float((self.arrived(parts) - before.arrived(parts)).max())

    def resumed(self, parts: Floats) -> Floats:
        """Return the cycles after which the data after ``parts`` arrive."""
        last = np.searchsorted(self.parts, parts, side="right") - 1
        return np.where(self.parts[last] == parts, self.times[last], self.arrived(parts))


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Points of a layer's work on a frame, ascending; all figures are parts of a frame.

    No result needs more than the last point. Without points, results are proportional to input.

    Attributes:
        needed: Input that must have arrived before the layer continues, float64 [points].
        work: Work done before.
        results: Results produced before.
    """

    needed: Floats
    work: Floats
    results: Floats

    def repeated(self, count: int) -> Demand:
        """Return the demand for a frame of ``count`` images, one after the other."""
        index = np.arange(count)[:, None]
        return Demand(
            *(((one + index) / count).ravel() for one in (self.needed, self.work, self.results))
        )


EVEN: Final = Demand(*(np.zeros((3, 0))))
"""Output is proportional to input."""


def at_once(started: float = 0.0, ended: float = 1.0) -> Demand:
    """Return the demand of a layer that needs the whole frame before its first result.

    Args:
        started: Part of its work that needs less than the whole frame.
        ended: Part of its work after which all results are there; the rest is for the next frame.
    """
    return Demand(np.ones(2), np.array([started, ended]), np.array([0.0, 1.0]))


def with_last_pixel(pixels: int, blocks: int, cycles: int, beat_cycles: int = 1) -> Demand:
    """Return the demand of a layer whose results come with the last pixel of a frame.

    Args:
        pixels: Pixels of a frame.
        blocks: Beats of a pixel.
        cycles: Cycles for a frame.
        beat_cycles: Cycles between results.
    """
    first = (pixels - 1) * blocks + 1
    results = (blocks - 1) * beat_cycles
    started = min(first, cycles - results)
    # The last of them needs the last beat, which may come late.
    ended = (started + results) / cycles
    return Demand(
        np.array([first / (pixels * blocks), 1.0, 1.0]),
        np.array([started / cycles, ended, ended]),
        np.array([0.0, 1 - 1 / blocks, 1.0]),
    )


def by_pixel(needed: Sequence[int], words: int, count: int) -> Demand:
    """Return the demand of a layer that makes pixels of ``count`` images at a constant rate.

    Args:
        needed: Words of its image that each pixel needs.
        words: Words of an image.
        count: Images of a frame.
    """
    index = np.arange(count)[:, None]
    done = np.arange(len(needed) * count) / (len(needed) * count)
    return Demand(((np.array(needed) + index * words) / (words * count)).ravel(), done, done)


@dataclass(frozen=True, slots=True)
class StageTiming:
    """The timing of one stage.

    Attributes:
        sources: Streams it reads: negative for inputs, else indices of earlier stages.
        demand: Amount of them that it needs, and when.
        cycles: Cycles for a frame without waiting.
        registers: Latency from input to output.
        delays: For each source, latency of the queue before it; empty without queues.
    """

    sources: tuple[int, ...]
    demand: Demand
    cycles: int
    registers: int
    delays: tuple[int, ...] = ()

    def only(self, reached: Container[int]) -> StageTiming:
        """Return the timing as if other sources than ``reached`` were there already."""
        places = [place for place, source in enumerate(self.sources) if source in reached]
        delays = tuple(self.delays[place] for place in places) if self.delays else ()
        return replace(self, sources=tuple(self.sources[place] for place in places), delays=delays)


def only_behind(stages: Sequence[StageTiming], source: int) -> list[StageTiming | None]:
    """Return the stages that need the stream ``source``, as if all else were there already.

    Others are None.
    """
    reached = {source}
    timings: list[StageTiming | None] = []
    for index, stage in enumerate(stages):
        timing = stage.only(reached)
        timings.append(timing if timing.sources else None)
        if timing.sources:
            reached.add(index)
    return timings


def arrival_curves(
    stages: Sequence[StageTiming | None], inputs: Mapping[int, int]
) -> dict[int, ArrivalCurve]:
    """Return the arrival curve of each stage's results, and of the inputs.

    Args:
        stages: In topological order; None for one that has no curve.
        inputs: Cycles until each input of the pipeline has arrived, by its (negative) index.
    """
    curves = {
        source: ArrivalCurve(np.array([0.0, 1.0]), np.array([0.0, cycles]))
        for source, cycles in inputs.items()
    }
    for index, stage in enumerate(stages):
        if stage is None:
            continue
        results = _results if stage.demand.needed.size else _in_step
        delays = stage.delays or (0,) * len(stage.sources)
        operands = [
            curves[source].delayed(delay)
            for source, delay in zip(stage.sources, delays, strict=True)
        ]
        curves[index] = results(stage, operands)
    return curves


def _results(stage: StageTiming, operands: Sequence[ArrivalCurve]) -> ArrivalCurve:
    """Return the arrival curve of the results of a stage with points in its work."""
    demand = stage.demand
    work = demand.work * stage.cycles
    arrived = reduce(np.maximum, (one.arrived(demand.needed) for one in operands))
    started = _worked(work, arrived)
    # Results do not wait with the layer: they have left before.
    reached = work + np.append(0, (started - work)[:-1])
    end = started[-1] + stage.cycles - work[-1]
    return ArrivalCurve(
        np.append(np.repeat(demand.results, 2), 1),
        np.append(np.column_stack([reached, started]).ravel(), end) + stage.registers,
    )


def _in_step(stage: StageTiming, operands: Sequence[ArrivalCurve]) -> ArrivalCurve:
    """Return the arrival curve of results that are proportional to the operands read so far."""
    parts = np.unique(np.concatenate([one.parts for one in operands]))
    arrived, resumed = (
        reduce(np.maximum, times)
        for times in zip(
            *((one.arrived(parts), one.resumed(parts)) for one in operands), strict=True
        )
    )
    twice = np.repeat(parts, 2)
    times = _worked(twice * stage.cycles, np.column_stack([arrived, resumed]).ravel())
    return ArrivalCurve(twice, times + stage.registers)


def _worked(work: Floats, arrived: Floats) -> Floats:
    """Return when a stage continues after each amount of work, if it waits for operands.

    It is ``max(arrived, previous + work since then)`` for each, in closed form.
    """
    return work + np.maximum.accumulate(np.maximum(arrived - work, 0))


def fill(stages: Sequence[StageTiming], results: Sequence[int]) -> float:
    """Return the frames that line buffers and layers that need a whole frame hold back.

    It is the maximum, over all paths to ``results``, of the sum of the parts of a frame that each
    stage needs before it produces anything.
    """
    held: dict[int, float] = {}
    for index, one in enumerate(stages):
        first = one.demand.needed[one.demand.results == 0]
        held[index] = max(first, default=0) + max(held.get(source, 0) for source in one.sources)
    return float(max((held.get(result, 0) for result in results), default=0))
