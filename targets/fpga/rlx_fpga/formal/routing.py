"""Proofs of cells that send beats to several places, merge several streams, or repeat beats.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, connect, flipped

from rlx_fpga.cells.arith import Product
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.formal.bench import ProofBench, Transfer, Watch, all_of, any_of, register
from rlx_fpga.formal.places import StreamPosition

if TYPE_CHECKING:
    from collections.abc import Sequence


def fork(bench: ProofBench) -> None:
    """Every beat to every consumer, once; accepted when the last one takes it, and not later."""
    cell, served = bench.cell, bench.cell.internals["served"]
    names = [f"o{index}" for index in range(cell.count)]
    offer = bench.source("i")
    arrive, waiting = bench.first_offer("i", offer)
    had = []
    for index, name in enumerate(names):
        leave = bench.sink(name, *(other for other in names if other != name))
        watch = Watch(bench, name, arrive, leave, 1, len(offer.codes))
        watch.flows(leave.offered, 1)
        watch.held_in((register(offer.codes), waiting & ~served[index]))
        was_ready = Signal(name=f"{name}_was_ready")
        had.append(was_ready | getattr(cell, name).ready)
        bench.m.d.sync += was_ready.eq(offer.offered & ~offer.accepted & had[-1])
        bench.invariant(f"{name}_served", served[index] == was_ready)
    bench.check("taken_with_the_last", cell.i.ready == all_of(had))
    bench.invariant("served_while_waiting", (served == 0) | waiting)
    bench.moves(["i"], names, 1)


def repeat(bench: ProofBench) -> None:
    """Groups of beats, each group ``times`` times, in order."""
    cell, m = bench.cell, bench.m
    arrive, leave = bench.source("i"), bench.sink("o")
    input_position = StreamPosition(bench, "in", arrive.accepted, [cell.beats])
    output_position = StreamPosition(bench, "out", leave.accepted, [cell.times, cell.beats])
    turn, beat = output_position.index
    choose, watched = bench.free(1, "choose"), Signal(name="watched")
    mark, code = index_signal(cell.beats, name="mark"), Signal(len(arrive.codes), name="code")
    due = watched & (beat == mark)
    over = leave.accepted & due & (turn == cell.times - 1)
    with m.If(arrive.accepted & choose & (~watched | over)):
        m.d.sync += [watched.eq(1), mark.eq(input_position.index[0]), code.eq(arrive.codes)]
    with m.Elif(over):
        m.d.sync += watched.eq(0)
    bench.check("in_place", ~(leave.offered & due) | (leave.codes == code))
    again = arrive.accepted & watched & (input_position.index[0] == mark)
    bench.check("group_after_group", ~again | over)
    # In the first round a beat is sent only after it was accepted.
    ahead = Signal(range(cell.beats + 2), name="ahead")
    m.d.sync += ahead.eq(ahead + arrive.accepted - (leave.accepted & (turn == 0)))
    bench.check("from_something", ~leave.offered | (turn != 0) | (ahead != 0))
    bench.invariant("ahead_counted", ahead == (leave.offered & (turn == 0)))
    bench.never_for(2, ~leave.offered & (turn != 0), "held_back")
    bench.moves(["i"], ["o"], 1)
    _repeat_invariants(bench, input_position, output_position, (watched, mark, code))


def _repeat_invariants(
    bench: ProofBench,
    input_position: StreamPosition,
    output_position: StreamPosition,
    watched_beat: tuple[Signal, Signal, Signal],
) -> None:
    cell, internals = bench.cell, bench.cell.internals
    watched, mark, code = watched_beat
    beat, turn = internals["beat"], internals["turn"]
    output_position.one_behind(cell.o.valid, [turn, beat])
    first = turn == 0
    bench.invariant("taken_in_first", input_position.index[0] == Mux(first, beat, 0))
    stored = watched & ~(first & (mark >= beat))
    # The beat moved last is on top.
    back = Mux(mark < beat, mark + cell.beats - beat, mark - beat)[: len(mark) + 1]
    stored_code = internals["group"].word_select(back, len(code))
    bench.invariant("stored", ~stored | (stored_code == code))
    bench.invariant("mark_within", mark < cell.beats)
    ending = output_position.index[0] == cell.times - 1
    last = ending & (output_position.index[1] == mark)
    bench.invariant("not_yet_over", ~(watched & ending & (output_position.index[1] > mark)))
    bench.invariant("leaving", ~(watched & ~stored) | (cell.o.valid & last))
    bench.invariant("due", ~(watched & cell.o.valid & (output_position.index[1] == mark)) | (
        raw(cell.o) == code
    ))  # fmt: skip


def constant(bench: ProofBench) -> None:
    """The words of the constant in order, again and again, one in every cycle."""
    cell, internals = bench.cell, bench.cell.internals
    leave = bench.sink("o")
    count = len(cell.words)
    position = StreamPosition(bench, "out", leave.accepted, [count])
    word = bench.listed(position.index[0], cell.words, len(leave.codes), "word")
    bench.check("in_place", ~leave.offered | (leave.codes == word.as_unsigned()))
    bench.never_for(2, ~leave.offered, "held_back")
    position.one_behind(leave.offered, [internals["place"]])


def concat(bench: ProofBench) -> None:
    """A run of beats of each input in turn, in order."""
    cell, internals = bench.cell, bench.cell.internals
    names = [f"i{index}" for index in range(len(cell.runs))]
    arrive = [bench.source(name) for name in names]
    leave = bench.sink("o")
    runs = _Runs(bench, leave.accepted, cell.runs)
    for index, name in enumerate(names):
        turn = runs.turn == index
        from_here = Transfer(leave.offered & turn, leave.accepted & turn, leave.codes)
        watch = Watch(bench, name, arrive[index], from_here, 1, len(leave.codes))
        watch.held_in((register(leave.codes), leave.offered & turn))
        if index < cell.leading:
            behind = arrive[cell.leading].offered
            bench.check(f"{name}_waits", ~arrive[index].accepted | behind)
    bench.never_for(2, any_of([one.accepted for one in arrive]) & ~leave.offered, "held_back")
    bench.moves(names, ["o"], 1)
    runs.one_behind(leave.offered, internals["turn"], internals["count"])


class _Runs:
    """Input whose run a stream is in, and the position there, computed from transfers only."""

    def __init__(self, bench: ProofBench, step: Value, runs: Sequence[int]) -> None:
        self._bench, self._runs = bench, runs
        self.turn = index_signal(len(runs), name="out_turn")
        self.count = index_signal(max(runs), name="out_count")
        self._next_turn = Signal.like(self.turn, name="out_next_turn")
        self._next_count = Signal.like(self.count, name="out_next_count")
        self._last = [run - 1 for run in runs]
        length = index_signal(max(runs), name="out_last")
        with bench.m.Switch(self.turn):
            for index, run in enumerate(runs):
                with bench.m.Case(index):
                    bench.m.d.comb += length.eq(run - 1)
        ends = self.count == length
        final = self.turn == len(runs) - 1
        bench.m.d.comb += [
            self._next_count.eq(Mux(ends, 0, self.count + 1)),
            self._next_turn.eq(Mux(ends, Mux(final, 0, self.turn + 1), self.turn)),
        ]
        bench.invariant("count_within", (self.turn < len(runs)) & (self.count <= length))
        with bench.m.If(step):
            bench.m.d.sync += [self.turn.eq(self._next_turn), self.count.eq(self._next_count)]

    def one_behind(self, by_one: Value, turn: Value, count: Value) -> None:
        """State that the cell is one step ahead if ``by_one``, else at the same place."""
        self._bench.invariant("turn_matches", turn == Mux(by_one, self._next_turn, self.turn))
        self._bench.invariant("count_matches", count == Mux(by_one, self._next_count, self.count))


def join(bench: ProofBench) -> None:
    """One beat for each pair of beats, which are taken together."""
    first, second, leave = bench.source("i0"), bench.source("i1"), bench.sink("o")
    cell, internals = bench.cell, bench.cell.internals
    bench.check("taken_together", first.accepted == second.accepted)
    stages = [cell.o.valid, internals["second_valid"], internals["first_valid"]]
    _counted(bench, first, leave, cell.latency, stages)
    bench.moves(["i0", "i1"], ["o"], 1)


def _counted(
    bench: ProofBench, arrive: Transfer, leave: Transfer, capacity: int, stages: Sequence[Value]
) -> None:
    """Each input beat is output, and no other; beats leave within ``capacity`` cycles."""
    beats_inside = Signal(range(capacity + 2), name="beats_inside")
    bench.m.d.sync += beats_inside.eq(beats_inside + arrive.accepted - leave.accepted)
    bench.check("from_something", ~leave.offered | (beats_inside != 0))
    bench.check("capacity", beats_inside <= capacity)
    bench.never_for(capacity, (beats_inside != 0) & ~leave.offered, "held_back")
    bench.invariant("counted", beats_inside == sum(stages))


class Diamond(Cell):
    """A fork whose two branches, a FIFO and a skid buffer, are joined again.

    Members:
        i: In, one int8.
        o: Out, one int16.
    """

    def __init__(self, depth: int) -> None:
        self.join = Product(1, 3, 4)
        self.parts: dict[str, Cell] = {
            "fork": Fork(1, 2), "queue": Fifo(1, depth), "register": SkidBuffer(1),
            "join": self.join,
        }  # fmt: skip
        super().__init__({"i": In(stream_of(1)), "o": self.join.signature.members["o"]})

    def elaborate(self, platform: object) -> Module:
        """Connect them."""
        m = Module()
        for name, part in self.parts.items():
            m.submodules[name] = part
        split, queue, register_, join_ = self.parts.values()
        connect(m, flipped(self.i), split.i)
        connect(m, split.o0, queue.i)
        connect(m, split.o1, register_.i)
        connect(m, queue.o, join_.i0)
        connect(m, register_.o, join_.i1)
        connect(m, join_.o, flipped(self.o))
        return m


def diamond(bench: ProofBench) -> None:
    """Fork, queue and join together: nothing waits for ever, and pairs are of one beat."""
    parts = bench.cell.parts
    for part in parts.values():
        bench.built(part)
    queue, back = parts["queue"].internals["queue"], parts["register"].internals["back_valid"]
    arrive, leave = bench.source("i"), bench.sink("o")
    stages = parts["join"].internals
    waiting = bench.past(arrive.offered & ~arrive.accepted, "i_waiting")
    served = parts["fork"].internals["served"]
    branches = queue.level, parts["register"].o.valid + back
    bench.invariant("served_while_waiting", (served == 0) | waiting)
    bench.invariant("served_not_all", ~served.all())
    bench.invariant("front_first", ~back | parts["register"].o.valid)
    bench.invariant("level_within", queue.level <= parts["queue"].depth)
    bench.invariant("in_step", branches[0] + served[1] == branches[1] + served[0])
    beats_inside = Signal(8, name="beats_inside")
    bench.m.d.sync += beats_inside.eq(beats_inside + arrive.accepted - leave.accepted)
    held_beats = (
        branches[0] - served[0] + leave.offered + stages["first_valid"] + stages["second_valid"]
    )
    bench.invariant("counted", beats_inside == held_beats)
    bench.check("as_many_out_as_in", ~leave.offered | (beats_inside != 0))
    bench.check("capacity", beats_inside <= 2 + parts["join"].latency)
    bench.never_for(5, (beats_inside != 0) & ~leave.offered, "held_back")
    bench.moves(["i"], ["o"], 3)
