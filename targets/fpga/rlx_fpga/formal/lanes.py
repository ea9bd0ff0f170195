"""Proofs of cells that change the number of lanes.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx_fpga.cells.streams import lanes_of
from rlx_fpga.formal.bench import ProofBench, Watch, register

if TYPE_CHECKING:
    from rlx_fpga.formal.bench import Segment


def width_converter(bench: ProofBench) -> None:
    """Elements in order, for any lanes of both sides."""
    steps = list(bench.cell.parts.values())
    for part in steps:
        bench.built(part)
    if steps:
        _regroups(bench, steps)
    else:
        _passes(bench)


def step(bench: ProofBench) -> None:
    """One step of a conversion: the same for a single ``Gather`` or ``Scatter``."""
    _regroups(bench, [bench.cell])


def _passes(bench: ProofBench) -> None:
    """State the properties of wires."""
    offer, leave = bench.source("i"), bench.sink("o")
    arrive, waiting = bench.first_offer("i", offer)
    watch = Watch(bench, "beats", arrive, leave, 1, len(offer.codes))
    watch.flows(leave.offered, 1)
    watch.held_in((register(offer.codes), waiting))
    bench.moves(["i"], ["o"], 1)


def _regroups(bench: ProofBench, steps: list[Any]) -> None:
    arrive, leave = bench.source("i"), bench.sink("o")
    width = len(arrive.codes) // lanes_of(bench.cell, "i")
    capacity = sum(max(lanes_of(one, "i"), lanes_of(one, "o")) for one in steps)
    watch = Watch(bench, "elements", arrive, leave, capacity, width)
    # A beat of the wider side is complete: it does not wait for more input.
    enough = max(lanes_of(one, "o") for one in steps)
    watch.flows(leave.offered, len(steps) + 1, enough)
    bench.moves(["i"], ["o"], len(steps) + 1)
    watch.held_in(*(_store(bench, one, width) for one in reversed(steps)))


def _store(bench: ProofBench, part: Any, width: int) -> Segment:  # noqa: ANN401 - of two classes
    if lanes_of(part, "i") < lanes_of(part, "o"):
        collected, count, ratio = part.internals["collected"], part.internals["count"], part.ratio
        bench.invariant(f"count_within_{lanes_of(part, 'o')}", count <= ratio)
        lanes = lanes_of(part, "i")
        # They are shifted in from above.
        free = (ratio - count)[: len(count)] * lanes
        return lambda index: collected.word_select(index + free, width), count * lanes
    rest, left = part.internals["rest"], part.internals["left"]
    bench.invariant(f"left_within_{lanes_of(part, 'i')}", left <= part.ratio)
    return lambda index: rest.word_select(index, width), left * lanes_of(part, "o")
