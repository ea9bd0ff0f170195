"""The exact requantizer of the engine: constants arrive with every result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib.wiring import Component, In, Out

from rlx.ops.numerics.fixed_point import Rounding
from rlx_fpga.cells.multiply import has_blocks, multiply_moving
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cost.logic import Logic

if TYPE_CHECKING:
    from collections.abc import Callable

LATENCY = 8
"""Cycles from ``total`` to ``code``."""

ROUNDINGS: Final = {Rounding.DOUBLE: 0, Rounding.SINGLE: 1, Rounding.EVEN: 2, Rounding.ODD: 3}
"""Codes of roundings in instructions."""

# 17 unsigned bits fit the 18 signed ones of `multiply`; instances of blocks split at 16 bits.
_PART: Final = 17
_BLOCK_PART: Final = 16


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

    fixed: tuple[str, ...] = ("zero_point", "low", "high")
    """Members that come from the instruction."""

    def __init__(self) -> None:
        super().__init__({
            **self._more_members(),
            "total": In(signed(32)), "bias": In(signed(32)), "multiplier": In(unsigned(31)),
            "left": In(5), "right": In(5), "zero_point": In(signed(8)), "low": In(signed(8)),
            "high": In(signed(8)), "code": Out(signed(8)),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        """Add, shift, multiply in four parts, round, clamp."""
        m = Module()

        def stage(value: Value, name: str, cycles: int = 1) -> Value:
            return follow(m, value, name, cycles)

        biased = stage((self.total + self.bias)[:32].as_signed(), "biased")
        shifted = (biased << stage(self.left, "left", 1))[:32].as_signed()
        if has_blocks(platform):
            parts = _in_blocks(m, platform, shifted, stage(self.multiplier, "multiplier", 1))
        else:
            parts = _products(stage, shifted, self.multiplier)
        # The lowest bits never carry into the added half.
        half = self._half(1 << (30 - parts.bits))
        lower = stage((parts.low_low >> parts.bits) + half, "lower")
        middle = stage(parts.low_high + parts.high_low, "middle")
        upper = stage(parts.high_high, "upper", 1)
        product = (upper << parts.bits) + middle + lower
        shifted_back = self._shifted_back(m, stage, product, parts)
        rounded = stage(shifted_back + self.zero_point, "rounded")
        clamped = Mux(rounded < self.low, self.low, Mux(rounded > self.high, self.high, rounded))
        m.d.sync += self.code.eq(clamped)
        return m

    def _more_members(self) -> dict[str, Any]:
        """Return further members."""
        return {}

    def _half(self, half: int) -> Value:
        """Return the offset that is added to the product for the first rounding."""
        return Const(half)

    def _shifted_back(
        self, m: Module, stage: Callable[..., Value], product: Value, parts: _Parts
    ) -> Value:
        """Return the product, without its ``parts.bits`` lowest bits, shifted right and rounded."""
        doubled = stage(product >> (31 - parts.bits), "doubled")
        right = stage(self.right, "right", 5)
        half = Signal(31)
        m.d.comb += half.eq((Const(1) << right) >> 1)
        nudged = stage(doubled + half - (doubled[-1] & (half != 0)), "nudged")
        shifted: Value = nudged >> stage(right, "right_nudged", 1)
        return shifted


class AnyRounding(Requantizer):
    """``clamp(round((total + bias) * multiplier * 2^(left - right - 31)) + zero_point)``.

    Instructions select the rounding of the product.

    Members:
        rounding: In, one of the codes in ``ROUNDINGS``, constant for all results in flight.

    The others are those of ``Requantizer``, as are latency, interval and multipliers.
    """

    logic = Requantizer.logic + Logic(register=57)
    """All widths are fixed."""

    fixed = (*Requantizer.fixed, "rounding")

    def _more_members(self) -> dict[str, Any]:
        return {"rounding": In(2)}

    @property
    def _is_twice(self) -> Value:
        """Whether the product is rounded twice."""
        is_twice: Value = self.rounding == ROUNDINGS[Rounding.DOUBLE]
        return is_twice

    def _half(self, half: int) -> Value:
        return Mux(self._is_twice, half, 0)

    def _shifted_back(
        self, m: Module, stage: Callable[..., Value], product: Value, parts: _Parts
    ) -> Value:
        """Keep two fraction bits, the lower one for all that is dropped, and round.

        In a product that is rounded twice, both are 0.
        """
        drop = 30 - parts.bits
        is_rest = stage(parts.low_low[: parts.bits].any(), "is_rest") | product[:drop].any()
        rounding_input = stage(Cat(is_rest, product >> drop).as_signed(), "kept")
        early = stage(self.right, "right", 4)
        # Half a unit minus one step: it rounds up fractions above a half.
        below = stage(~(Const(-2, 33) << early)[:33], "below")
        right = stage(early, "right_kept", 1)
        odd = ((rounding_input >> 2) >> right)[0]
        up = Array([~rounding_input[-1], Const(1), odd, ~odd])[self.rounding]
        whole = Cat(rounding_input[:2] & ~self._is_twice.replicate(2), rounding_input[2:])
        # One adder: the carry comes from a bit below.
        carried = Cat(Const(1), whole).as_signed() + _unsigned(Cat(up, below))
        nudged = stage(carried >> 1, "nudged")
        shifted: Value = (nudged >> 2) >> stage(right, "right_nudged", 1)
        return shifted


class _Parts(NamedTuple):
    """The products of the low and high parts of two operands; ``bits`` are in a low one."""

    bits: int
    low_low: Value
    low_high: Value
    high_low: Value
    high_high: Value


def _products(stage: Callable[..., Value], value: Value, multiplier: Value) -> _Parts:
    """Return the products of signed parts, two registers after ``value``."""
    shifted = stage(value, "shifted")
    factor = stage(multiplier, "multiplier", 2)
    low, high = _unsigned(shifted[:_PART]), shifted[_PART:].as_signed()
    factor_low, factor_high = _unsigned(factor[:_PART]), _unsigned(factor[_PART:])
    low_low = stage(low * factor_low, "low_low")
    middle = (stage(low * factor_high, "low_high"), stage(high * factor_low, "high_low"))
    return _Parts(_PART, low_low, *middle, stage(high * factor_high, "high_high"))


def _in_blocks(m: Module, platform: object, value: Value, factor: Value) -> _Parts:
    """Return the same from DSP slices, which contain both registers: no part is too wide for one.

    ``factor`` is in a register before them.
    """
    shifted = Signal(signed(32))
    m.d.comb += shifted.eq(value)
    values = {"low": shifted[:_BLOCK_PART], "high": shifted[_BLOCK_PART:].as_signed()}
    factors = {"low": factor[:_BLOCK_PART], "high": factor[_BLOCK_PART:]}
    return _Parts(
        _BLOCK_PART,
        *(
            multiply_moving(m, platform, x, y, f"{one}_{other}", move=Const(1))
            for one, x in values.items()
            for other, y in factors.items()
        ),
    )


def _unsigned(value: Value) -> Value:
    return Cat(value, Const(0, 1)).as_signed()
