"""Fork of a stream to several consumers."""

from __future__ import annotations

from functools import cached_property

from amaranth import Module, Signal
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic


class Fork(Cell):
    """Send every beat to each of ``count`` consumers, once, whenever each is ready.

    The input beat is accepted when the last consumer takes it; a consumer may be ahead of the
    others by at most one beat.

    Members:
        i: In, ``lanes`` times int ``width``.
        o0, o1, ...: Out, the same.

    Latency 0, initiation interval 1. ``o<n>.valid`` follows ``i.valid`` combinationally.
    """

    latency = 0

    def __init__(self, lanes: int, count: int, width: int = 8) -> None:
        if count < 2:
            msg = f"expected at least two consumers, got {count}"
            raise ValueError(msg)
        self.count = count
        signature = stream_of(lanes, width)
        super().__init__(
            {"i": In(signature), **{f"o{index}": Out(signature) for index in range(count)}}
        )

    @cached_property
    def logic(self) -> Logic:
        """A flag for each consumer."""
        return Logic(register=self.count, test=6 + 4 * self.count)

    def elaborate(self, platform: object) -> Module:
        """Remember for each consumer whether it has this beat already."""
        m = Module()
        outputs = [getattr(self, f"o{index}") for index in range(self.count)]
        served = Signal(self.count)
        has_it = Signal(self.count)
        for index, output in enumerate(outputs):
            m.d.comb += [
                raw(output).eq(raw(self.i)),
                output.valid.eq(self.i.valid & ~served[index]),
                has_it[index].eq(served[index] | output.ready),
            ]
        m.d.comb += self.i.ready.eq(has_it.all())
        with m.If(self.i.valid):
            with m.If(has_it.all()):
                m.d.sync += served.eq(0)
            with m.Else():
                m.d.sync += served.eq(has_it)
        self.internals = {"served": served}
        return m
