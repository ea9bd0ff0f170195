"""Sliding window that outputs all of its taps in one beat, for images with few channels."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.flow import spread
from rlx_fpga.cells.geometry import geometry_of
from rlx_fpga.cells.ram import block_ram
from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of
from rlx_fpga.cost.logic import Logic, total
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from rlx_fpga.cells.geometry import Pair


class WholeWindow(Cell):
    """For each output pixel, output its window in one beat: rows, columns, channels.

    The window is a shift register that moves by one column with every pixel; the rows above the
    current one are in one memory. Padding must be in the stream already.

    Members:
        i: In, ``channels`` times int8: the image.
        o: Out, ``kernel rows * columns * channels`` times int8: the windows.

    Latency 1. Accepts a pixel in every cycle unless a window is waiting at the output. No
    multipliers; a memory with a word for each column.

    Args:
        height: Rows of the image.
        width: Columns of the image, at least 2.
        channels: Channels of a pixel.
        kernel: Rows and columns of the window.
        stride: Step down and step right.
    """

    def __init__(
        self, *, height: int, width: int, channels: int, kernel: Pair, stride: Pair = (1, 1)
    ) -> None:
        if width < 2:
            msg = f"a window in registers needs an image of at least 2 columns, not {width}"
            raise ValueError(msg)
        self.geometry = geometry_of(height, width, 1, kernel, stride)
        self.channels = channels
        self.lanes = kernel[0] * kernel[1] * channels
        self.memory_bits = (kernel[0] - 1) * channels * 8 * width
        super().__init__({"i": In(stream_of(channels)), "o": Out(stream_of(self.lanes))})

    def cycles_per_frame(self, window_cycles: int) -> int:
        """Return the initiation interval if a window is accepted within ``window_cycles``."""
        return sum(max(window_cycles, gap) for gap in self._gaps())

    def jitter(self, window_cycles: int, counted: Sequence[bool]) -> tuple[Fraction, Fraction]:
        """Return the deviation of input and output from a constant rate, in frames.

        Args:
            window_cycles: Cycles within which a window is accepted.
            counted: For each pixel, whether it comes from the input; the others are padding.
        """
        total = self.cycles_per_frame(window_cycles)
        gaps = self._gaps()
        inputs, outputs = [], []
        time, pixel = 0, self.geometry.needed[0] - 1
        for gap in gaps:
            outputs.append(time)
            for step in range(1, gap + 1):
                pixel = (pixel + 1) % self.geometry.words
                if counted[pixel]:
                    inputs.append(time + step)
            time += max(window_cycles, gap)
        return spread(inputs, total), spread(outputs, total)

    def _gaps(self) -> list[int]:
        """Return the number of pixels that follow each window before the next one is complete."""
        needed = self.geometry.needed
        return [
            after - before for before, after in pairwise([*needed, needed[0] + self.geometry.words])
        ]

    @cached_property
    def logic(self) -> Logic:
        """Shift registers of the window, counters, and the memory of the rows above."""
        geometry = self.geometry
        row, column = (max(geometry.height, 2) - 1).bit_length(), (geometry.width - 1).bit_length()
        control = Logic(8 * self.lanes + row + column + 3, row + column, 0, 16 + row + 2 * column)
        ends = Logic(mux=row + column)
        above = 8 * self.channels * (geometry.kernel[0] - 1)
        if not above:
            return control + ends
        ram = Ram(above, geometry.width, read_only=False, synchronous=True, collision_free=True)
        return total([control, ends, Logic(mux=column, memories=(ram,))])

    def elaborate(self, platform: object) -> Module:
        """Build the memory of rows, the window of registers, and the counters."""
        m = Module()
        g = self.geometry
        rows, columns = g.kernel
        row = index_signal(g.height)
        column = index_signal(g.width)
        next_column = Signal.like(column)
        accepted = Signal(name="taken")
        full = Signal()
        m.d.comb += [
            self.i.ready.eq(~full | self.o.ready),
            accepted.eq(self.i.valid & self.i.ready),
            next_column.eq(Mux(column == g.width - 1, 0, column + 1)),
            self.o.valid.eq(full),
        ]
        with m.If(accepted):
            m.d.sync += [column.eq(next_column), full.eq(self._ends_window(row, column))]
            with m.If(column == g.width - 1):
                m.d.sync += row.eq(Mux(row == g.height - 1, 0, row + 1))
        with m.Elif(self.o.ready):
            m.d.sync += full.eq(0)
        newest = self._column(m, platform, accepted, column, next_column)
        size = 8 * self.channels
        taps = [Signal(size * columns, name=f"row_{index}") for index in range(rows)]
        with m.If(accepted):
            for index, tap in enumerate(taps):
                entering = newest[size * index : size * (index + 1)]
                m.d.sync += tap.eq(Cat(tap[size:], entering))
        m.d.comb += raw(self.o).eq(Cat(*taps))
        return m

    def _ends_window(self, row: Value, column: Value) -> Value:
        """Return whether the pixel at (row, column) is the last one of a window."""
        g = self.geometry
        rows = sum(1 << index for index in g.last_row)
        columns = sum(1 << index for index in g.last_column)
        return Const(rows, g.height).bit_select(row, 1) & Const(columns, g.width).bit_select(
            column, 1
        )

    def _column(
        self, m: Module, platform: object, accepted: Value, column: Value, next_column: Value
    ) -> Value:
        """Return the incoming pixel with those above it; oldest row first."""
        pixel = raw(self.i)
        above = self.geometry.kernel[0] - 1
        if not above:
            return pixel
        size = len(pixel)
        write, read = block_ram(m, platform, "rows", size * above, self.geometry.width)
        whole = Cat(read.data, pixel)
        m.d.comb += [
            read.addr.eq(Mux(accepted, next_column, column)),
            write.addr.eq(column),
            write.en.eq(accepted),
            write.data.eq(whole[size:]),
        ]
        return whole


class Replay(Cell):
    """Split a beat into parts, lowest lanes first, and send all of them ``times`` times.

    Members:
        i: In, ``lanes_in`` times int8.
        o: Out, ``lanes_out`` times int8.

    Latency 1; one output beat a cycle.
    """

    def __init__(self, lanes_in: int, lanes_out: int, times: int) -> None:
        require_divisor(lanes_out, lanes_in)
        if times < 1:
            msg = f"a beat must be sent at least once, not {times} times"
            raise ValueError(msg)
        self.lanes = lanes_in
        self.beats = lanes_in // lanes_out * times
        super().__init__({"i": In(stream_of(lanes_in)), "o": Out(stream_of(lanes_out))})

    @cached_property
    def logic(self) -> Logic:
        """A register that is loaded or rotated, and a counter."""
        bits, left = 8 * self.lanes, self.beats.bit_length()
        return Logic(register=bits + left + 2, add=left, test=19 + left, mux=bits)

    def elaborate(self, platform: object) -> Module:
        """Load a beat, then rotate it."""
        m = Module()
        part = raw(self.o)
        word = Signal(len(raw(self.i)))
        # Remaining beats: their number, and registered flags for any and for just one.
        left = Signal(range(self.beats + 1))
        single = Signal()
        m.d.comb += [
            self.i.ready.eq(~self.o.valid | (single & self.o.ready)),
            part.eq(word[: len(part)]),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                word.eq(raw(self.i)),
                left.eq(self.beats),
                self.o.valid.eq(self.i.valid),
                single.eq(int(self.beats == 1)),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += [
                word.eq(word.rotate_right(len(part))),
                left.eq(left - 1),
                single.eq(left == 2),
            ]
        return m
