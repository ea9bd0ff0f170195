"""Credit-based flow control for pipelines that never stall.

A pipeline that can stall needs a wire that reaches all of its registers within a cycle, and such
wires add up from layer to layer. Pipelines here do not stall: a beat enters only if the queue at
the end of the pipeline has space for its results. Only that queue sees the consumer.
"""

from __future__ import annotations

from functools import lru_cache

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.ram import go_round
from rlx_fpga.cells.sizes import depth_of, index_signal
from rlx_fpga.cells.streams import Lanes, Part, raw, stream_of
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

LATENCY = 2
"""Cycles from ``push`` to the first cycle in which ``o`` is valid."""


class ResultQueue(Part):
    """Queue after a pipeline that never stalls.

    Members:
        reserve: In: beats for which space is reserved in this cycle, 0 to ``burst``.
        open: Out, 1 bit: there is space for another ``burst`` beats. Registered.
        push: In, 1 bit: a reserved beat arrives.
        payload: In, ``lanes`` times int ``width``.
        o: Out, the beats in order.

    Latency 2, initiation interval 1. Memory with an asynchronous read (LUT RAM) and an output
    register.

    Args:
        lanes: Elements of a beat.
        width: Bits of an element.
        depth: Beats that can be reserved or waiting, at least ``burst``.
        burst: Maximum beats that are reserved in one cycle.
    """

    def __init__(self, lanes: int, width: int, depth: int, burst: int = 1) -> None:
        if not 1 <= burst <= depth:
            msg = f"expected a depth of at least {burst} beats, the burst, got {depth}"
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

    @property
    def logic(self) -> Logic:
        """Two counters, two addresses, the memory, the output register."""
        return queue_logic(self.bits, self.depth)

    def elaborate(self, platform: object) -> Module:
        """Count free and waiting beats."""
        m = Module()
        depth = self.depth
        m.submodules.beats = beats = Memory(shape=len(raw(self.o)), depth=depth_of(depth), init=[])
        write = beats.write_port()
        read = beats.read_port(domain="comb")
        free = Signal()
        sent = Signal(name="given")
        load = Signal()
        waiting = Signal(range(depth + 1))
        any_waiting = Signal()
        waiting_next = Signal.like(waiting)
        credits = Signal(range(depth + 1), init=depth)
        credits_next = Signal(range(depth + 1))
        m.d.comb += [
            write.data.eq(Value.cast(self.payload)),
            write.en.eq(self.push),
            free.eq(~self.o.valid | self.o.ready),
            sent.eq(self.o.valid & self.o.ready),
            load.eq(free & any_waiting),
            waiting_next.eq(waiting + self.push - load),
            credits_next.eq(credits + sent - self.reserve),
        ]
        m.d.sync += [
            waiting.eq(waiting_next),
            any_waiting.eq(waiting_next != 0),
            credits.eq(credits_next),
            self.open.eq(credits_next >= self.burst),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(any_waiting), raw(self.o).eq(read.data)]
        self.internals = {
            "memory": beats, "write": write, "read": read, "waiting": waiting,
            "any_waiting": any_waiting, "credits": credits,
        }  # fmt: skip
        for name, step, port in (("write", self.push, write), ("read", load, read)):
            address = index_signal(depth, name=f"{name}_place")
            m.d.comb += port.addr.eq(address)
            go_round(m, step, address, depth_of(depth))
        return m


@lru_cache(maxsize=4096)
def queue_logic(bits: int, depth: int) -> Logic:
    """Return the logic of a queue of ``depth`` beats of ``bits`` bits."""
    count, words = depth.bit_length(), depth_of(depth)
    address_bits = (words - 1).bit_length()
    ram = Ram(bits, words, read_only=False, synchronous=False, registered=True)
    return Logic(
        register=bits + 2 * count + 2 * address_bits + 3,
        add=4 * count + 2 * address_bits,
        compare=count,
        test=15 + count + 2 * address_bits,
        memories=(ram,),
    )


@lru_cache(maxsize=4096)
def queue_depth(latency: int, *, burst: int = 1, group: int = 1, beat_cycles: int = 1) -> int:
    """Return the depth of a ``ResultQueue`` that costs the pipeline before it no cycles.

    Args:
        latency: Cycles from a reservation to its first ``push``.
        burst: Beats of a reservation, pushed in consecutive cycles.
        group: Cycles between reservations, at least ``burst * beat_cycles``.
        beat_cycles: Cycles of the consumer for each beat.
    """
    depth, age = burst, group
    while True:
        # Beats of a reservation ``age`` cycles ago that have left the queue and are counted.
        counted = (age - 1 - latency - LATENCY - (beat_cycles - 1)) // beat_cycles + 1
        left = burst - min(max(counted, 0), burst)
        if not left:
            return max(depth, 2)
        depth += left
        age += group


def counter(m: Module, step: Value, rounds: int, name: str) -> tuple[Value, Value]:
    """Return whether a counter that advances with ``step`` is at its start, and at its end.

    Both are registered.
    """
    if rounds == 1:
        return Const(1), Const(1)
    count = Signal(range(rounds), name=name)
    first, last = Signal(init=1, name=f"{name}_first"), Signal(name=f"{name}_last")
    with m.If(step):
        m.d.sync += [
            count.eq(Mux(last, 0, count + 1)),
            first.eq(last),
            last.eq(count == rounds - 2),
        ]
    return first, last
