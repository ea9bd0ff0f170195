"""Queues between cells: skid buffers that break the ready path, and FIFOs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.ram import block_ram, go_round
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from amaranth.hdl import Value

# Queues up to this depth use registers or LUT RAM with an asynchronous read; deeper ones have the
# synchronous read that block RAMs need.
SHALLOW_DEPTH = 32


class SkidBuffer(Cell):
    """Registers on payload, valid and ready: breaks every combinational path between two cells.

    Members:
        i: In, ``lanes`` times int ``width``.
        o: Out, the same.

    Latency 1, initiation interval 1. Holds up to two beats.
    """

    def __init__(self, lanes: int, width: int = 8) -> None:
        self.bits = lanes * width
        super().__init__({"i": In(stream_of(lanes, width)), "o": Out(stream_of(lanes, width))})

    @cached_property
    def logic(self) -> Logic:
        """Two registers, and a choice between them."""
        return Logic(register=2 * self.bits + 2, mux=self.bits, test=17)

    def elaborate(self, platform: object) -> Module:
        """Build the two registers."""
        m = Module()
        size = len(raw(self.i))
        front = Signal(size)
        back = Signal(size)
        front_valid = Signal()
        back_valid = Signal()
        m.d.comb += [
            self.i.ready.eq(~back_valid),
            self.o.valid.eq(front_valid),
            raw(self.o).eq(front),
        ]
        with m.If(~front_valid | self.o.ready):
            m.d.sync += [
                front.eq(Mux(back_valid, back, raw(self.i))),
                front_valid.eq(back_valid | self.i.valid),
                back_valid.eq(0),
            ]
        with m.Elif(self.i.valid & ~back_valid):
            m.d.sync += [back.eq(raw(self.i)), back_valid.eq(1)]
        self.internals = {"front_valid": front_valid, "back": back, "back_valid": back_valid}
        return m


class Fifo(Cell):
    """First-in first-out buffer of ``depth`` beats.

    Up to ``SHALLOW_DEPTH`` beats are stored in LUT RAM or registers, more in block RAM.

    Members:
        i: In, ``lanes`` times int ``width``.
        o: Out, the same.

    Latency 1 (3 if deep), initiation interval 1. A deep one has two more stages, the read register
    of the block RAM and the output register, whose beats come on top of ``depth``.
    """

    def __init__(self, lanes: int, depth: int, width: int = 8) -> None:
        if depth < 2:
            msg = f"expected a depth of at least 2 beats, to sustain the rate, got {depth}"
            raise ValueError(msg)
        self.depth = depth
        self.deep = depth > SHALLOW_DEPTH
        self.latency = 3 if self.deep else 1
        self.bits = lanes * width
        self.memory_bits = depth * self.bits
        super().__init__({"i": In(stream_of(lanes, width)), "o": Out(stream_of(lanes, width))})

    @cached_property
    def logic(self) -> Logic:
        """Addresses, counters and the memory; a deep one has an output register."""
        address_bits = (self.depth - 1).bit_length()
        if self.deep:
            ram = Ram(self.bits, self.depth, read_only=False, synchronous=True, collision_free=True)
            control = Logic(
                self.bits + 3 * address_bits + 5, add=4 * address_bits, test=15 + 4 * address_bits
            )
        else:
            ram = Ram(self.bits, self.depth, read_only=False, synchronous=False)
            control = Logic(
                3 * address_bits + 1,
                add=4 * address_bits + 1,
                test=22 + 2 * address_bits,
                mux=address_bits,
            )
        return control + Logic(memories=(ram,))

    def elaborate(self, platform: object) -> Module:
        """Build a shallow or a deep FIFO."""
        m = Module()
        if self.deep:
            self._walk(m, platform)
        else:
            self._wrap(m)
        return m

    def _wrap(self, m: Module) -> None:
        """Wrap Amaranth's queue."""
        payload: Value = raw(self.i)
        m.submodules.queue = queue = SyncFIFO(width=len(payload), depth=self.depth)
        self.internals = {"queue": queue}
        m.d.comb += [
            queue.w_data.eq(payload),
            queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
            raw(self.o).eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
        ]

    def _walk(self, m: Module, platform: object) -> None:
        """Write to block RAM and read ahead; flags are registered."""
        write, read = block_ram(m, platform, "words", len(raw(self.i)), self.depth)
        waiting = Signal(range(self.depth + 1))
        any_waiting = Signal()
        waiting_next = Signal.like(waiting)
        has_room = Signal(init=1)
        fetched = Signal()
        free = Signal()
        m.d.comb += [
            self.i.ready.eq(has_room),
            write.en.eq(self.i.valid & has_room),
            write.data.eq(raw(self.i)),
            free.eq(~self.o.valid | self.o.ready),
            read.en.eq(any_waiting & (~fetched | free)),
            waiting_next.eq(waiting + write.en - read.en),
        ]
        m.d.sync += [
            waiting.eq(waiting_next),
            any_waiting.eq(waiting_next != 0),
            has_room.eq(waiting_next != self.depth),
        ]
        with m.If(~fetched | free):
            m.d.sync += fetched.eq(any_waiting)
        with m.If(free):
            m.d.sync += [self.o.valid.eq(fetched), raw(self.o).eq(read.data)]
        for port in (write, read):
            go_round(m, port.en, port.addr, self.depth)
        self.internals = {
            "memory": m.submodules.words, "write": write, "read": read, "fetched": fetched,
            "waiting": waiting, "any_waiting": any_waiting, "has_room": has_room,
        }  # fmt: skip
