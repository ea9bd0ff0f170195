"""Sliding window over an image stream: a circular line buffer and an address generator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import and_
from typing import TYPE_CHECKING, Literal

from amaranth import Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from rlx_fpga.cells.credit import LATENCY, ResultQueue, counter, queue_depth
from rlx_fpga.cells.geometry import geometry_of
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.ram import block_ram, go_round
from rlx_fpga.cells.streams import Cell, Part, raw, require_divisor, stream_of
from rlx_fpga.cost.logic import Logic, total
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx_fpga.cells.geometry import Geometry, Pair

Order = Literal["dense", "channelwise"]

# Registers from a step of the address to the queue: address, memory, word.
READ_STAGES = 3
# Padding is selected after the register of the word, because memories are slow.
PADDING_STAGES = 1


class WindowGenerator(Cell):
    """For each output pixel, output the words of its window, one word a cycle.

    Order of the words of an output pixel:
    - ``dense``: ``repeat`` times: for each row and column of the window, all blocks of channels.
    - ``channelwise``: for each block of channels, ``repeat`` times: each row and column.

    Reading and writing overlap: while one pixel is read, all words that the next one needs can be
    written, across frame boundaries too. Input rows and columns that no window needs are skipped.

    Members:
        i: In, ``lanes`` times int8: the image.
        o: Out, ``lanes`` times int8: the windows.

    Latency 6, with padding 7, from the last word that a pixel needs to the first word of its
    window; the initiation interval is ``cycles_per_frame``. One memory of ``depth`` words with one
    write port and one synchronous read port; no multipliers.

    Args:
        height: Rows of the image.
        width: Columns of the image.
        channels: Channels of a pixel.
        lanes: Channels of a word; divides ``channels``.
        kernel: Rows and columns of the window.
        stride: Step down and step right.
        dilation: Distance of the window's rows and of its columns.
        padding: Rows added above and below, columns added left and right.
        pad_value: Value of the padding, in [-128, 127].
        repeat: Number of times that each window (each block of a window) is sent.
        order: ``dense`` or ``channelwise``.
    """

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
        self.geometry = geometry_of(
            height, width, channels // lanes, kernel, stride, dilation, padding
        )
        self.lanes = lanes
        self.pad_value = pad_value
        self.repeat = repeat
        self.order = order
        # A word is free one cycle after its release, when it has been read.
        self.depth = self.geometry.depth + 1
        self.memory_bits = self.depth * lanes * 8
        self.stages = READ_STAGES + (PADDING_STAGES if self.geometry.is_padded else 0)
        self.latency = 1 + self.stages + LATENCY
        self.addresses = AddressGenerator(self.geometry, self.depth, repeat, order)
        self.queue = ResultQueue(lanes, 8, queue_depth(self.stages))
        super().__init__({"i": In(stream_of(lanes)), "o": Out(stream_of(lanes))})

    @property
    def reads(self) -> int:
        """Words sent for one output pixel."""
        return self.geometry.taps * self.geometry.blocks * self.repeat

    @property
    def cycles_per_frame(self) -> int:
        """Initiation interval if neither input nor output ever waits."""
        return self.geometry.cycles_per_frame(self.reads)

    @cached_property
    def logic(self) -> Logic:
        """The buffer, its two counters, the word that was read, addresses and queue."""
        depth, words, bits = self.depth, self.geometry.words, 8 * self.lanes
        address_bits, free = (depth - 1).bit_length(), (depth + words).bit_length()
        surplus = max(depth, words).bit_length() + 1
        ram = Ram(bits, depth, read_only=False, synchronous=True, collision_free=True)
        buffer = Logic(
            register=bits * (1 + self.geometry.is_padded) + address_bits + 2 * free + 4,
            add=3 * free + surplus + address_bits,
            compare=(free + surplus) / 2,
            test=14 + address_bits + free,
            memories=(ram,),
        )
        return total([buffer, self.addresses.logic, self.queue.logic])

    def elaborate(self, platform: object) -> Module:
        """Build the writer, the reader, and the two counters that synchronize them."""
        m = Module()
        g = self.geometry
        m.submodules.addresses = address = self.addresses
        write, read = block_ram(
            m, platform, "buffer", 8 * self.lanes, self.depth, used=~address.padded
        )
        m.submodules.queue = queue = self.queue
        wrote = Signal()
        go = Signal()

        # Words that may be written: more than the depth after rows that no window needs.
        free = Signal(range(self.depth + g.words + 1), init=self.depth)
        free_next = Signal.like(free)
        has_room = Signal(init=1)
        m.d.comb += [
            self.i.ready.eq(has_room),
            wrote.eq(self.i.valid & has_room),
            write.en.eq(wrote),
            write.data.eq(raw(self.i)),
            free_next.eq(free + address.freed - wrote),
        ]
        m.d.sync += [free.eq(free_next), has_room.eq(free_next != 0)]
        go_round(m, wrote, write.addr, self.depth)

        # Words written beyond those that the current pixel needs.
        surplus = Signal(_signed(max(self.depth, g.words)), init=-g.needed[0])
        in_pixel = Signal(name="inside")
        m.d.comb += [
            go.eq(queue.open & (in_pixel | (surplus >= 0))),
            queue.reserve.eq(go),
            address.go.eq(go),
            read.addr.eq(address.address),
            read.en.eq(address.valid),
        ]
        m.d.sync += surplus.eq(surplus + wrote - Mux(address.pixel_done, address.advance, 0))
        with m.If(go):
            m.d.sync += in_pixel.eq(~address.pixel_done)

        filled = follow(m, address.valid, "filled", self.stages - 1, reset=True)
        word = follow(m, read.data, "word")
        if g.is_padded:
            outside = follow(m, address.padded, "outside", 2)
            padding = sum((self.pad_value & 0xFF) << (8 * lane) for lane in range(self.lanes))
            word = follow(m, Mux(outside, padding, word), "padded_word")
        m.d.comb += [queue.push.eq(filled), Value.cast(queue.payload).eq(word)]
        connect(m, queue.o, flipped(self.o))
        return m


@dataclass(frozen=True)
class Loop:
    """One loop of the address generator: its iterations, and the position change of a step.

    Attributes:
        name: Name of the counter.
        count: Iterations.
        word: Words to advance.
        row: Rows to advance.
        column: Columns to advance.
    """

    name: str
    count: int
    word: int = 0
    row: int = 0
    column: int = 0


class AddressGenerator(Part):
    """Generate the addresses of all windows, frame after frame.

    Members:
        go: In, 1 bit: step at the end of this cycle.
        pixel_done: Out, 1 bit: this step leaves the current output pixel.
        advance: Out, signed: additional words that the next output pixel needs.
        valid: Out, 1 bit: there was a step in the previous cycle.
        address: Out: position of its word in the circular buffer.
        padded: Out, 1 bit: its word is outside of the image.
        freed: Out: words that are free from the next cycle on.

    Latency 1 from ``go`` to ``valid``, initiation interval 1.

    Args:
        geometry: Geometry of the window.
        depth: Words of the buffer.
        repeat: Number of times that each window (each block of a window) is sent.
        order: ``dense`` or ``channelwise``.
    """

    def __init__(self, geometry: Geometry, depth: int, repeat: int, order: Order) -> None:
        self.geometry = geometry
        self.depth = depth
        self.repeat = repeat
        self.order = order
        super().__init__(
            lambda: {
                "go": In(1),
                "pixel_done": Out(1),
                "advance": Out(_signed(geometry.words + geometry.needed[0])),
                "valid": Out(1),
                "address": Out(range(depth)),
                "padded": Out(1),
                "freed": Out(range(geometry.words + 1)),
            }
        )

    def loops(self) -> list[Loop]:
        """Return the loops, innermost first; the last one runs over frames endlessly."""
        g = self.geometry
        line = g.width * g.blocks
        blocks = Loop("block", g.blocks, word=1)
        window = [
            Loop("kernel_column", g.kernel[1], g.dilation[1] * g.blocks, 0, g.dilation[1]),
            Loop("kernel_row", g.kernel[0], g.dilation[0] * line, g.dilation[0], 0),
        ]
        repeat = Loop("repetition", self.repeat)
        return [
            *([blocks, *window, repeat] if self.order == "dense" else [*window, repeat, blocks]),
            Loop("column", g.out_width, g.stride[1] * g.blocks, 0, g.stride[1]),
            Loop("row", g.out_height, g.stride[0] * line, g.stride[0], 0),
            Loop("frame", 1, g.words),
        ]

    def steps(self) -> list[Loop]:
        """Return for each loop the position change of a step that restarts the loops inside it."""
        loops = self.loops()
        return [_step(loops, index) for index in range(len(loops))]

    def pieces(self) -> dict[str, list[int]]:
        """Return the words of a block that steps between output pixels release and need.

        ``frees`` and ``needs`` of a step to the next column, ``frees_row`` and ``needs_row`` to the
        next row.
        """
        g = self.geometry
        first, final = g.first_column, g.last_column
        back = final[-1] - final[0]
        return {
            "frees": [b - a for a, b in pairwise(first)],
            "frees_row": [max(r * g.width - first[-1], 0) for r in g.row_release],
            "needs": [b - a for a, b in pairwise(final)],
            "needs_row": [(b - a) * g.width - back for a, b in pairwise(g.last_row)],
        }

    @cached_property
    def logic(self) -> Logic:
        """Counters of all loops, the address, the place in a padded image, the words to release."""
        geometry = self.geometry
        address_bits = (self.depth - 1).bit_length()
        loops = [loop.count for loop in self.loops()[:-1] if loop.count > 1]
        counted = sum((count - 1).bit_length() for count in loops)
        counters = Logic(
            register=3 * address_bits + counted + len(loops),
            add=2 * address_bits + counted + 2,
            compare=address_bits + 1,
            test=14 + counted + 6 * len(loops),
            mux=address_bits,
        )
        release = geometry.words.bit_length()
        advance = (geometry.words + geometry.needed[0]).bit_length() + 1
        release_logic = Logic(register=release + 2 * advance)
        return total([counters, release_logic, *self._padding_logic(), *self._pixel_logic()])

    def _padding_logic(self) -> Iterator[Logic]:
        """Yield the counters of rows and columns that are padded."""
        geometry = self.geometry
        sizes = (geometry.height, geometry.width)
        for size, reach in zip(sizes, geometry.padded, strict=True):
            if reach != size:
                bits = (reach - 1).bit_length()
                yield Logic(2 * bits + 1, bits, bits + 1, 5, 4)

    def _pixel_logic(self) -> Iterator[Logic]:
        """Yield the counters that are a pixel ahead, and the logic that reads them."""
        geometry = self.geometry
        for size in (geometry.out_width, geometry.out_height):
            if size > 1:
                bits = (size - 1).bit_length()
                yield Logic(bits, add=bits, test=8 + bits)
        for name, values in self.pieces().items():
            size = geometry.out_height if name.endswith("row") else geometry.out_width
            ends = sum(a != b for a, b in pairwise(values))
            largest = max(map(abs, values), default=0) * geometry.blocks
            reached, selection_bits = ends * (size - 1).bit_length(), ends * largest.bit_length()
            yield Logic(compare=reached, mux=(reached + selection_bits) / 5)

    def elaborate(self, platform: object) -> Module:
        """Count the loops; a cycle later, add the position change of the outermost moving one."""
        m = Module()
        loops = self.loops()
        step = self.go
        last: list[Value] = []
        for loop in loops[:-1]:
            last.append(counter(m, step, loop.count, loop.name)[1])
            step = step & last[-1]
        steps = self.steps()
        m.d.comb += self.pixel_done.eq(self.go & reduce(and_, last[:4]))
        m.d.sync += self.valid.eq(self.go)
        self._move(m, last, [step.word for step in steps])
        g = self.geometry
        rows_padded, columns_padded = g.padding
        outside = [
            self._outside(m, "row", last, [s.row for s in steps], rows_padded[0], g.height),
            self._outside(m, "column", last, [s.column for s in steps], columns_padded[0], g.width),
        ]
        m.d.comb += self.padded.eq(outside[0] | outside[1])
        self._needs(m)
        return m

    def _move(self, m: Module, last: list[Value], words: list[int]) -> None:
        """Advance the address in the circular buffer."""
        g = self.geometry
        depth = self.depth
        # The first word is in the padding: before the first word of the frame.
        start = -(g.padding[0][0] * g.width + g.padding[1][0]) * g.blocks
        address = Signal(range(depth), init=start % depth)
        on = [word % depth for word in words]
        step = follow(m, _chosen(last, on, _signed(depth)), "step")
        back = follow(m, _chosen(last, [word - depth for word in on], _signed(depth)), "step_back")
        total = Signal(range(2 * depth))
        wrapped = Signal(_signed(2 * depth))
        m.d.comb += [
            self.address.eq(address),
            total.eq(address + step),
            wrapped.eq(address + back),
        ]
        with m.If(self.valid):
            m.d.sync += address.eq(Mux(wrapped < 0, total, wrapped))

    def _outside(
        self, m: Module, name: str, last: list[Value], steps: list[int], before: int, size: int
    ) -> Value:
        """Track the row (or column) in the padded image; return whether it is outside the image."""
        axis = 0 if name == "row" else 1
        reach = self.geometry.padded[axis]
        if reach == size:
            return Const(0)
        position = Signal(range(reach), name=f"padded_{name}")
        step = follow(m, _chosen(last, steps, _signed(reach)), f"{name}_step")
        with m.If(self.valid):
            m.d.sync += position.eq(position + step)
        result = Const(0)
        if before:
            result |= position < before
        if reach > before + size:
            result |= position >= before + size
        return result

    def _needs(self, m: Module) -> None:
        """Compute the words that the step to the next output pixel releases and needs.

        Both are computed during the previous pixel: the counters here are a pixel ahead.
        """
        g = self.geometry
        pieces = self.pieces()
        next_row = g.out_width == 1
        column, last_column = _ahead(m, self.pixel_done, g.out_width, "next_column", True)
        row, last_row = _ahead(m, self.pixel_done & last_column, g.out_height, "next_row", next_row)
        frees = [
            _piecewise(column, pieces["frees"], g.blocks),
            _piecewise(row, pieces["frees_row"], g.blocks),
        ]
        holds = _piecewise(row, [int(rows == 0) for rows in g.row_release])
        freed = Signal.like(self.freed, name="next_freed", init=g.released[0])
        needs = [
            _piecewise(column, pieces["needs"], g.blocks),
            _piecewise(row, pieces["needs_row"], g.blocks),
            Const(g.words + g.needed[0] - g.needed[-1], _signed(2 * g.words)),
        ]
        following = [*g.needed[1:], g.words + g.needed[0]]
        advance = Signal.like(self.advance, name="next_advance", init=following[0] - g.needed[0])
        with m.If(self.pixel_done):
            m.d.sync += [
                freed.eq(Mux(holds, 0, Mux(last_column, frees[1], frees[0]))),
                advance.eq(_outermost([last_column, last_row], needs)),
            ]
        m.d.comb += self.advance.eq(advance)
        m.d.sync += self.freed.eq(Mux(self.pixel_done, freed, 0))


def _ahead(m: Module, step: Value, rounds: int, name: str, started: bool) -> tuple[Value, Value]:
    """Return a counter that advances with ``step`` and wraps, and whether it is at its end.

    It begins one step ahead if ``started``.
    """
    if rounds == 1:
        return Const(0), Const(1)
    place = Signal(range(rounds), name=name, init=int(started))
    last = Signal(name=f"{name}_last", init=int(started) == rounds - 1)
    with m.If(step):
        m.d.sync += [place.eq(Mux(last, 0, place + 1)), last.eq(place == rounds - 2)]
    return place, last


def _chosen(last: list[Value], values: Sequence[int], shape: object) -> Value:
    """Return ``_outermost`` of ints in a common shape; a constant if they are all the same."""
    if len(set(values)) == 1:
        return Const(values[0], shape)
    return _outermost(last, [Const(value, shape) for value in values])


def _signed(magnitude: int) -> object:
    """Return the shape of signed values of at most ``magnitude``."""
    return signed(ceil_log2(magnitude + 1) + 1)


def _step(loops: list[Loop], index: int) -> Loop:
    """Return the position change of a step of one loop that restarts all loops inside it."""
    loop, inner = loops[index], loops[:index]
    return Loop(
        loop.name,
        loop.count,
        loop.word - sum((i.count - 1) * i.word for i in inner),
        loop.row - sum((i.count - 1) * i.row for i in inner),
        loop.column - sum((i.count - 1) * i.column for i in inner),
    )


def _outermost(last: list[Value], values: Sequence[Value | int]) -> Value:
    """Return the value of the loop that moves: the innermost one that is not at its end."""
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
