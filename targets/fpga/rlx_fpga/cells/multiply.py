"""Products in the multiplier blocks of a device, with the registers that such blocks have inside.

A block is fast only if its own registers are used: one behind each operand, one in the middle, one
behind the product. ``multiply`` is a product with these three stages. What it becomes depends on
who asks:

- Amaranth's simulator gets registers and a product;
- a netlist gets an instance of a small module. Its text is written for the family of the device
  (``module_text``): the block itself where Yosys does not find the registers on its own (ECP5),
  else registers around a product, which synthesis draws into the block. Simulators see the latter.

Products can be made of lookup tables too, for layers that come after the last block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from amaranth import ClockSignal, Instance, Module, Signal, Value, signed

from rlx_fpga.cells.pipe import follow

if TYPE_CHECKING:
    from rlx_fpga.cells.memory_files import MemoryFiles

LATENCY: Final = 3
"""Cycles from the operands to their product."""

BLOCK_BITS: Final = 18
"""Bits of a signed operand that every family's blocks can take."""

LOGIC_BITS: Final = 8
"""Bits of the second operand of a product made of lookup tables."""


@dataclass(frozen=True, slots=True)
class Netlist:
    """What elaboration for a netlist must know; Amaranth calls such a thing a platform.

    Attributes:
        prefix: First part of the names of modules that are written apart.
        memories: Takes constant words out of the netlist; None to keep them in it.
    """

    prefix: str
    memories: MemoryFiles | None = None

    def module(self, *, logic: bool) -> str:
        """Return the name of the module that multiplies."""
        return f"{self.prefix}_multiply" + ("_logic" if logic else "")

    @property
    def ram(self) -> str:
        """Name of the module that is a memory with one port."""
        return f"{self.prefix}_ram"


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
    return product
