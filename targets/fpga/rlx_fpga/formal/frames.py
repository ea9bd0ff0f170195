"""Proofs of cells that add beats to a frame or leave some out."""

from __future__ import annotations

from amaranth import Cat, Const

from rlx_fpga.cells.streams import raw
from rlx_fpga.formal.bench import Bench, Moved, Watch, register
from rlx_fpga.formal.places import Place


def pad(bench: Bench) -> None:
    """Every beat in order at its place in a larger frame, the value of the padding around it."""
    cell = bench.cell
    arrive, leave = bench.source("i"), bench.sink("o")
    place = Place(bench, "out", leave.done, cell.total)
    here = place.within(cell.before, cell.sizes)
    beats = Moved(leave.offered & here, leave.done & here, leave.codes)
    watch = Watch(bench, "beats", arrive, beats, 1, len(leave.codes))
    padding = Cat(Const(cell.value & 0xFF, 8) for _ in range(cell.lanes))
    bench.check("padding", ~leave.offered | here | (leave.codes == padding))
    bench.check("begins_with_a_beat", ~(leave.offered & place.at_start & ~here) | arrive.offered)
    # A frame that has begun needs no input for its padding.
    due = arrive.offered | (watch.inside != 0) | ~(place.at_start | here)
    bench.never_for(2, due & ~leave.offered, "held_back")
    bench.moves(["i"], ["o"], 2)
    place.one_behind(leave.offered, cell.inside["index"])
    watch.held_in((register(raw(cell.o)), leave.offered & here))


def slice_(bench: Bench) -> None:
    """The beats at the chosen places of a frame in order; the others are dropped at once."""
    cell = bench.cell
    offer, leave = bench.source("i"), bench.sink("o")
    place = Place(bench, "in", offer.done, cell.sizes)
    kept = place.one_of(cell.kept)
    arrive = Moved(offer.offered & kept, offer.done & kept, offer.codes)
    watch = Watch(bench, "beats", arrive, leave, 1, len(leave.codes))
    watch.flows(leave.offered, 2)
    bench.check("dropped_at_once", ~(offer.offered & ~kept) | offer.done)
    bench.moves(["i"], ["o"], 1)
    place.one_behind(Const(0), cell.inside["index"])
    watch.held_in((register(raw(cell.o)), leave.offered))
