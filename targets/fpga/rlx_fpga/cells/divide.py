"""Division of sums by counts, rounded half away from zero."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.multiply import has_blocks, multiply_moving
from rlx_fpga.cells.pipe import register
from rlx_fpga.cells.raster import Raster
from rlx_fpga.cells.sizes import index_signal
from rlx_fpga.cells.streams import Cell, stream_of
from rlx_fpga.cost.logic import Logic, counter, total

if TYPE_CHECKING:
    from collections.abc import Sequence

MULTIPLIER_BITS = 18


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """A multiplication and a shift that replace a division.

    Attributes:
        factor: Integer near ``2^shift / divisor``.
        shift: Bits to drop from the product.
    """

    factor: int
    shift: int


def reciprocals(divisors: Sequence[int], bounds: Sequence[int]) -> list[Reciprocal]:
    """Return pairs with ``(n * factor) >> shift == n // divisor`` for all 0 <= n <= bound.

    All pairs get the same shift, the smallest that works for all.

    With ``factor = ceil(2^shift / divisor)`` and ``excess = factor * divisor - 2^shift`` it is
    ``n * factor / 2^shift = n / divisor + n * excess / (divisor * 2^shift)``. The fraction of
    ``n / divisor`` is at most ``1 - 1 / divisor``, so the whole part is right as long as
    ``n * excess < 2^shift``, which holds for all n if it does for the bound.
    """
    if min(divisors, default=0) < 1 or min(bounds) < 0:
        msg = f"expected positive divisors and bounds, got {divisors} and {bounds}"
        raise ValueError(msg)
    shift = 0
    while True:
        power = 1 << shift
        factors = [-(-power // divisor) for divisor in divisors]
        triples = zip(factors, divisors, bounds, strict=True)
        if all(bound * (factor * divisor - power) < power for factor, divisor, bound in triples):
            return [Reciprocal(factor, shift) for factor in factors]
        shift += 1


class Divide(Cell):
    """``y = clamp(round(x / count) + zero_point)``, halves away from zero.

    The count may depend on the pixel, as it does for pools whose windows reach over the edge:
    pixel (h, w) has ``rows[h] * columns[w]``.

    Members:
        i: In, ``lanes`` times int ``width``; frames of rows x columns x ``pixel_beats`` beats.
        o: Out, ``lanes`` times int8.

    Latency 6, initiation interval 1. One multiplication a lane, unless all counts are powers of
    two.

    Source: tflite-micro ``reference_integer_ops::AveragePool`` (the rounding).
    """

    latency = 6

    def __init__(
        self,
        lanes: int,
        width: int,
        rows: Sequence[int],
        columns: Sequence[int] = (1,),
        *,
        bound: int | None = None,
        pixel_beats: int = 1,
        zero_point: int = 0,
        low: int = -128,
        high: int = 127,
    ) -> None:
        """Take the geometry; ``bound`` is the maximum magnitude of a sum (default: any)."""
        self.lanes, self.width = lanes, width
        self.rows, self.columns, self.pixel_beats = tuple(rows), tuple(columns), pixel_beats
        self.zero_point, self.low, self.high = zero_point, low, high
        self.counts = sorted({row * column for row in rows for column in columns})
        maximum = 1 << (width - 1) if bound is None else bound
        self.bounds = [maximum + count // 2 for count in self.counts]
        self.factors = reciprocals(self.counts, self.bounds)
        self.multipliers = lanes * _multiplier_count(
            max(self.bounds).bit_length(), [one.factor for one in self.factors]
        )
        super().__init__({"i": In(stream_of(lanes, width)), "o": Out(stream_of(lanes))})

    @cached_property
    def logic(self) -> Logic:
        """Magnitude, numerator, product, quotient and clamped result; the counts of pixels."""
        size = max(self.bounds).bit_length()
        factor = max(one.factor for one in self.factors).bit_length()
        quotient = max(b // n for b, n in zip(self.bounds, self.counts, strict=True)).bit_length()
        half = max(self.counts).bit_length()
        lane = Logic(
            register=self.width + 2 * size + factor + quotient + 21,
            add=self.width + size + quotient + 8,
            compare=2 * quotient,
            mux=self.width + 3 * quotient,
        )
        selection_bits = 0 if len(self.counts) == 1 else 2 * factor + half
        shared = Logic(register=self.latency + selection_bits, test=8 + selection_bits)
        sizes = (len(self.rows), len(self.columns), self.pixel_beats) if selection_bits else ()
        return total([lane.times(self.lanes), shared, *map(counter, sizes)])

    def elaborate(self, platform: object) -> Module:
        """Six registers: magnitude, numerator, product, quotient, clamped, with zero point."""
        m = Module()
        move = Signal()
        m.d.comb += [move.eq(~self.o.valid | self.o.ready), self.i.ready.eq(move)]
        valid = self.i.valid
        for stage in range(self.latency):
            valid = register(m, move, valid, f"valid_{stage + 1}", reset=True)
        m.d.comb += self.o.valid.eq(valid)
        half = index_signal(max(self.counts) // 2 + 1)
        factor = Signal(range(max(one.factor for one in self.factors) + 1))
        self._select(m, move & self.i.valid, half, factor)
        half = register(m, move, half, "half_1")
        in_block = bool(self.multipliers) and has_blocks(platform)
        for stage in range(1 if in_block else 2):
            factor = register(m, move, factor, f"factor_{stage + 1}")
        for lane in range(self.lanes):
            self._lane(m, platform if in_block else None, move, lane, (half, factor))
        return m

    def _select(self, m: Module, step: Value, half: Signal, factor: Signal) -> None:
        """Choose half the count and the reciprocal for the pixel of the next beat."""
        raster = Raster(m, (len(self.rows), len(self.columns), self.pixel_beats), step)
        row = _value_at(m, raster.index[0], self.rows, "row_count")
        column = _value_at(m, raster.index[1], self.columns, "column_count")
        positions = sorted({(r, c) for r in self.rows for c in self.columns})
        which = dict(zip(self.counts, self.factors, strict=True))
        for r, c in positions:
            with m.If((row == r) & (column == c)):
                m.d.comb += [half.eq(r * c // 2), factor.eq(which[r * c].factor)]

    def _lane(
        self, m: Module, blocks: object, move: Value, lane: int, constants: tuple[Value, Value]
    ) -> None:
        """Build a lane; ``blocks`` is the platform if its product is an instance with registers."""
        half, factor = constants

        def stage(value: Value, name: str) -> Value:
            return register(m, move, value, f"{name}{lane}")

        size = max(self.bounds).bit_length()
        total = self.i.payload[lane]
        negative = total < 0
        magnitude = stage(Mux(negative, -total, total)[: len(total)], "magnitude")
        numerator = (magnitude + half)[:size]
        if blocks is None:
            product = stage(stage(numerator, "numerator") * factor, "product")
        else:
            product = multiply_moving(m, blocks, numerator, factor, f"product{lane}", move=move)
        for delay in range(3):
            negative = stage(negative, f"negative_{delay}_")
        pairs = zip(self.bounds, self.counts, strict=True)
        bits = max(bound // count for bound, count in pairs).bit_length()
        quotient = product[self.factors[0].shift :][:bits]
        signed_quotient = stage(Mux(negative, -quotient, quotient), "quotient")
        low, high = self.low - self.zero_point, self.high - self.zero_point
        code = stage(clamp(signed_quotient, low, high), "clamped") + self.zero_point
        m.d.comb += self.o.payload[lane].eq(stage(code[:8], "code"))


def clamp(value: Value, low: int, high: int) -> Value:
    """Return ``value`` limited to [low, high]."""
    return Mux(value < low, low, Mux(value > high, high, value))


def _value_at(m: Module, index: Value, values: Sequence[int], name: str) -> Signal:
    """Return ``values[index]``; the most frequent value needs no decoding."""
    usual = max(sorted(set(values)), key=values.count)
    entry = Signal(range(max(values) + 1), name=name)
    m.d.comb += entry.eq(usual)
    for value in sorted(set(values) - {usual}):
        indices = [place for place, one in enumerate(values) if one == value]
        with m.If(functools.reduce(operator.or_, (index == place for place in indices))):
            m.d.comb += entry.eq(value)
    return entry


def _multiplier_count(size: int, factors: Sequence[int]) -> int:
    """Return the number of 18 by 18 bit multipliers for the product with one of ``factors``."""
    if all(factor & (factor - 1) == 0 for factor in factors) and len(set(factors)) == 1:
        return 0
    bits = max(factor.bit_length() for factor in factors)
    return math.ceil(size / MULTIPLIER_BITS) * math.ceil(bits / MULTIPLIER_BITS)
