"""Pipelines that never stand still: their results are promised room before they begin.

A pipeline that can be stopped needs a wire that reaches all of its registers within a cycle, and
such wires from layer to layer add up. Here nothing is stopped: a beat enters only if the queue at
the end has room for what it will give. The only thing that looks at the consumer is that queue.
"""

from __future__ import annotations

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.ram import go_round
from rlx_fpga.cells.sizes import depth_of, index_signal
from rlx_fpga.cells.streams import Lanes, Part, raw, stream_of

LATENCY = 2
"""Cycles from ``push`` to the first cycle in which ``o`` is valid."""


class ResultQueue(Part):
    """Queue behind a pipeline that never stands still.

    Members:
        reserve: In: beats that are promised room in this cycle, at most ``burst``; 0 for none.
        open: Out, 1 bit: there is room for another ``burst`` beats. Comes from a register.
        push: In, 1 bit: a promised beat arrives.
        payload: In, ``lanes`` times int ``width``.
        o: Out, the beats in order.

    Latency 2, initiation interval 1. Memory with an asynchronous read (lookup tables) and an
    output register.

    Args:
        lanes: Elements of a beat.
        width: Bits of an element.
        depth: Beats that can be promised or waiting, at least ``burst``.
        burst: Most beats that are reserved at once.
    """

    def __init__(self, lanes: int, width: int, depth: int, burst: int = 1) -> None:
        if not 1 <= burst <= depth:
            msg = f"a queue of {depth} beats cannot promise {burst} at once"
            raise ValueError(msg)
        self.depth, self.burst = depth, burst
        self.bits = lanes * width
        self.memory_bits = depth * self.bits
        super().__init__(
            lambda: {
                "reserve": In(range(burst + 1)),
                "open": Out(1, init=1),
                "push": In(1),
                "payload": In(Lanes(lanes, width)),
                "o": Out(stream_of(lanes, width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Count what is promised, and what is there."""
        m = Module()
        depth = self.depth
        m.submodules.beats = beats = Memory(shape=len(raw(self.o)), depth=depth_of(depth), init=[])
        write = beats.write_port()
        read = beats.read_port(domain="comb")
        free, given, load = Signal(), Signal(), Signal()
        waiting, any_waiting = Signal(range(depth + 1)), Signal()
        waiting_next = Signal.like(waiting)
        room, room_next = Signal(range(depth + 1), init=depth), Signal(range(depth + 1))
        m.d.comb += [
            write.data.eq(Value.cast(self.payload)),
            write.en.eq(self.push),
            free.eq(~self.o.valid | self.o.ready),
            given.eq(self.o.valid & self.o.ready),
            load.eq(free & any_waiting),
            waiting_next.eq(waiting + self.push - load),
            room_next.eq(room + given - self.reserve),
        ]
        m.d.sync += [
            waiting.eq(waiting_next),
            any_waiting.eq(waiting_next != 0),
            room.eq(room_next),
            self.open.eq(room_next >= self.burst),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(any_waiting), raw(self.o).eq(read.data)]
        for step, port in ((self.push, write), (load, read)):
            place = index_signal(depth)
            m.d.comb += port.addr.eq(place)
            go_round(m, step, place, depth_of(depth))
        return m


def queue_depth(latency: int, *, burst: int = 1, group: int = 1, beat_cycles: int = 1) -> int:
    """Return the beats of a ``ResultQueue`` that costs the pipeline in front of it no cycles.

    Args:
        latency: Cycles from a reservation to the first ``push`` that follows from it.
        burst: Beats of a reservation; they are pushed in one cycle after the other.
        group: Cycles between reservations, at least ``burst * beat_cycles``.
        beat_cycles: Cycles that the consumer takes for a beat.
    """
    depth, age = burst, group
    while True:
        # Beats of a reservation of ``age`` cycles ago that have been given and counted.
        counted = (age - 1 - latency - LATENCY - (beat_cycles - 1)) // beat_cycles + 1
        left = burst - min(max(counted, 0), burst)
        if not left:
            return max(depth, 2)
        depth += left
        age += group


def counter(m: Module, step: Value, rounds: int, name: str) -> tuple[Value, Value]:
    """Return whether a counter that goes round with ``step`` is in its first, in its last round.

    Both come from registers.
    """
    if rounds == 1:
        return Const(1), Const(1)
    place, first, last = Signal(range(rounds), name=name), Signal(init=1), Signal()
    with m.If(step):
        m.d.sync += [
            place.eq(Mux(last, 0, place + 1)),
            first.eq(last),
            last.eq(place == rounds - 2),
        ]
    return first, last
