"""Fixed-point multiplication over several cycles with one small multiplier."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

CYCLES = 6
"""Cycles from ``start`` to ``done``."""


class SequentialMultiply(wiring.Component):
    """Saturating rounding doubling high multiply, ``(a * b + 2^30) >> 31`` for int32.

    The one pair that would saturate, both -2^31, is not handled. Operands are split in halves of
    16 bits, so that every partial product fits a multiplier of 18 by 18 bits.

    Members:
        start: In, begin with the operands of this cycle; ignored while busy.
        a: In, int32, held by the caller until ``done``.
        b: In, int32, likewise.
        done: Out, high for one cycle, ``CYCLES`` after ``start``.
        result: Out, int32, valid from ``done`` until the next ``start``.

    Source: gemmlowp ``SaturatingRoundingDoublingHighMul`` (its two nudges and the truncation equal
    one rounding half up).
    """

    _MustUse__silence = True
    multipliers = 1

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "a": In(signed(32)),
                "b": In(signed(32)),
                "done": Out(1),
                "result": Out(signed(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Low by low, the two mixed products, high by high; one register on each product."""
        m = Module()
        step = Signal(range(CYCLES))
        product = Signal(signed(34))
        total = Signal(signed(50))
        a_high, b_high = Signal(), Signal()
        a_half, b_half = Signal(signed(17)), Signal(signed(17))
        m.d.comb += [
            a_high.eq((step == 1) | (step == 3)),
            b_high.eq((step == 2) | (step == 3)),
            a_half.eq(Mux(a_high, self.a[16:].as_signed(), self.a[:16])),
            b_half.eq(Mux(b_high, self.b[16:].as_signed(), self.b[:16])),
        ]
        m.d.sync += [product.eq(a_half * b_half), self.done.eq(step == CYCLES - 1)]
        with m.Switch(step):
            with m.Case(0):
                m.d.sync += step.eq(self.start)
            with m.Case(1):
                m.d.sync += [total.eq(product >> 16), step.eq(2)]
            with m.Case(2, 3):
                m.d.sync += [total.eq(total + product), step.eq(step + 1)]
            with m.Case(4):
                m.d.sync += [total.eq(total + (product << 16)), step.eq(5)]
            with m.Case(5):
                m.d.sync += [self.result.eq(((total >> 14) + 1) >> 1), step.eq(0)]
        return m
