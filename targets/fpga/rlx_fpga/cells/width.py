"""Change the number of lanes of a stream."""

from __future__ import annotations

import math
from functools import cached_property

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from rlx_fpga.cells.streams import Cell, raw, require_divisor, stream_of
from rlx_fpga.cost.logic import Logic, total


class WidthConverter(Cell):
    """Regroup the channels of every pixel: beats of ``lanes_in`` become beats of ``lanes_out``.

    Both must divide ``channels``. If neither divides the other, the stream is first converted to
    beats of their least common multiple, which divides ``channels`` too.

    Members:
        i: In, ``lanes_in`` times int ``width``.
        o: Out, ``lanes_out`` times int ``width``.

    Latency 1 for each step (0 if the widths are equal: then it is wires only). Initiation interval
    1 for the side with fewer lanes.
    """

    def __init__(self, lanes_in: int, lanes_out: int, channels: int, width: int = 8) -> None:
        require_divisor(lanes_in, channels)
        require_divisor(lanes_out, channels)
        self.steps = conversion_steps(lanes_in, lanes_out)
        self.parts: dict[str, Gather | Scatter] = {
            f"step{index}": (Gather if after > before else Scatter)(before, after, width)
            for index, (before, after) in enumerate(self.steps)
        }
        self.latency = len(self.steps)
        super().__init__(
            {"i": In(stream_of(lanes_in, width)), "o": Out(stream_of(lanes_out, width))}
        )

    @cached_property
    def logic(self) -> Logic:
        """That of the steps."""
        return total(step.logic for step in self.parts.values())

    def elaborate(self, platform: object) -> Module:
        """Chain the steps."""
        m = Module()
        previous = flipped(self.i)
        for name, step in self.parts.items():
            m.submodules[name] = step
            connect(m, previous, step.i)
            previous = step.o
        connect(m, previous, flipped(self.o))
        return m


def conversion_steps(lanes_in: int, lanes_out: int) -> list[tuple[int, int]]:
    """Return the integer-ratio conversions from one width to the other."""
    if lanes_in == lanes_out:
        return []
    middle = math.lcm(lanes_in, lanes_out)
    if middle in (lanes_in, lanes_out):
        return [(lanes_in, lanes_out)]
    return [(lanes_in, middle), (middle, lanes_out)]


class Gather(Cell):
    """Collect ``lanes_out / lanes_in`` beats into one.

    Members:
        i: In, ``lanes_in`` times int ``width``.
        o: Out, ``lanes_out`` times int ``width``.

    Latency 1 after the last beat of a group, initiation interval 1 for ``i``.
    """

    def __init__(self, lanes_in: int, lanes_out: int, width: int = 8) -> None:
        require_divisor(lanes_in, lanes_out)
        self.ratio = lanes_out // lanes_in
        self.bits = lanes_out * width
        super().__init__(
            {"i": In(stream_of(lanes_in, width)), "o": Out(stream_of(lanes_out, width))}
        )

    @cached_property
    def logic(self) -> Logic:
        """A shift register and a counter."""
        count = self.ratio.bit_length()
        return Logic(register=self.bits + count, add=count, test=16 + count, mux=1)

    def elaborate(self, platform: object) -> Module:
        """Shift beats in from above until the first one has arrived at the bottom."""
        m = Module()
        word, beat = raw(self.o), raw(self.i)
        collected = Signal(len(word))
        count = Signal(range(self.ratio + 1))
        full = Signal()
        m.d.comb += [
            full.eq(count == self.ratio),
            self.i.ready.eq(~full | self.o.ready),
            self.o.valid.eq(full),
            word.eq(collected),
        ]
        accepted = self.i.valid & self.i.ready
        sent = full & self.o.ready
        with m.If(accepted):
            m.d.sync += collected.eq(Cat(collected[len(beat) :], beat))
        with m.If(sent):
            m.d.sync += count.eq(accepted)
        with m.Elif(accepted):
            m.d.sync += count.eq(count + 1)
        self.internals = {"collected": collected, "count": count}
        return m


class Scatter(Cell):
    """Send the parts of a beat one after the other, lowest lanes first.

    Members:
        i: In, ``lanes_in`` times int ``width``.
        o: Out, ``lanes_out`` times int ``width``.

    Latency 1, initiation interval 1 for ``o``.
    """

    def __init__(self, lanes_in: int, lanes_out: int, width: int = 8) -> None:
        require_divisor(lanes_out, lanes_in)
        self.ratio = lanes_in // lanes_out
        self.bits = lanes_in * width
        super().__init__(
            {"i": In(stream_of(lanes_in, width)), "o": Out(stream_of(lanes_out, width))}
        )

    @cached_property
    def logic(self) -> Logic:
        """A register that is loaded or shifted, and a counter."""
        count = self.ratio.bit_length()
        chosen = self.bits - self.bits // self.ratio
        return Logic(register=self.bits + count, add=count, test=13 + 3 * count, mux=chosen)

    def elaborate(self, platform: object) -> Module:
        """Load a beat, then shift it out."""
        m = Module()
        part = raw(self.o)
        rest = Signal(len(raw(self.i)))
        left = Signal(range(self.ratio + 1))
        m.d.comb += [
            self.o.valid.eq(left != 0),
            self.i.ready.eq((left == 0) | ((left == 1) & self.o.ready)),
            part.eq(rest[: len(part)]),
        ]
        with m.If(self.i.ready):
            m.d.sync += [rest.eq(raw(self.i)), left.eq(Mux(self.i.valid, self.ratio, 0))]
        with m.Elif(self.o.ready):
            m.d.sync += [rest.eq(rest[len(part) :]), left.eq(left - 1)]
        self.internals = {"rest": rest, "left": left}
        return m
