"""Padding and slicing of a stream."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.flow import raster_indices, spread
from rlx_fpga.cells.raster import Raster, within
from rlx_fpga.cells.streams import Cell, raw, stream_of
from rlx_fpga.cost.logic import Logic, counter, total

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


class Pad(Cell):
    """Add beats of one constant value around a tensor.

    Sizes count beats: the last axis of an NHWC tensor has ``channels / lanes`` of them, so channels
    can be padded by whole beats only.

    Members:
        i: In, ``lanes`` times int8; frames of ``sizes`` beats.
        o: Out, the same; frames of ``before + sizes + after`` beats on each axis.

    Latency 1; one beat a cycle, so the initiation interval is the number of output beats.
    """

    def __init__(
        self,
        lanes: int,
        sizes: Sequence[int],
        before: Sequence[int],
        after: Sequence[int],
        value: int,
    ) -> None:
        if not len(sizes) == len(before) == len(after) or min(*before, *after, 0) < 0:
            msg = f"padding {tuple(before)}, {tuple(after)} does not match sizes {tuple(sizes)}"
            raise ValueError(msg)
        if not -128 <= value <= 127:
            msg = f"the padding must be an int8 value, not {value}"
            raise ValueError(msg)
        self.sizes, self.before, self.after = tuple(sizes), tuple(before), tuple(after)
        self.total = tuple(map(sum, zip(before, sizes, after, strict=True)))
        self.beats_in, self.beats_out = math.prod(sizes), math.prod(self.total)
        self.lanes, self.value = lanes, value
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @cached_property
    def jitter(self) -> Fraction:
        """Deviation from a constant rate of the input, at a constant rate of the output."""
        axes = [
            range(before, before + size)
            for before, size in zip(self.before, self.sizes, strict=True)
        ]
        return spread(raster_indices(self.total, axes), self.beats_out)

    @cached_property
    def logic(self) -> Logic:
        """Counters of all axes, their bounds, the output register."""
        bits, found = 8 * self.lanes, []
        for before, size, whole in zip(self.before, self.sizes, self.total, strict=True):
            place, bounds = (whole - 1).bit_length(), (before > 0) + (before + size < whole)
            found += [counter(whole), Logic(compare=bounds * place, test=4 + 2 * bounds)]
        return total([*found, Logic(register=bits + 1, test=2)])

    def elaborate(self, platform: object) -> Module:
        """Walk over the output; take an input beat where the position is inside."""
        m = Module()
        free = Signal()
        move = Signal()
        raster = Raster(m, self.total, move)
        in_input = Signal(name="inside")
        begin = Signal()
        m.d.comb += [
            in_input.eq(_box(raster, self.before, self.sizes, self.total)),
            # A frame begins with its first input beat: no padding is sent before.
            begin.eq(Cat(*raster.index) == 0),
            free.eq(~self.o.valid | self.o.ready),
            move.eq(free & (self.i.valid | ~(in_input | begin))),
            self.i.ready.eq(free & in_input),
        ]
        padding = int.from_bytes(bytes([self.value & 0xFF]) * self.lanes, "little")
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(move),
                raw(self.o).eq(Mux(in_input, raw(self.i), Const(padding, 8 * self.lanes))),
            ]
        self.internals = {"index": raster.index}
        return m


class Slice(Cell):
    """Pass part of a tensor: indices ``start, start + step, ... < stop`` of each axis.

    Sizes and indices count beats; see ``Pad``. Steps over channels need one lane.

    Members:
        i: In, ``lanes`` times int8; frames of ``sizes`` beats.
        o: Out, the same.

    Latency 1; one beat a cycle, so the initiation interval is the number of input beats.
    """

    def __init__(
        self,
        lanes: int,
        sizes: Sequence[int],
        start: Sequence[int],
        stop: Sequence[int],
        step: Sequence[int],
    ) -> None:
        self.lanes, self.sizes = lanes, tuple(sizes)
        self.start, self.stop, self.step = tuple(start), tuple(stop), tuple(step)
        self.kept = [tuple(range(*part)) for part in zip(start, stop, step, strict=True)]
        if len(self.kept) != len(sizes) or not all(
            kept and kept[0] >= 0 and kept[-1] < size
            for kept, size in zip(self.kept, sizes, strict=True)
        ):
            msg = f"slice {tuple(start)}:{tuple(stop)}:{tuple(step)} does not fit {self.sizes}"
            raise ValueError(msg)
        self.beats_in = math.prod(sizes)
        self.beats_out = math.prod(map(len, self.kept))
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @cached_property
    def jitter(self) -> Fraction:
        """Deviation from a constant rate of the output, at a constant rate of the input."""
        return spread(raster_indices(self.sizes, self.kept), self.beats_in)

    @cached_property
    def logic(self) -> Logic:
        """Counters of all axes, which of their values are kept, the output register."""
        found = [Logic(register=8 * self.lanes + 1, test=6)]
        for kept, size in zip(self.kept, self.sizes, strict=True):
            place = (size - 1).bit_length()
            dense = kept == tuple(range(kept[0], kept[-1] + 1))
            bounds = (kept[0] > 0) + (kept[-1] + 1 < size) if dense else 0
            found += [counter(size), Logic(compare=bounds * place, mux=0 if dense else size / 16)]
        return total(found)

    def elaborate(self, platform: object) -> Module:
        """Walk over the input; beats that are dropped do not wait for the output."""
        m = Module()
        free = Signal()
        keep = Signal()
        accepted = Signal(name="taken")
        raster = Raster(m, self.sizes, accepted)
        condition: Value = Const(1)
        for index, kept_indices, size in zip(raster.index, self.kept, self.sizes, strict=True):
            condition = condition & _member(index, kept_indices, size)
        m.d.comb += [
            keep.eq(condition),
            free.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(free | ~keep),
            accepted.eq(self.i.valid & self.i.ready),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(self.i.valid & keep), raw(self.o).eq(raw(self.i))]
        self.internals = {"index": raster.index}
        return m


def _box(
    raster: Raster, before: Sequence[int], sizes: Sequence[int], total: Sequence[int]
) -> Value:
    condition: Value = Const(1)
    for index, start, size, end in zip(raster.index, before, sizes, total, strict=True):
        condition = condition & within(index, start, start + size, end)
    return condition


def _member(index: Value, kept_indices: Sequence[int], size: int) -> Value:
    """Return whether ``index``, which runs over ``range(size)``, is one of ``kept_indices``."""
    if kept_indices == tuple(range(kept_indices[0], kept_indices[-1] + 1)):
        return within(index, kept_indices[0], kept_indices[-1] + 1, size)
    return Const(sum(1 << place for place in kept_indices), size).bit_select(index, 1)
