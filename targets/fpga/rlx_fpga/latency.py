"""When the results of a frame come, if nothing else is under way.

Every layer tells how much of its operands' frame must be there for what it does (``Demand``), its
cycles for a frame, and the registers on the way. A stream is a course: times at which parts of it
have come, evenly in between. From the courses of its operands follows that of a layer's results.
Cycles in which a layer waits for a reader are left out: queues are there so that there are few.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Course = list[tuple[float, float]]
"""Parts of a frame, ascending from 0 to 1, and the cycles after which they have come."""


@dataclass(frozen=True, slots=True)
class Step:
    """A moment in a layer's work on a frame; all are parts of one.

    Attributes:
        needed: What must have been taken before it goes on.
        done: Work done before.
        given: Results given before.
    """

    needed: float
    done: float
    given: float

    def of(self, index: int, count: int) -> Step:
        """Return the step for a frame that is ``count`` images, in image ``index``."""
        return Step(
            (self.needed + index) / count, (self.done + index) / count, (self.given + index) / count
        )


Demand = tuple[Step, ...]
"""Steps of a layer's work, ascending. No steps: it gives as it takes."""

EVEN: Demand = ()


def at_once(work: float = 1.0) -> Demand:
    """Return the steps of a layer that gives nothing before it has all.

    Args:
        work: Part of its work that cannot be done before.
    """
    return Step(0, 0, 0), Step(1, 1 - work, 0)


def repeated(demand: Demand, count: int) -> Demand:
    """Return the steps for ``count`` images, one after the other."""
    return tuple(step.of(index, count) for index in range(count) for step in demand)


@dataclass(frozen=True, slots=True)
class Passage:
    """A layer on a frame's way.

    Attributes:
        sources: Streams it takes: negative for inputs, else places of earlier layers.
        demand: What it needs of them.
        cycles: For a frame, if it waits for nothing.
        registers: Cycles from what it needs to what it gives, with the registers on the way.
    """

    sources: tuple[int, ...]
    demand: Demand
    cycles: int
    registers: int


def courses(passages: Sequence[Passage], inputs: Mapping[int, int]) -> dict[int, Course]:
    """Return the course of each layer's results, and of the inputs.

    Args:
        passages: In an order in which sources come first.
        inputs: Cycles that each input of the pipeline takes to come, by its (negative) number.
    """
    found: dict[int, Course] = {
        source: [(0.0, 0.0), (1.0, float(cycles))] for source, cycles in inputs.items()
    }
    for index, one in enumerate(passages):
        found[index] = _results(one, [found[source] for source in one.sources])
    return found


def _results(passage: Passage, operands: Sequence[Course]) -> Course:
    """Return the course of a layer's results."""
    demand = passage.demand or tuple(
        Step(part, part, part) for part in sorted({part for one in operands for part, _ in one})
    )
    time = done = 0.0
    course: Course = []
    for step in (*demand, Step(1, 1, 1)):
        time += (step.done - done) * passage.cycles
        time = max(time, *(_time_of(one, step.needed) for one in operands))
        done = step.done
        course.append((step.given, time + passage.registers))
    return course


def _time_of(course: Course, part: float) -> float:
    """Return the cycles after which ``part`` of a stream has come."""
    index = bisect_left(course, part, key=lambda point: point[0])
    after, late = course[index]
    if not index or after == part:
        return late
    before, early = course[index - 1]
    return early + (late - early) * (part - before) / (after - before)


def fill(passages: Sequence[Passage], results: Sequence[int]) -> float:
    """Return the frames that line buffers and layers that need a whole frame hold back.

    That is, on the longest way to one of ``results``, the sum of what layers need before they give
    anything.
    """
    held: dict[int, float] = {}
    for index, one in enumerate(passages):
        needed = max((step.needed for step in one.demand if not step.given), default=0)
        held[index] = needed + max(held.get(source, 0) for source in one.sources)
    return max((held.get(result, 0) for result in results), default=0)
