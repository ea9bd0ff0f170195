"""Fixed-point multiplication over several cycles with one small multiplier."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rlx_fpga.cells.multiply import LATENCY, multiply

CYCLES = 1 + LATENCY + 5
"""Cycles from ``start`` to ``done``."""


class SequentialMultiply(wiring.Component):
    """Saturating rounding doubling high multiply, ``(a * b + 2^30) >> 31`` for int32.

    The one pair that would saturate, both -2^31, is not handled. Operands are split into halves of
    16 bits: every partial product fits an 18 by 18 bit multiplier.

    Members:
        start: In, begin with the operands of this cycle; ignored while busy.
        a: In, int32, held by the caller until ``done``.
        b: In, int32, likewise.
        done: Out, high for one cycle, ``CYCLES`` after ``start``.
        result: Out, int32, valid from ``done`` until the next ``start``.

    Latency and initiation interval: ``CYCLES``.

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
        """Low by low, high by low, low by high, high by high, one product after the other."""
        m = Module()
        step = Signal(range(CYCLES))
        total = Signal(signed(50))
        a_high = Signal()
        b_high = Signal()
        a_half = Signal(signed(17))
        b_half = Signal(signed(17))
        m.d.comb += [
            a_high.eq((step == 2) | (step == 4)),
            b_high.eq((step == 3) | (step == 4)),
            a_half.eq(Mux(a_high, self.a[16:].as_signed(), self.a[:16])),
            b_half.eq(Mux(b_high, self.b[16:].as_signed(), self.b[:16])),
        ]
        product = multiply(m, platform, a_half, b_half, "product")
        m.d.sync += self.done.eq(step == CYCLES - 1)
        with m.If(step == 0):
            m.d.sync += step.eq(self.start)
        with m.Else():
            m.d.sync += step.eq(Mux(step == CYCLES - 1, 0, step + 1))
        first = 1 + LATENCY
        with m.Switch(step):
            with m.Case(first):
                m.d.sync += total.eq(product >> 16)
            with m.Case(first + 1, first + 2):
                m.d.sync += total.eq(total + product)
            with m.Case(first + 3):
                m.d.sync += total.eq(total + (product << 16))
            with m.Case(first + 4):
                m.d.sync += self.result.eq(((total >> 14) + 1) >> 1)
        return m
