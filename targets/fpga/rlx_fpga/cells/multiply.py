"""Products in the multiplier blocks of a device, with the registers that such blocks have inside.

A block is fast only if its own registers are used: one behind each operand, one in the middle, one
behind the product. ``multiply`` is a product with these three stages, and a register more: blocks
lie in few columns of a device, far from most of what takes their products. What it becomes depends
on who asks:

- Amaranth's simulator gets registers and a product;
- a netlist gets an instance of a small module. Its text is written for the family of the device
  (``module_text``): the block itself where Yosys does not find the registers on its own (ECP5),
  else registers around a product, which synthesis draws into the block. Simulators see the latter.

Products can be made of lookup tables too, for layers that come after the last block.

A block often has room for two products of bytes (``Pairing``):

- AMD's multiply 25 (or 27) by 18 bits, and add: ``(y1 * 2^16 + y0) * x + 2^15`` is
  ``x * y1 * 2^16 + (x * y0 + 2^15)``, and what is in brackets lies between 0 and 2^16 - 1: it never
  borrows from what is in front. So both products with one code are cut out of it, and nothing is to
  be corrected; the addition is the block's own. The wide factor lies in the weights' memory as it
  is (``pack_pairs``), without the copies of y0's sign.
- iCE40's multiply 8 by 8 bits twice.
- ECP5's multiply 18 by 18 bits. Two products of bytes are 32 bits wide and need a factor of 24 or
  more, so that each product gets a block of its own.
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
"""Cycles from the operands to their product in the modules that multiply."""

LATENCY: Final = BLOCK_LATENCY + 1
"""Cycles from the operands to their product where it is taken."""

BLOCK_BITS: Final = 18
"""Bits of a signed operand that every family's blocks can take."""

WIDE_BITS: Final = 25
"""Bits of the wider one, where a block multiplies a code by two factors at once."""

LOGIC_BITS: Final = 8
"""Bits of the second operand of a product made of lookup tables."""

CODE_BITS: Final = 8
"""Bits of an operand of products in pairs; the other one has no more."""


class Pairing(StrEnum):
    """What two products that share a block must have in common.

    ``NONE``: there are no such pairs. ``SHARED``: one operand. ``APART``: nothing.
    """

    NONE = "none"
    SHARED = "shared"
    APART = "apart"


PAIRINGS: Final[Mapping[str, Pairing]] = {
    "ecp5": Pairing.NONE,
    "ice40": Pairing.APART,
    "xc7": Pairing.SHARED,
    "xcup": Pairing.SHARED,
}
"""What the blocks of each family can do."""


_MAC16_BITS: Final = 16
"""Bits of an operand of iCE40's blocks, signed or not."""

_MAC16_LEAST: Final = 11
"""Bits of a product from which on Yosys takes one of these blocks for it."""


def blocks_of(x: int, y: int, family: str) -> int:
    """Return the multiplier blocks that the product of signed numbers of x and y bits takes.

    Where blocks are narrower than ``BLOCK_BITS``, Yosys cuts wider operands (``mul2dsp.v``); parts
    that are small become lookup tables.
    """
    return _mac16(max(x, y), min(x, y), x + y) if family == "ice40" else 1


def _mac16(x: int, y: int, bits: int) -> int:
    if min(x, y) < 2 or bits < _MAC16_LEAST:
        return 0
    if x > _MAC16_BITS:
        count = -(-(x - _MAC16_BITS) // _MAC16_BITS)
        last = x - count * _MAC16_BITS
        first = _mac16(_MAC16_BITS, y, min(bits, y + _MAC16_BITS))
        return count * first + _mac16(last, y, y + last)
    # The other way round.
    return _mac16(y, x, bits) if y > _MAC16_BITS else 1


@dataclass(frozen=True, slots=True)
class Netlist:
    """What elaboration for a netlist must know; Amaranth calls such a thing a platform.

    Attributes:
        prefix: First part of the names of modules that are written apart.
        memories: Takes constant words out of the netlist; None to keep them in it.
    """

    prefix: str
    memories: Constants | None = None

    def module(self, *, logic: bool) -> str:
        """Return the name of the module that multiplies."""
        return f"{self.prefix}_multiply" + ("_logic" if logic else "")

    @property
    def ram(self) -> str:
        """Name of the module that is a memory with one port."""
        return f"{self.prefix}_ram"

    def pair(self, pairing: Pairing) -> str:
        """Return the name of the module for two products in a block."""
        return f"{self.prefix}_multiply_{pairing.value}"

    def get_memory(self, memory: Memory) -> Fragment:
        """Return what a memory becomes; Amaranth asks for each."""
        taken = None if self.memories is None else self.memories.take(memory)
        return memory.elaborate(None) if taken is None else taken


def multiply(
    m: Module, platform: object, x: Value, y: Value, name: str, *, logic: bool = False
) -> Value:
    """Return ``x * y``, as they were ``LATENCY`` cycles ago.

    Args:
        m: Module to build into.
        platform: What ``elaborate`` was given: a ``Netlist``, or None for a simulation.
        x: Signed, at most ``BLOCK_BITS`` bits.
        y: Likewise; at most ``LOGIC_BITS`` bits in logic.
        name: Of signals and the instance.
        logic: Make it of lookup tables.
    """
    assert x.shape().signed == y.shape().signed is True, "operands must be signed"
    assert max(len(x), len(y)) <= BLOCK_BITS
    assert not logic or len(y) <= LOGIC_BITS
    if not isinstance(platform, Netlist):
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
    pairing: Pairing = Pairing.NONE,
) -> list[Value]:
    """Return the products of all ``operands``, which have a name each.

    Args:
        m: Module to build into.
        platform: What ``elaborate`` was given.
        operands: As those of ``multiply``; in pairs, of at most ``CODE_BITS`` bits.
        logic: So many, the first ones, are made of lookup tables.
        pairing: ``APART`` to give two of the others a block.
    """
    names = list(operands)
    products = [multiply(m, platform, *operands[name], name, logic=True) for name in names[:logic]]
    rest = names[logic:]
    paired = len(rest) - len(rest) % 2 if pairing is Pairing.APART else 0
    for one, other in zip(rest[:paired:2], rest[1:paired:2], strict=True):
        products += multiply_apart(m, platform, operands[one], operands[other], one)
    return products + [multiply(m, platform, *operands[name], name) for name in rest[paired:]]


