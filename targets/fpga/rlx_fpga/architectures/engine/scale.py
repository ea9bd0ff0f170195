"""The exact requantizer of the engine: constants arrive with every result."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.cells.pipe import follow
from rlx_fpga.cost.logic import Logic

LATENCY = 8
"""Cycles from ``total`` to ``code``."""

_PART = 17


class Requantizer(Component):
    """``clamp(rdpot(srdhm((total + bias) << left, multiplier), right) + zero_point)``.

    Members:
        total: In, int32.
        bias: In, int32.
        multiplier: In, Q0.31, not negative.
        left: In, left shift, modulo 2^32.
        right: In, right shift.
        zero_point: In, int8, constant for all results in flight; as are ``low`` and ``high``.
        low: In, int8.
        high: In, int8.
        code: Out, int8, ``LATENCY`` cycles later.

    Initiation interval 1. Four multipliers.
    """

    _MustUse__silence = True
    multipliers = 4

    logic = Logic(register=569, add=423, compare=132, test=55, mux=500)
    """All widths are fixed."""

    def __init__(self) -> None:
        super().__init__({
            "total": In(signed(32)), "bias": In(signed(32)), "multiplier": In(unsigned(31)),
            "left": In(5), "right": In(5), "zero_point": In(signed(8)), "low": In(signed(8)),
            "high": In(signed(8)), "code": Out(signed(8)),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        """Add, shift, multiply in four parts, round twice, clamp."""
        m = Module()

        def stage(value: Value, name: str, cycles: int = 1) -> Value:
            return follow(m, value, name, cycles)

        biased = stage((self.total + self.bias)[:32].as_signed(), "biased")
        shifted = stage((biased << stage(self.left, "left", 1))[:32].as_signed(), "shifted")
        factor = stage(self.multiplier, "multiplier", 2)
        low, high = _unsigned(shifted[:_PART]), shifted[_PART:].as_signed()
        factor_low, factor_high = _unsigned(factor[:_PART]), _unsigned(factor[_PART:])
        low_low = stage(low * factor_low, "low_low")
        middle_parts = (stage(low * factor_high, "low_high"), stage(high * factor_low, "high_low"))
        high_high = stage(high * factor_high, "high_high")
        # The lowest bits never carry into the added half.
        lower = stage((low_low >> _PART) + (1 << (30 - _PART)), "lower")
        middle = stage(middle_parts[0] + middle_parts[1], "middle")
        upper = stage(high_high, "upper", 1)
        doubled = stage(((upper << _PART) + middle + lower) >> (31 - _PART), "doubled")
        right = stage(self.right, "right", 5)
        half = Signal(31)
        m.d.comb += half.eq((Const(1) << right) >> 1)
        nudged = stage(doubled + half - (doubled[-1] & (half != 0)), "nudged")
        rounded = stage((nudged >> stage(right, "right_nudged", 1)) + self.zero_point, "rounded")
        clamped = Mux(rounded < self.low, self.low, Mux(rounded > self.high, self.high, rounded))
        m.d.sync += self.code.eq(clamped)
        return m


def _unsigned(value: Value) -> Value:
    return Cat(value, Const(0, 1)).as_signed()
