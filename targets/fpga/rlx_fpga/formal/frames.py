"""Proofs of cells that add beats to a frame or leave some out.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

from amaranth import Cat, Const

from rlx_fpga.cells.streams import raw
from rlx_fpga.formal.bench import ProofBench, Transfer, Watch, register
from rlx_fpga.formal.places import StreamPosition


def pad(bench: ProofBench) -> None:
    """Every beat in order at its place in a larger frame, the value of the padding around it."""
    cell = bench.cell
    arrive, leave = bench.source("i"), bench.sink("o")
    position = StreamPosition(bench, "out", leave.accepted, cell.total)
    here = position.within(cell.before, cell.sizes)
    beats = Transfer(leave.offered & here, leave.accepted & here, leave.codes)
    watch = Watch(bench, "beats", arrive, beats, 1, len(leave.codes))
    padding = Cat(Const(cell.value & 0xFF, 8) for _ in range(cell.lanes))
    bench.check("padding", ~leave.offered | here | (leave.codes == padding))
    bench.check("begins_with_a_beat", ~(leave.offered & position.at_start & ~here) | arrive.offered)
    # A frame that has begun does not need input for its padding.
    due = arrive.offered | (watch.pending != 0) | ~(position.at_start | here)
    bench.never_for(2, due & ~leave.offered, "held_back")
    bench.moves(["i"], ["o"], 2)
    position.one_behind(leave.offered, cell.internals["index"])
    watch.held_in((register(raw(cell.o)), leave.offered & here))


def slice_(bench: ProofBench) -> None:
    """The beats at the chosen places of a frame in order; the others are dropped on arrival."""
    cell = bench.cell
    offer, leave = bench.source("i"), bench.sink("o")
    position = StreamPosition(bench, "in", offer.accepted, cell.sizes)
    is_kept = position.one_of(cell.kept)
    arrive = Transfer(offer.offered & is_kept, offer.accepted & is_kept, offer.codes)
    watch = Watch(bench, "beats", arrive, leave, 1, len(leave.codes))
    watch.flows(leave.offered, 2)
    bench.check("dropped_at_once", ~(offer.offered & ~is_kept) | offer.accepted)
    bench.moves(["i"], ["o"], 1)
    position.one_behind(Const(0), cell.internals["index"])
    watch.held_in((register(raw(cell.o)), leave.offered))