def multiply_apart(
    m: Module, platform: object, one: tuple[Value, Value], other: tuple[Value, Value], name: str
) -> tuple[Value, Value]:
    """Return two products, as they were ``LATENCY`` cycles ago, from one block.

    Operands are signed and have at most ``CODE_BITS`` bits.
    """
    assert max(len(value) for value in (*one, *other)) <= CODE_BITS
    if not isinstance(platform, Netlist):
        return multiply(m, None, *one, name), multiply(m, None, *other, f"{name}_other")
    wide = [Signal(signed(CODE_BITS), name=f"{name}_operand_{index}") for index in range(4)]
    m.d.comb += [signal.eq(value) for signal, value in zip(wide, (*one, *other), strict=True)]
    products = [Signal(signed(2 * CODE_BITS), name=f"{name}_product_{index}") for index in range(2)]
    m.submodules[name] = Instance(
        platform.pair(Pairing.APART),
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


def pack_pairs(factors: Integers) -> Integers:
    """Return pairs of factors as they lie in memory: the second less one if the first is negative.

    Put behind the bits of the first one, copies of its sign between them, it gives
    ``second * 2^n + first``.

    Args:
        factors: [..., factors, terms]: those of a pair follow one another; a last odd one stays.
    """
    found = factors.astype(np.int64)
    pairs = found.shape[-2] // 2
    found[..., 1 : 2 * pairs : 2, :] -= found[..., 0 : 2 * pairs : 2, :] < 0
    return found


def multiply_shared(
    m: Module, platform: object, x: Value, pair: tuple[Value, Value], bits: int, name: str
) -> tuple[Value, Value]:
    """Return the products of ``x`` with two factors, ``LATENCY`` cycles ago, from one block.

    Args:
        m: Module to build into.
        platform: What ``elaborate`` was given.
        x: Signed, at most ``CODE_BITS`` bits.
        pair: As ``pack_pairs`` left them; signed.
        bits: Of a factor that is not packed, at most ``CODE_BITS``.
        name: Of signals and the instance.
    """
    assert max(len(x), bits) <= CODE_BITS
    apart = len(x) + bits
    first, second = pair
    y = Cat(first[:bits], first[bits - 1].replicate(apart - bits), second).as_signed()
    assert apart + len(second) == len(y) <= WIDE_BITS
    if isinstance(platform, Netlist):
        low = Signal(signed(apart), name=f"{name}_low")
        high = Signal(signed(apart), name=f"{name}_high")
        m.submodules[name] = Instance(
            platform.pair(Pairing.SHARED),
            p_X=len(x),
            p_Y=len(y),
            p_APART=apart,
            i_clk=ClockSignal(),
            i_x=x,
            i_y=y,
            o_low=low,
            o_high=high,
        )
        return follow(m, low, f"{name}_low_held"), follow(m, high, f"{name}_high_held")
    x, y = follow(m, x, f"{name}_x"), follow(m, y, f"{name}_y")
    inner = follow(m, x * y, f"{name}_inner")
    outer = follow(m, inner + Const(1 << (apart - 1)), f"{name}_outer")
    low = Cat(outer[: apart - 1], ~outer[apart - 1]).as_signed()
    high = outer[apart : 2 * apart].as_signed()
    return follow(m, low, f"{name}_low_held"), follow(m, high, f"{name}_high_held")
