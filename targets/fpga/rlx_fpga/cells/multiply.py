"""Products in the DSP slices of a device, with the registers that slices have inside.

A slice is fast only if its own registers are used: one after each operand, one in the middle, one
after the product. ``multiply`` is a product with these three stages and one more register, because
slices are in a few columns of a device, far from most of the logic that reads their products. It
builds:

- for Amaranth's simulator, registers and a product;
- in a netlist, an instance of a small module (``multiply.v.j2``): on ECP5, where Yosys does not
  pack the registers, the primitive itself; elsewhere, and for simulators, registers around a
  product, which synthesis packs into the slice.
- in a netlist for iCE40, an instance of ``multiply_ice40.v.j2``, with the primitive and all four
  registers in it: Yosys packs registers there, but wrongly. So is every product that has its own
  registers in a cell (``multiply_moving``, ``multiply_sum``).

LUT multipliers compute further products when DSP slices run out.

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
from amaranth import Cat, ClockSignal, Const, Instance, Module, Shape, Signal, Value, signed

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

MAX_LOGIC_BITS: Final = 8
"""Maximum bits of the second operand of a LUT multiplier."""

MAX_PACKED_BITS: Final = 8
"""Maximum bits of both operands of packed products."""


class Packing(StrEnum):
    """Ways for two products to share a DSP slice.

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
"""Packing that the DSP slices of each family are capable of."""


@dataclass(frozen=True, slots=True)
class NetlistPlatform:
    """The platform (in Amaranth's sense) with which netlists are elaborated.

    Attributes:
        prefix: Prefix of the names of separate modules.
        memories: Replaces read-only memories; None to keep their words in the netlist.
        family: Family of the device; empty if the design does not depend on it.
    """

    prefix: str
    memories: Constants | None = None
    family: str = ""

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

    @property
    def sum(self) -> str:
        """Name of the module that multiplies and accumulates."""
        return f"{self.prefix}_multiply_sum"

    def get_memory(self, memory: Memory) -> Fragment:
        """Return the fragment of a memory; Amaranth calls this for each."""
        taken = None if self.memories is None else self.memories.take(memory)
        return memory.elaborate(None) if taken is None else taken


def multiply(
    m: Module, platform: object, x: Value, y: Value, name: str, *, logic: bool = False
) -> Value:
    """Return ``x * y`` of ``LATENCY`` cycles ago.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``: a ``NetlistPlatform``, or None for a simulation.
        x: Signed, at most ``BLOCK_BITS`` bits.
        y: Likewise; at most ``MAX_LOGIC_BITS`` bits for a LUT multiplier.
        name: Name of the instance, and prefix of signals.
        logic: Use a LUT multiplier.
    """
    assert x.shape().signed == y.shape().signed is True, "operands must be signed"
    assert max(len(x), len(y)) <= BLOCK_BITS
    assert not logic or len(y) <= MAX_LOGIC_BITS
    if not isinstance(platform, NetlistPlatform):
        x, y = follow(m, x, f"{name}_x"), follow(m, y, f"{name}_y")
        return follow(m, x * y, name, LATENCY - 1)
    if has_blocks(platform) and not logic:
        return _block(m, platform, x, y, name, LATENCY)
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


def has_blocks(platform: object) -> bool:
    """Return whether products in DSP slices must be instances: synthesis does not infer them."""
    return isinstance(platform, NetlistPlatform) and platform.family == "ice40"


def multiply_moving(
    m: Module, platform: object, x: Value, y: Value, name: str, *, move: Value, stages: int = 2
) -> Value:
    """Return ``x * y`` from DSP slices of a netlist that ``has_blocks``.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``.
        x: Of at most ``BLOCK_BITS`` bits, or unsigned: then of any width.
        y: Likewise.
        name: Prefix of instances and signals.
        move: Enables the registers.
        stages: Registers: 1 after the product, 2 also before it.
    """
    assert isinstance(platform, NetlistPlatform), "only netlists have instances"
    parts = [
        (_block(m, platform, one, other, f"{name}_{i}_{k}", stages, move), i + k)
        for i, one in enumerate(_parts(x))
        for k, other in enumerate(_parts(y))
    ]
    return sum((part << (BLOCK_BITS * place) for part, place in parts[1:]), parts[0][0])


