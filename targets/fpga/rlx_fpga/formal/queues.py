"""Proofs of queues: skid buffer, FIFO, result queue.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Mux, Signal, Value

from rlx_fpga.cells.sizes import depth_of
from rlx_fpga.cells.streams import raw
from rlx_fpga.formal.bench import ProofBench, Transfer, Watch, register, wrap_around

if TYPE_CHECKING:
    from amaranth.lib.memory import Memory

    from rlx_fpga.formal.bench import Segment


def skid_buffer(bench: ProofBench) -> None:
    """Two beats in order."""
    cell, internals = bench.cell, bench.cell.internals
    watch = _queue(bench, 2)
    bench.invariant("front_first", ~internals["back_valid"] | cell.o.valid)
    watch.held_in(
        (register(raw(cell.o)), cell.o.valid),
        (register(internals["back"]), internals["back_valid"]),
    )


def fifo(bench: ProofBench) -> None:
    """``depth`` beats in order, two more if it is deep."""
    if bench.cell.deep:
        _deep(bench)
    else:
        _shallow(bench)


def _shallow(bench: ProofBench) -> None:
    cell, queue = bench.cell, bench.cell.internals["queue"]
    memory = bench.built(queue).submodules.storage
    watch = _queue(bench, cell.depth)
    write, read = memory.write_ports[0], memory.read_ports[0]
    watch.held_in(_stored(bench, memory, write.addr, read.addr, queue.level, cell.depth))


def _deep(bench: ProofBench) -> None:
    cell, internals = bench.cell, bench.cell.internals
    watch = _queue(bench, cell.depth + 2)
    read, waiting = internals["read"], internals["waiting"]
    bench.invariant("any_waiting_matches", internals["any_waiting"] == (waiting != 0))
    bench.invariant("space_matches", internals["has_room"] == (waiting != cell.depth))
    watch.held_in(
        (register(raw(cell.o)), cell.o.valid),
        (register(Value.cast(read.data)), internals["fetched"]),
        _stored(
            bench, internals["memory"], internals["write"].addr, read.addr, waiting, cell.depth
        ),
    )


def _queue(bench: ProofBench, capacity: int) -> Watch:
    """State the properties of every queue between two streams, in whole beats."""
    arrive, leave = bench.source("i"), bench.sink("o")
    watch = Watch(bench, "beats", arrive, leave, capacity, len(arrive.codes))
    watch.flows(leave.offered, bench.cell.latency + 1)
    bench.moves(["i"], ["o"], bench.cell.latency + 1)
    return watch


def _stored(
    bench: ProofBench, memory: Memory, write: Value, read: Value, count: Value, depth: int
) -> Segment:
    """Return the store of a ring buffer, and state that its places belong together."""
    size = depth_of(depth)
    bench.invariant("count_within", count <= depth)
    bench.invariant("places_within", (read < size) & (write < size))
    bench.invariant("places_apart", write == wrap_around(read, count, size))
    return lambda index: bench.word(memory, wrap_around(read, index, size)), count


def result_queue(bench: ProofBench) -> None:
    """Beats that arrive in reserved space; the producer reserves only what is open."""
    cell, internals = bench.cell, bench.cell.internals
    bench.ports |= {"reserve": cell.reserve, "open": cell.open, "push": cell.push}
    bench.ports["data"] = payload = Value.cast(cell.payload)
    coming = Signal(range(cell.depth + cell.burst + 1), name="coming")
    bench.m.d.sync += coming.eq(coming + cell.reserve - cell.push)
    bench.assume(cell.reserve <= Mux(cell.open, cell.burst, 0))
    bench.assume(~cell.push | (coming != 0) | (cell.reserve != 0))
    arrive, leave = Transfer(cell.push, cell.push, payload), bench.sink("o")
    watch = Watch(bench, "beats", arrive, leave, cell.depth, len(payload))
    # Two cycles to the output, one for the beat that arrives.
    watch.flows(leave.offered, 3)
    closed = ~cell.open & (coming == 0) & (watch.pending == 0)
    bench.never_for(2, closed, "closed_though_empty")
    waiting, credit = internals["waiting"], internals["credits"]
    bench.check("space_for_all", coming + watch.pending <= cell.depth)
    bench.invariant("credit_counted", credit + coming + watch.pending == cell.depth)
    bench.invariant("any_waiting_matches", internals["any_waiting"] == (waiting != 0))
    bench.invariant("open_matches", cell.open == (credit >= cell.burst))
    write, read = internals["write"].addr, internals["read"].addr
    watch.held_in(
        (register(raw(cell.o)), cell.o.valid),
        _stored(bench, internals["memory"], write, read, waiting, cell.depth),
    )
