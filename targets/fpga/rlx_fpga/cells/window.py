"""Sliding window over an image stream: a circular line buffer and an address generator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_
from typing import TYPE_CHECKING, Literal

from amaranth import Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from amaranth.utils import ceil_log2

from rlx_fpga.cells.geometry import Geometry
from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amaranth import Value
    from amaranth.lib.memory import ReadPort

    from rlx_fpga.cells.geometry import Pair

Order = Literal["dense", "channelwise"]


class WindowGenerator(Cell):
    """For each output pixel, give the words of its window, one word a cycle.

    Order of the words of an output pixel:
    - ``dense``: ``repeat`` times: for each row and column of the window, all blocks of channels.
    - ``channelwise``: for each block of channels, ``repeat`` times: each row and column.

    Reading and writing overlap: while one pixel is read, everything that the next one needs can
    be written, also over the end of a frame. Input rows and columns that no window needs are
    skipped.

    Members:
        i: In, ``lanes`` times int8: the image.
        o: Out, ``lanes`` times int8: the windows.

    Latency 3, from the last word that a pixel needs to the first word of its window; a frame takes
    ``cycles_per_frame``. One memory of ``geometry.depth`` words with one write port and one
    synchronous read port; no multipliers.

    Args:
        height: Rows of the image.
        width: Columns of the image.
        channels: Channels of a pixel.
        lanes: Channels of a word; divides ``channels``.
        kernel: Rows and columns of the window.
        stride: Step down and step right.
        dilation: Distance of the window's rows and of its columns.
        padding: Rows added above and below, columns added left and right.
        pad_value: Code of the padding, in [-128, 127].
        repeat: How often each window (each block of a window) is given.
        order: ``dense`` or ``channelwise``.
    """

    latency = 3

    def __init__(
        self,
        *,
        height: int,
        width: int,
        channels: int,
        lanes: int,
        kernel: Pair,
        stride: Pair = (1, 1),
        dilation: Pair = (1, 1),
        padding: tuple[Pair, Pair] = ((0, 0), (0, 0)),
        pad_value: int = 0,
        repeat: int = 1,
        order: Order = "dense",
    ) -> None:
        require_divisor(lanes, channels)
        if not -128 <= pad_value <= 127 or repeat < 1 or order not in ("dense", "channelwise"):
            msg = f"bad window: pad_value {pad_value}, repeat {repeat}, order {order!r}"
            raise ValueError(msg)
        self.geometry = Geometry(
            height, width, channels // lanes, kernel, stride, dilation, padding
        )
        self.lanes = lanes
        self.pad_value = pad_value
        self.repeat = repeat
        self.order = order
        self.memory_bits = self.geometry.depth * lanes * 8
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @property
    def reads(self) -> int:
        """Words given for one output pixel."""
        return self.geometry.taps * self.geometry.blocks * self.repeat

    @property
    def cycles_per_frame(self) -> int:
        """Cycles between frames, if input never lacks and output never waits."""
        return self.geometry.cycles_per_frame(self.reads)

    def elaborate(self, platform: object) -> Module:
        """Build the writer, the reader, and the two counts that keep them apart."""
        m = Module()
        g = self.geometry
        m.submodules.buffer = buffer = Memory(
            shape=unsigned(8 * self.lanes), depth=g.depth, init=[]
        )
        m.submodules.addresses = address = AddressGenerator(g, self.repeat, self.order)
        write, read = buffer.write_port(), buffer.read_port()
        wrote = Signal()

        # Words that may still be written: more than the depth after rows that no window needs.
        free = Signal(range(g.depth + g.words + 1), init=g.depth)
        free_next = Signal.like(free)
        has_room = Signal(init=1)
        m.d.comb += [
            self.i.ready.eq(has_room),
            wrote.eq(self.i.valid & has_room),
            write.en.eq(wrote),
            write.data.eq(raw(self.i)),
            free_next.eq(free - wrote + Mux(address.pixel_done, address.release, 0)),
        ]
        m.d.sync += [free.eq(free_next), has_room.eq(free_next != 0)]
        with m.If(wrote):
            m.d.sync += write.addr.eq(Mux(write.addr == g.depth - 1, 0, write.addr + 1))

        # Words written beyond those that the current pixel needs.
        surplus = Signal(_signed(max(g.depth, g.words)), init=-g.needed[0])
        inside, go, enable = Signal(), Signal(), Signal()
        m.d.comb += [
            go.eq(enable & (inside | (surplus >= 0))),
            address.go.eq(go),
            read.addr.eq(address.address),
            read.en.eq(go),
        ]
        m.d.sync += surplus.eq(surplus + wrote - Mux(address.pixel_done, address.advance, 0))
        with m.If(go):
            m.d.sync += inside.eq(~address.pixel_done)
        self._output(m, read, go, enable, address.padded)
        return m

    def _output(self, m: Module, read: ReadPort, go: Value, enable: Signal, padded: Value) -> None:
        """Add the two registers behind the address: the memory's own, and the output's."""
        filled, is_padding, valid = Signal(), Signal(), Signal()
        payload = Signal(8 * self.lanes)
        padding = sum((self.pad_value & 0xFF) << (8 * lane) for lane in range(self.lanes))
        m.d.comb += [
            enable.eq(~valid | self.o.ready),
            self.o.valid.eq(valid),
            raw(self.o).eq(payload),
        ]
        with m.If(enable):
            m.d.sync += [
                filled.eq(go),
                is_padding.eq(padded),
                valid.eq(filled),
                payload.eq(Mux(is_padding, padding, read.data)),
            ]


@dataclass(frozen=True)
class Loop:
    """One loop of the address generator: its rounds, and what a step of it adds to the position.

    Attributes:
        name: Of the counter.
        count: Rounds.
        word: Words to go on.
        row: Rows to go on.
        column: Columns to go on.
    """

    name: str
    count: int
    word: int = 0
    row: int = 0
    column: int = 0


class AddressGenerator(Component):
    """Walk over the words of all windows, frame after frame.

    Members:
        go: In, 1 bit: take a step at the end of this cycle.
        address: Out: where the current word lies in the circular buffer.
        padded: Out, 1 bit: the current word lies outside of the image.
        pixel_done: Out, 1 bit: this step leaves the current output pixel.
        release: Out: words that are free after this output pixel.
        advance: Out, signed: by how much the next output pixel needs more words than this one.
    """

    _MustUse__silence = True

    def __init__(self, geometry: Geometry, repeat: int, order: Order) -> None:
        self.geometry = geometry
        self.repeat = repeat
        self.order = order
        super().__init__(
            {
                "go": In(1),
                "address": Out(range(geometry.depth)),
                "padded": Out(1),
                "pixel_done": Out(1),
                "release": Out(range(geometry.words + 1)),
                "advance": Out(_signed(geometry.words + geometry.needed[0])),
            }
        )

    def loops(self) -> list[Loop]:
        """Return the loops, innermost first; the last one runs over frames for ever."""
        g = self.geometry
        line = g.width * g.blocks
        blocks = Loop("block", g.blocks, word=1)
        window = [
            Loop("kernel_column", g.kernel[1], g.dilation[1] * g.blocks, 0, g.dilation[1]),
            Loop("kernel_row", g.kernel[0], g.dilation[0] * line, g.dilation[0], 0),
        ]
        repeat = Loop("repeat", self.repeat)
        return [
            *([blocks, *window, repeat] if self.order == "dense" else [*window, repeat, blocks]),
            Loop("column", g.out_width, g.stride[1] * g.blocks, 0, g.stride[1]),
            Loop("row", g.out_height, g.stride[0] * line, g.stride[0], 0),
            Loop("frame", 1, g.words),
        ]

    def elaborate(self, platform: object) -> Module:
        """Count the loops; every step adds the difference that its outermost moving loop makes."""
        m = Module()
        loops = self.loops()
        counters, last = self._counters(m, loops)
        steps = [_step(loops, index) for index in range(len(loops))]
        m.d.comb += self.pixel_done.eq(self.go & reduce(and_, last[:4]))
        self._move(m, last, [step.word for step in steps])
        g = self.geometry
        rows_padded, columns_padded = g.padding
        outside = [
            self._outside(m, "row", last, [s.row for s in steps], rows_padded[0], g.height),
            self._outside(m, "column", last, [s.column for s in steps], columns_padded[0], g.width),
        ]
        m.d.comb += self.padded.eq(outside[0] | outside[1])
        self._needs(m, *counters[4:6], *last[4:6])
        return m

    def _counters(self, m: Module, loops: list[Loop]) -> tuple[list[Value], list[Value]]:
        """Return each loop's counter and whether it is in its last round."""
        counters: list[Value] = []
        last: list[Value] = []
        for loop in loops[:-1]:
            if loop.count == 1:
                counters.append(Const(0))
                last.append(Const(1))
                continue
            counter = Signal(range(loop.count), name=loop.name)
            at_end = Signal(name=f"{loop.name}_last")
            m.d.comb += at_end.eq(counter == loop.count - 1)
            with m.If(reduce(and_, last, self.go)):
                m.d.sync += counter.eq(Mux(at_end, 0, counter + 1))
            counters.append(counter)
            last.append(at_end)
        return counters, last

    def _move(self, m: Module, last: list[Value], words: list[int]) -> None:
        """Move the address around the circular buffer."""
        g = self.geometry
        depth = g.depth
        # The first word lies in the padding: before the first word of the frame.
        start = -(g.padding[0][0] * g.width + g.padding[1][0]) * g.blocks
        address, step = Signal(range(depth), init=start % depth), Signal(range(depth))
        total, wrapped = Signal(range(2 * depth)), Signal(_signed(2 * depth))
        m.d.comb += [
            self.address.eq(address),
            step.eq(_outermost(last, [word % depth for word in words])),
            total.eq(address + step),
            wrapped.eq(address + step - depth),
        ]
        with m.If(self.go):
            m.d.sync += address.eq(Mux(wrapped < 0, total, wrapped))

    def _outside(
        self, m: Module, name: str, last: list[Value], steps: list[int], before: int, size: int
    ) -> Value:
        """Follow the row (or column) of the padded image, and compare it with the image's."""
        axis = 0 if name == "row" else 1
        reach = self.geometry.padded[axis]
        if reach == size:
            return Const(0)
        position = Signal(range(reach), name=f"padded_{name}")
        step = Signal(_signed(reach), name=f"{name}_step")
        m.d.comb += step.eq(_outermost(last, steps))
        with m.If(self.go):
            m.d.sync += position.eq(position + step)
        result = Const(0)
        if before:
            result |= position < before
        if reach > before + size:
            result |= position >= before + size
        return result

    def _needs(
        self, m: Module, column: Value, row: Value, last_column: Value, last_row: Value
    ) -> None:
        """Tell what the step to the next output pixel frees and what it needs."""
        g = self.geometry
        first, final = g.first_column, g.last_column
        frees = [
            _piecewise(column, [b - a for a, b in pairwise(first)], g.blocks),
            _piecewise(row, [max(r * g.width - first[-1], 0) for r in g.row_release], g.blocks),
        ]
        holds = _piecewise(row, [int(rows == 0) for rows in g.row_release])
        m.d.comb += self.release.eq(Mux(holds, 0, Mux(last_column, frees[1], frees[0])))
        back = final[-1] - final[0]
        downs = [(b - a) * g.width - back for a, b in pairwise(g.last_row)]
        needs = [
            _piecewise(column, [b - a for a, b in pairwise(final)], g.blocks),
            _piecewise(row, downs, g.blocks),
            Const(g.words + g.needed[0] - g.needed[-1], _signed(2 * g.words)),
        ]
        m.d.comb += self.advance.eq(_outermost([last_column, last_row], needs))