def _parts(value: Value) -> list[Value]:
    """Return the parts of an operand that a block and a few LUTs multiply, low ones first."""
    if len(value) <= BLOCK_BITS:
        return [value]
    assert not value.shape().signed, "only unsigned operands are split"
    return [value[start : start + BLOCK_BITS] for start in range(0, len(value), BLOCK_BITS)]


def _block(
    m: Module,
    platform: NetlistPlatform,
    x: Value,
    y: Value,
    name: str,
    stages: int,
    move: Value | None = None,
) -> Value:
    """Return the product from one block, ``stages`` cycles with ``move`` high later."""
    signs = x.shape().signed, y.shape().signed
    shape = Shape(len(x) + len(y), signed=any(signs))
    product = Signal(shape, name=f"{name}_product")
    m.submodules[name] = Instance(
        platform.module(logic=False),
        p_X=len(x),
        p_Y=len(y),
        p_X_SIGNED=int(signs[0]),
        p_Y_SIGNED=int(signs[1]),
        p_STAGES=stages,
        i_clk=ClockSignal(),
        i_en=Const(1) if move is None else move,
        i_x=x,
        i_y=y,
        o_z=product,
    )
    return product


def multiply_sum(
    m: Module, platform: object, operands: tuple[Value, Value], take: Value, first: Value, name: str
) -> Value:
    """Return a sum of products of int8 values, int32, from a slice of a netlist.

    Args:
        m: Module to build into.
        platform: Argument of ``elaborate``; it ``has_blocks``.
        operands: The factors.
        take: Add the product of the previous cycle's operands.
        first: To 0, not to the sum.
        name: Name of the instance, and prefix of signals.
    """
    assert isinstance(platform, NetlistPlatform), "only netlists have instances"
    total = Signal(signed(32), name=name)
    m.submodules[f"{name}_block"] = Instance(
        platform.sum,
        i_clk=ClockSignal(),
        i_x=operands[0],
        i_y=operands[1],
        i_take=take,
        i_first=first,
        o_z=total,
    )
    return total


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
        operands: As those of ``multiply``; if packed, of at most ``MAX_PACKED_BITS`` bits.
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
    m: Module, platform: object, first: tuple[Value, Value], second: tuple[Value, Value], name: str
) -> tuple[Value, Value]:
    """Return two products of the operands of ``LATENCY`` cycles ago, from one slice.

    Operands are signed and have at most ``MAX_PACKED_BITS`` bits.
    """
    assert max(len(value) for value in (*first, *second)) <= MAX_PACKED_BITS
    if not isinstance(platform, NetlistPlatform):
        return multiply(m, None, *first, name), multiply(m, None, *second, f"{name}_other")
    wide = [Signal(signed(MAX_PACKED_BITS), name=f"{name}_operand_{index}") for index in range(4)]
    m.d.comb += [signal.eq(value) for signal, value in zip(wide, (*first, *second), strict=True)]
    products = [
        Signal(signed(2 * MAX_PACKED_BITS), name=f"{name}_product_{index}") for index in range(2)
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
        for index, (product, (x, y)) in enumerate(zip(products, (first, second), strict=True))
    )
    return low, high


def pack_factors(factors: Integers) -> Integers:
    """Return pairs of factors in stored form: the second minus one if the first is negative.

    Concatenated with the sign-extended first factor, it is ``second * 2^n + first``.

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
        x: Signed, at most ``MAX_PACKED_BITS`` bits.
        pair: As returned by ``pack_factors``; signed.
        bits: Bits of an unpacked factor, at most ``MAX_PACKED_BITS``.
        name: Name of the instance, and prefix of signals.
    """
    assert max(len(x), bits) <= MAX_PACKED_BITS
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
