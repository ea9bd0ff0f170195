"""Queues between cells: a register that cuts the ready chain, and first-in first-out buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.streams import Cell, raw, stream_of

if TYPE_CHECKING:
    from amaranth.hdl import Value

# Queues up to this depth are made of registers or LUT memory with an asynchronous read; deeper
# ones have a synchronous read, as block memories need it.
SHALLOW_DEPTH = 32


class SkidBuffer(Cell):
    """Registers on payload, valid and ready: cuts every combinational path between two cells.

    Members:
        i: In, ``lanes`` times int ``width``.
        o: Out, the same.

    Latency 1, initiation interval 1. Holds up to two beats.
    """

    def __init__(self, lanes: int, width: int = 8) -> None:
        super().__init__({"i": In(stream_of(lanes, width)), "o": Out(stream_of(lanes, width))})

    def elaborate(self, platform: object) -> Module:
        """Build the two registers."""
        m = Module()
        size = len(raw(self.i))
        front, back = Signal(size), Signal(size)
        front_valid, back_valid = Signal(), Signal()
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
        return m


class Fifo(Cell):
    """First-in first-out buffer of ``depth`` beats.

    Up to ``SHALLOW_DEPTH`` beats are kept in LUT memory or registers, more in block memory.

    Members:
        i: In, ``lanes`` times int ``width``.
        o: Out, the same.

    Latency 1 (2 if deep), initiation interval 1.
    """

    def __init__(self, lanes: int, depth: int, width: int = 8) -> None:
        if depth < 2:
            msg = f"a FIFO needs a depth of at least 2 beats to keep up, not {depth}"
            raise ValueError(msg)
        self.depth = depth
        self.deep = depth > SHALLOW_DEPTH
        self.latency = 2 if self.deep else 1
        self.memory_bits = depth * lanes * width
        super().__init__({"i": In(stream_of(lanes, width)), "o": Out(stream_of(lanes, width))})

    def elaborate(self, platform: object) -> Module:
        """Wrap Amaranth's queue."""
        m = Module()
        payload: Value = raw(self.i)
        kind = SyncFIFOBuffered if self.deep else SyncFIFO
        m.submodules.queue = queue = kind(width=len(payload), depth=self.depth)
        m.d.comb += [
            queue.w_data.eq(payload),
            queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
            raw(self.o).eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
        ]
        return m
