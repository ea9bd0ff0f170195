"""The arithmetic of one lane of a requantizer: product with a Q0.31 factor, rounding shift.

Tests: tests/targets/fpga/cells/test_proofs.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from amaranth import Array, Cat, Const, Module, Mux, Signal, Value, signed

from rlx.ops.numerics.fixed_point import Rounding
from rlx_fpga.cells.multiply import LATENCY, multiply
from rlx_fpga.cells.pipe import follow, register
from rlx_fpga.cells.scaling import FLOAT32_BITS, PART_BITS
from rlx_fpga.cost.logic import Logic

if TYPE_CHECKING:
    from rlx_fpga.cells.scaling import ChannelScaling, RoundingName

CODE_BITS: Final = 9
"""Bits of the magnitude of a result less its zero point."""

SERIAL_BITS: Final = {8: 4, 16: 2, 31: 1}
"""Bits of the factor in each cycle, by cycles of a beat, in lanes without a multiplier."""

ROUNDING_STAGES: Final = 2
"""Registers after the high part of the product: rounding offset added, shifted."""

FLOAT32_STAGES: Final = 4
"""The same in float32: the integer below, the test for halves in float32, the sum, the shift."""


def rounding_stages(rounding: RoundingName) -> int:
    """Return the registers after the high part of the product."""
    return FLOAT32_STAGES if rounding == "float32" else ROUNDING_STAGES


def lane_latency(scaling: ChannelScaling, beat_cycles: int, multipliers: int) -> int:
    """Return the cycles from an accumulator and its constants to the rounded value.

    Args:
        scaling: The constants.
        beat_cycles: Cycles of a beat.
        multipliers: Multipliers of the lane.
    """
    if not multipliers:
        product = 1 + beat_cycles + 1
    elif beat_cycles > 1:
        product = 1 + (beat_cycles - 1) + LATENCY + 1
    else:
        product = 1 + LATENCY + (2 if scaling.parts == 2 else 3)
    return product + rounding_stages(scaling.rounding)


class _Form(NamedTuple):
    """Bits of one form of a lane: ``constant + width * w + right * r`` of each kind.

    ``w`` is the accumulator's width, ``r`` that of a right shift amount. Conditions depend on
    neither; ``phases`` of them are common to all lanes.
    """

    register: tuple[int, int, int]
    add: tuple[int, int, int]
    compare: int
    test: int
    mux: tuple[int, int, int]
    phases: int


_FORMS: Final = {
    (2, 1): _Form((124, 9, 11), (62, 3, 0), 40, 14, (1, 1, 4), 16),
    (4, 1): _Form((262, 9, 19), (173, 2, 3), 62, 19, (0, 1, 20), 18),
    (2, 2): _Form((122, 5, 0), (68, 4, 0), 32, 27, (47, 3, 0), 29),
    (4, 4): _Form((137, 4, 7), (85, 3, 3), 32, 28, (52, 3, 6), 34),
    (0, 8): _Form((101, 7, 0), (54, 7, 0), 32, 31, (0, 1, 15), 37),
    (0, 16): _Form((100, 7, 0), (42, 5, 0), 32, 23, (0, 1, 15), 54),
    (0, 31): _Form((96, 6, 0), (39, 4, 0), 32, 14, (0, 1, 15), 85),
}
"""Forms of a lane, by parts of the product (0 without a multiplier) and cycles of a beat."""


def lane_logic(scaling: ChannelScaling, beat_cycles: int, *, serial: bool) -> tuple[Logic, Logic]:
    """Return the logic that all lanes share, and that of each lane, with its clamp.

    Args:
        scaling: The constants.
        beat_cycles: Cycles of a beat.
        serial: Lanes work without a multiplier.
    """
    form = _FORMS[0 if serial else scaling.parts, beat_cycles]
    sizes = np.array((1, scaling.width, scaling.right_bits))
    shift = scaling.right_bits * (16 + scaling.width) + scaling.left_bits * scaling.width
    lane = Logic(
        register=int(sizes @ form.register) + scaling.right_bits * scaling.width,
        add=int(sizes @ form.add),
        compare=form.compare + 2 * scaling.width,
        test=form.test + 5 * scaling.right_bits,
        mux=int(sizes @ form.mux) + shift,
    )
    if Rounding(scaling.rounding).to_parity is not None:
        # A bit for the dropped bits, down to the rounding, and the choice of the lowest bit.
        lane += Logic(register=5, add=2, test=scaling.base, mux=1 << scaling.right_bits)
    if scaling.rounding == "float32":
        # 24 bits more of the product, three times; the integer below and its flags.
        number = FLOAT32_BITS + CODE_BITS
        shifted = (number + CODE_BITS) * scaling.right_bits
        lane += Logic(register=4 * number, add=2 * number, test=4 * CODE_BITS, mux=shifted)
    return Logic(register=form.phases / 2, test=form.phases), lane


class Lane:
    """Builder of one lane's pipeline, which never stalls.

    Accumulator and constants of a beat are valid in the cycle in which ``taken`` is high; there are
    at least ``beat_cycles`` cycles from one beat to the next.

    Attributes:
        stages: Cycles from that cycle to the rounded value.
    """

    def __init__(
        self,
        m: Module,
        platform: object,
        index: int,
        scaling: ChannelScaling,
        beat_cycles: int,
        multipliers: int,
    ) -> None:
        self.m, self.platform, self.index = m, platform, index
        self.scaling, self.beat_cycles, self.serial = scaling, beat_cycles, not multipliers
        # ``double`` drops 31 bits of the product and rounds half up, the others drop all but one
        # fraction bit at the minimum shift. PART_BITS of them are dropped first: they never carry.
        # If halves are rounded to even or odd, one bit marks whether all dropped bits are 0; so
        # in float32, where all fraction bits stay that a product has in that type.
        double = scaling.rounding == "double"
        self.half = 1 << (30 - PART_BITS) if double else 0
        self.drop = 31 - PART_BITS if double else scaling.base - 1 - PART_BITS
        if scaling.rounding == "float32":
            self.drop = scaling.base - FLOAT32_BITS - PART_BITS
        self.parity = Rounding(scaling.rounding).to_parity
        self.counts_dropped = self.parity is not None or scaling.rounding == "float32"
        self.stages = lane_latency(scaling, beat_cycles, multipliers)

    def scaled(self, value: Value, constants: Value, accepted: Value) -> Value:
        """Return the scaled and rounded accumulator, ``stages`` later."""
        s = self.scaling
        if s.has_left:
            value = (value << constants[31 : 31 + s.left_bits])[: s.width].as_signed()
        enable = accepted if self.beat_cycles > 1 else Const(1)
        right = register(self.m, enable, constants[31 + s.left_bits :], self._name("right"))
        triple = value + (value << 1)
        value = register(self.m, enable, value, self._name("value"))
        if self.serial:
            triple = register(self.m, enable, triple, self._name("triple"))
            high = self._serial(value, triple, constants[:31], accepted)
        else:
            factor = register(self.m, enable, constants[:31], self._name("factor"))
            high = self._product(value, factor, accepted)
        # Constants are held until the last phase; from then on they are delayed with the product.
        since = self.stages - rounding_stages(self.scaling.rounding) - self.beat_cycles
        return self.rounded(high, self._follow(right, "right", since - 1))

    def rounded(self, high: Value, right: Value) -> Value:
        """Return the rounding shift of ``high``; ``right`` is a cycle ahead of it."""
        if self.parity is not None:
            return self._rounded_to_parity(high, right, self.parity)
        if self.scaling.rounding == "float32":
            return self._rounded_in_float32(high, right)
        up, down = self._nudges(right)
        right = self._follow(right, "right_high")
        nudge = Mux(high[-1], self._follow(down, "nudge_down"), self._follow(up, "nudge_up"))
        nudged = self._follow(high + nudge.as_signed(), "nudged")
        right = self._follow(right, "right_nudged")
        base = self.scaling.base if self.scaling.rounding == "double" else 1
        return self._follow((nudged >> base) >> right, "rounded")

    def _rounded_to_parity(self, high: Value, right: Value, parity: int) -> Value:
        """Return the rounding shift of ``high``, halves to integers of a parity.

        ``high`` has two fraction bits at the minimum shift, the lower one for all dropped bits. It
        is rounded up if the fraction is above a half, or is a half and the integer below has the
        wrong parity.
        """
        half = (Const(1) << 1) << right
        below = self._follow((half - 1)[: len(half)], "nudge")
        right = self._follow(right, "right_high")
        is_wrong = ((high >> 2) >> right)[0] ^ parity
        nudged = self._follow(high + Cat(below, Const(0, 1)).as_signed() + is_wrong, "nudged")
        right = self._follow(right, "right_nudged")
        return self._follow((nudged >> 2) >> right, "rounded")

    def _rounded_in_float32(self, high: Value, right: Value) -> Value:
        """Return the rounding shift of a product that is rounded to float32 first.

        ``high`` has ``FLOAT32_BITS`` fraction bits at the minimum shift, and a lower one for all
        dropped bits. A product is a half in float32 if it is as near to one as half of the last
        of its 24 bits, which depends on the number of bits of the integer below. It is then rounded
        to the even integer. Integers with more bits than results are clamped in any case.
        """
        right = self._follow(right, "right_high")
        fraction_bits = FLOAT32_BITS + 1
        below = ((high >> fraction_bits) >> right)[:CODE_BITS]
        magnitude = below ^ high[-1].replicate(CODE_BITS)
        # At the bit above the highest one, which is the lowest bit for 0.
        first = [magnitude[i] & ~magnitude[i + 1 :].any() for i in range(CODE_BITS)]
        near = self._follow(Cat(0, ~magnitude.any(), *first), "near")
        is_odd = self._follow(below[0], "odd")
        high, right = self._follow(high, "high_1"), self._follow(right, "right_1")
        half = Const(1 << FLOAT32_BITS)
        up = Mux(is_odd, half + near, half - near).as_unsigned()[:fraction_bits]
        nudge = self._follow(Cat(up << right, Const(0, 1)).as_signed() - ~is_odd, "nudge")
        high, right = self._follow(high, "high_2"), self._follow(right, "right_2")
        nudged = self._follow(high + nudge, "nudged")
        right = self._follow(right, "right_nudged")
        return self._follow((nudged >> fraction_bits) >> right, "rounded")

    def _high_part(self, product: Value, sticky: Value) -> Value:
        """Return the high part of a product without its lowest bits.

        Args:
            product: The product without its lowest ``PART_BITS`` bits.
            sticky: Whether any of these was 1.
        """
        high = product >> self.drop
        if not self.counts_dropped:
            return high
        if self.drop:
            sticky = product[: self.drop].any() | sticky
        return Cat(sticky, high).as_signed()

    def _nudges(self, right: Value) -> tuple[Value, Value]:
        """Return the rounding offsets of a right shift, for positive and for negative values."""
        if self.scaling.rounding == "single":
            up = Const(1) << right
            return Cat(up, Const(0, 1)), Cat(up, Const(0, 1))
        # Half away from zero: half of the divisor, minus one for negative values.
        half = ((Const(1) << self.scaling.base) << right) >> 1
        below = (((Const(1) << self.scaling.base) << right) - 1)[: len(half) + 1] >> 1
        return Cat(half, Const(0, 1)), Cat(below[: len(half)], Const(0, 1))

    def _phase(self, accepted: Value) -> Value:
        """Return the part of the product being computed, from the cycle after ``accepted`` on."""
        number = Signal(range(self.beat_cycles), name=self._name("phase"))
        if self.beat_cycles > 1:
            with self.m.If(accepted):
                self.m.d.sync += number.eq(0)
            with self.m.Else():
                self.m.d.sync += number.eq(number + 1)
        return number

    def _operands(self, value: Value, factor: Value) -> tuple[list[Value], list[Value]]:
        """Return the parts of both operands, low ones first; ``value`` may fit in one part."""
        factors = [_unsigned(factor[:PART_BITS]), _unsigned(factor[PART_BITS:])]
        if self.scaling.parts == 2:
            return [value], factors
        return [_unsigned(value[:PART_BITS]), value[PART_BITS:].as_signed()], factors

    def _product(self, value: Value, factor: Value, accepted: Value) -> Value:
        """Return the high part of the product, from one multiplier or several."""
        if self.beat_cycles > 1:
            return self._sequential(value, factor, self._phase(accepted))
        return self._parallel(value, factor)

    def _parallel(self, value: Value, factor: Value) -> Value:
        """Return the high part of the product."""
        values, factors = self._operands(value, factor)
        product = self._multiply(values[0], factors[0], "low_low")
        low_low, sticky = product >> PART_BITS, self._sticky_bit(product)
        low_high = self._multiply(values[0], factors[1], "low_high")
        if len(values) == 1:
            upper = self._follow(low_high + self.half, "upper")
            lower = self._follow(low_low, "lower")
            sticky = self._follow(sticky, "dropped")
            return self._follow(self._high_part(upper + lower, sticky), "high")
        high_low = self._multiply(values[1], factors[0], "high_low")
        high_high = self._multiply(values[1], factors[1], "high_high")
        middle = self._follow(low_high + high_low, "middle")
        lower = self._follow(low_low + self.half, "lower")
        sum_ = self._follow(middle + lower, "sum")
        upper = self._follow(high_high, "upper", 2)
        sticky = self._follow(sticky, "dropped", 2)
        return self._follow(self._high_part((upper << PART_BITS) + sum_, sticky), "high")

    def _sequential(self, value: Value, factor: Value, phase: Value) -> Value:
        """Return the same from one multiplier.

        Parts in order: low by low, low by high, high by low, high by high.
        """
        values, factors = self._operands(value, factor)
        value_part = Mux(phase[1], values[1], values[0]) if len(values) == 2 else values[0]
        product = self._multiply(
            value_part.as_signed(), Mux(phase[0], factors[1], factors[0]).as_signed(), "product"
        )
        part = self._follow(phase, "part", LATENCY)
        bits = len(value) + 31 - PART_BITS + 1
        total = Signal(signed(bits), name=self._name("total"), reset_less=True)
        sticky = Signal(name=self._name("dropped"), reset_less=True)
        with self.m.If(part == 0):
            self.m.d.sync += total.eq((product >> PART_BITS) + self.half)
            if self.counts_dropped:
                self.m.d.sync += sticky.eq(self._sticky_bit(product))
        with self.m.Elif(part == 3):
            self.m.d.sync += total.eq(total + (product << PART_BITS))
        with self.m.Else():
            self.m.d.sync += total.eq(total + product)
        return self._high_part(total, sticky)

    def _sticky_bit(self, product: Value) -> Value:
        """Return whether any of the lowest bits of a product is 1, if that matters."""
        return product[:PART_BITS].any() if self.counts_dropped else Const(0)

    def _serial(self, value: Value, triple: Value, factor: Value, accepted: Value) -> Value:
        """Return the same without a multiplier: bits of the factor in turn, low ones first.

        Bits of the product are shifted in as bits of the factor are shifted out. The next beat may
        load its factor while the last bits of this one are multiplied.
        """
        step = SERIAL_BITS[self.beat_cycles]
        upper = Signal(signed(len(value) + 1), name=self._name("upper_part"), reset_less=True)
        lower = Signal(step * self.beat_cycles, name=self._name("lower_part"), reset_less=True)
        total: Value = upper
        multiples = Array([Const(0), value, value << 1, triple])
        for bit in range(0, step, 2):
            multiple = multiples[lower[bit : bit + 2]] if step > 1 else Mux(lower[0], value, 0)
            total = total + (multiple << bit)
        product = Cat(lower[step:], total)[: len(lower) + len(upper)]
        with self.m.If(accepted):
            self.m.d.sync += [upper.eq(0), lower.eq(factor)]
        with self.m.Else():
            self.m.d.sync += Cat(lower, upper).eq(product)
        high = product[PART_BITS : len(value) + 31].as_signed()
        high = self._follow(high, "product")
        sticky = self._follow(self._sticky_bit(product), "dropped", 2)
        return self._high_part(self._follow(high + self.half, "product_half"), sticky)

    def _multiply(self, x: Value, y: Value, name: str) -> Value:
        return multiply(self.m, self.platform, x, y, self._name(name))

    def _follow(self, value: Value, name: str, stages: int = 1) -> Value:
        return follow(self.m, value, self._name(name), stages)

    def _name(self, name: str) -> str:
        return f"{name}_{self.index}"


def _unsigned(value: Value) -> Value:
    """Return an unsigned value as a signed one."""
    return Cat(value, Const(0, 1)).as_signed()
