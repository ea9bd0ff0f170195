"""Products in the DSP slices of a device, with the registers that slices have inside.

A slice is fast only if its own registers are used: one behind each operand, one in the middle, one
behind the product. ``multiply`` is a product with these three stages and one more register, because
slices are in a few columns of a device, far from most of the logic that reads their products. It
builds:

- for Amaranth's simulator, registers and a product;
- in a netlist, an instance of a small module (``multiply.v.j2``): on ECP5, where Yosys does not
  pack the registers, the primitive itself; elsewhere, and for simulators, registers around a
  product, which synthesis packs into the slice.

LUT multipliers take further products when DSP slices run out.

A slice often has space for two int8 products (``Packing``):

- AMD's multiply 25 (or 27) by 18 bits, and add: ``(y1 * 2^16 + y0) * x + 2^15`` is
  ``x * y1 * 2^16 + (x * y0 + 2^15)``, and the term in brackets is between 0 and 2^16 - 1: it never
  borrows from the upper product. So both products with ``x`` are bit slices of the result, without
  any correction; the slice does the addition itself. The wide factor is stored in weight memory
  (``pack_factors``), without the copies of y0's sign.
- iCE40's multiply 8 by 8 bits, twice.
- ECP5's multiply 18 by 18 bits. Two int8 products are 32 bits wide and need a factor of at least 24
  bits, so each product gets a slice of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np
from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal, Value, signed

from rlx_fpga.cells.pipe import follow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amaranth.hdl import Fragment
    from amaranth.lib.memory import Memory

    from rlx_fpga.cells.constants import Constants
    from rlx_fpga.cells.rom import Integers

BLOCK_LATENCY: Final = 3
"""Latency of the modules that multiply."""

LATENCY: Final = BLOCK_LATENCY + 1
"""Cycles from the operands to the registered product."""

BLOCK_BITS: Final = 18
"""Bits of a signed operand that the DSP slices of every family accept."""

WIDE_BITS: Final = 25
"""Bits of the wide operand, where a slice multiplies a value by two factors."""

LOGIC_BITS: Final = 8
"""Maximum bits of the second operand of a LUT multiplier."""

PACKED_BITS: Final = 8
"""Maximum bits of both operands of packed products."""


class Packing(StrEnum):
    """How two products share a DSP slice.

    ``NONE``: not at all. ``SHARED_OPERAND``: products with an operand in common. ``INDEPENDENT``:
    any two.
    """

    NONE = "none"
    SHARED_OPERAND = "shared"
    INDEPENDENT = "dual"


PACKINGS: Final[Mapping[str, Packing]] = {
    "ecp5": Packing.NONE,
    "ice40": Packing.INDEPENDENT,
    "xc7": Packing.SHARED_OPERAND,
    "xcup": Packing.SHARED_OPERAND,
}
"""What the DSP slices of each family can do."""


_MAC16_BITS: Final = 16
"""Bits of an operand of SB_MAC16, signed or not."""

_MAC16_MIN: Final = 11
"""Minimum bits of a product for which Yosys uses an SB_MAC16."""


def blocks_of(x: int, y: int, family: str) -> int:
    """Return the DSP slices that the product of signed numbers of x and y bits takes.

    Where slices are narrower than ``BLOCK_BITS``, Yosys splits wider operands (``mul2dsp.v``);
    small parts become LUTs.
    """
    return _mac16(max(x, y), min(x, y), x + y) if family == "ice40" else 1


def _mac16(x: int, y: int, bits: int) -> int:
    if min(x, y) < 2 or bits < _MAC16_MIN:
        return 0
    if x > _MAC16_BITS:
        count = -(-(x - _MAC16_BITS) // _MAC16_BITS)
        last = x - count * _MAC16_BITS
        first = _mac16(_MAC16_BITS, y, min(bits, y + _MAC16_BITS))
        return count * first + _mac16(last, y, y + last)
    # The same for the other operand.
    return _mac16(y, x, bits) if y > _MAC16_BITS else 1


@dataclass(frozen=True, slots=True)
class NetlistPlatform:
    """The platform (in Amaranth's sense) with which netlists are elaborated.

    Attributes:
        prefix: Prefix of the names of separate modules.
        memories: Replaces read-only memories; None to keep their words in the netlist.
    """

    prefix: str
    memories: Constants | None = None

    def module(self, *, logic: bool) -> str:
        """Return the name of the module that multiplies."""
        return f"{self.prefix}_multiply" + ("_logic" if logic else "")

    @property
    def ram(self) -> str:
        """Name of the module of a single-port memory."""
        return f"{self.prefix}_ram"

    def packed(self, packing: Packing) -> str:
        """Return the name of the module for two products in a slice."""
        return f"{self.prefix}_multiply_{packing.value}"

    def get_memory(self, memory: Memory) -> Fragment:
        """Return the fragment of a memory; Amaranth calls this for each."""
        taken = None if self.memories is None else self.memories.take(memory)
        return memory.elaborate(None) if taken is None else taken


def multiply(
    m: Module, platform: object, x: Value, y: Value, name: str, *, logic: bool = False
) -> Value:
    """Return ``x * y``, as they were ``LATENCY`` cycles ago.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``: a ``NetlistPlatform``, or None for a simulation.
        x: Signed, at most ``BLOCK_BITS`` bits.
        y: Likewise; at most ``LOGIC_BITS`` bits for a LUT multiplier.
        name: Name of the instance, and prefix of signals.
        logic: Use a LUT multiplier.
    """
    assert x.shape().signed == y.shape().signed is True, "operands must be signed"
    assert max(len(x), len(y)) <= BLOCK_BITS
    assert not logic or len(y) <= LOGIC_BITS
    if not isinstance(platform, NetlistPlatform):
        x, y = follow(m, x, f"{name}_x"), follow(m, y, f"{name}_y")
        return follow(m, x * y, name, LATENCY - 1)
    product = Signal(signed(len(x) + len(y)), name=f"{name}_product")
    m.submodules[name] = Instance(
        platform.module(logic=logic),
        p_X=len(x),
        p_Y=len(y),
        i_clk=ClockSignal(),
        i_x=x,
        i_y=y,
        o_z=product,
    )
    return follow(m, product, f"{name}_held")


def multiply_each(
    m: Module,
    platform: object,
    operands: Mapping[str, tuple[Value, Value]],
    *,
    logic: int = 0,
    packing: Packing = Packing.NONE,
) -> list[Value]:
    """Return the products of all ``operands``, by name.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``.
        operands: As those of ``multiply``; if packed, of at most ``PACKED_BITS`` bits.
        logic: Number of LUT multipliers, used for the first products.
        packing: ``INDEPENDENT`` to compute two of the others in a slice.
    """
    names = list(operands)
    products = [multiply(m, platform, *operands[name], name, logic=True) for name in names[:logic]]
    rest = names[logic:]
    paired = len(rest) - len(rest) % 2 if packing is Packing.INDEPENDENT else 0
    for one, other in zip(rest[:paired:2], rest[1:paired:2], strict=True):
        products += multiply_dual(m, platform, operands[one], operands[other], one)
    return products + [multiply(m, platform, *operands[name], name) for name in rest[paired:]]


def multiply_dual(
    m: Module, platform: object, one: tuple[Value, Value], other: tuple[Value, Value], name: str
) -> tuple[Value, Value]:
    """Return two products, as they were ``LATENCY`` cycles ago, from one slice.

    Operands are signed and have at most ``PACKED_BITS`` bits.
    """
    assert max(len(value) for value in (*one, *other)) <= PACKED_BITS
    if not isinstance(platform, NetlistPlatform):
        return multiply(m, None, *one, name), multiply(m, None, *other, f"{name}_other")
    wide = [Signal(signed(PACKED_BITS), name=f"{name}_operand_{index}") for index in range(4)]
    m.d.comb += [signal.eq(value) for signal, value in zip(wide, (*one, *other), strict=True)]
    products = [
        Signal(signed(2 * PACKED_BITS), name=f"{name}_product_{index}") for index in range(2)
    ]
    m.submodules[name] = Instance(
        platform.packed(Packing.INDEPENDENT),
        i_clk=ClockSignal(),
        i_x0=wide[0],
        i_y0=wide[1],
        i_x1=wide[2],
        i_y1=wide[3],
        o_z0=products[0],
        o_z1=products[1],
    )
    low, high = (
        follow(m, product[: len(x) + len(y)].as_signed(), f"{name}_held_{index}")
        for index, (product, (x, y)) in enumerate(zip(products, (one, other), strict=True))
    )
    return low, high


def pack_factors(factors: Integers) -> Integers:
    """Return pairs of factors as they are stored: the second minus one if the first is negative.

    Concatenated with the sign-extended first factor, it gives ``second * 2^n + first``.

    Args:
        factors: [..., factors, terms]: factors of a pair are adjacent; a last odd one is kept.
    """
    found = factors.astype(np.int64)
    pairs = found.shape[-2] // 2
    found[..., 1 : 2 * pairs : 2, :] -= found[..., 0 : 2 * pairs : 2, :] < 0
    return found


def multiply_shared(
    m: Module, platform: object, x: Value, pair: tuple[Value, Value], bits: int, name: str
) -> tuple[Value, Value]:
    """Return the products of ``x`` with two factors, ``LATENCY`` cycles ago, from one slice.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``.
        x: Signed, at most ``PACKED_BITS`` bits.
        pair: As returned by ``pack_factors``; signed.
        bits: Bits of an unpacked factor, at most ``PACKED_BITS``.
        name: Name of the instance, and prefix of signals.
    """
    assert max(len(x), bits) <= PACKED_BITS
    shift = len(x) + bits
    first, second = pair
    y = Cat(first[:bits], first[bits - 1].replicate(shift - bits), second).as_signed()
    assert shift + len(second) == len(y) <= WIDE_BITS
    if isinstance(platform, NetlistPlatform):
        low = Signal(signed(shift), name=f"{name}_low")
        high = Signal(signed(shift), name=f"{name}_high")
        m.submodules[name] = Instance(
            platform.packed(Packing.SHARED_OPERAND),
            p_X=len(x),
            p_Y=len(y),
            p_SHIFT=shift,
            i_clk=ClockSignal(),
            i_x=x,
            i_y=y,
            o_low=low,
            o_high=high,
        )
        return follow(m, low, f"{name}_low_held"), follow(m, high, f"{name}_high_held")
    x, y = follow(m, x, f"{name}_x"), follow(m, y, f"{name}_y")
    inner = follow(m, x * y, f"{name}_inner")
    outer = follow(m, inner + Const(1 << (shift - 1)), f"{name}_outer")
    low = Cat(outer[: shift - 1], ~outer[shift - 1]).as_signed()
    high = outer[shift : 2 * shift].as_signed()
    return follow(m, low, f"{name}_low_held"), follow(m, high, f"{name}_high_held")