def _signed(magnitude: int) -> object:
    """Return the shape of signed numbers up to ``magnitude`` either way."""
    return signed(ceil_log2(magnitude + 1) + 1)


def _step(loops: list[Loop], index: int) -> Loop:
    """Return what a step of one loop adds while all loops inside of it go back to their start."""
    loop, inner = loops[index], loops[:index]
    return Loop(
        loop.name,
        loop.count,
        loop.word - sum((i.count - 1) * i.word for i in inner),
        loop.row - sum((i.count - 1) * i.row for i in inner),
        loop.column - sum((i.count - 1) * i.column for i in inner),
    )


def _outermost(last: list[Value], values: Sequence[Value | int]) -> Value:
    """Return the value of the loop that moves: the innermost one that is not in its last round."""
    *inner, result = values
    for flag, value in reversed(list(zip(last, inner, strict=True))):
        result = Mux(flag, result, value)
    return result


def _piecewise(index: Value, values: list[int], factor: int = 1) -> Value:
    """Return ``values[index] * factor`` by comparing ``index`` with the ends of equal runs."""
    if not values:
        return Const(0)
    scaled = [value * factor for value in values]
    result = _constant(scaled[-1])
    for position in range(len(scaled) - 2, -1, -1):
        if scaled[position] != scaled[position + 1]:
            result = Mux(index <= position, _constant(scaled[position]), result)
    return result


def _constant(value: int) -> Const:
    return Const(value, _signed(abs(value)))
