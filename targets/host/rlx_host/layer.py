"""Lowered form of a node: a C function, and the pointers that it takes.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.ir import Constant, Param
from rlx.targets import Lowering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Array, Node, Refusal, Value
    from rlx_c.layer import Kernel
    from rlx_host.instruction_set import InstructionSet

    Pack: TypeAlias = Callable[[Sequence[Array]], Array]
    Rule: TypeAlias = Callable[[Node, InstructionSet], "NativeLayer | Refusal"]


MIN_PART_COST: Final = 1 << 14
"""Vector instructions that are worth a part of a layer on another thread: 5 to 10 us."""


@dataclass(frozen=True, slots=True)
class Split:
    """Units of a layer's result, such as rows, that threads compute in any order.

    The bits of a unit do not depend on the units that are computed with it.

    Attributes:
        units: Number of units.
        cost: Estimate of the vector instructions of all units.
    """

    units: int
    cost: int

    @staticmethod
    def of(units: int, cost: int) -> Split | None:
        """Return the split of a layer, or None if it is not worth two threads."""
        return Split(units, cost) if units > 1 and cost >= 2 * MIN_PART_COST else None

    @property
    def min_units(self) -> int:
        """Number of units of the smallest part that is worth a thread."""
        return max(1, -(-MIN_PART_COST * self.units // max(1, self.cost)))


@dataclass(frozen=True, slots=True)
class NativeLayer(Lowering):
    """A node in C. The call is ``kernel(operands, tables, scratch, results)``, all pointers.

    The scratch pointer is passed only if the function needs scratch memory. The function of a
    layer with a split gets two integers more: the first unit to compute, and the one after the
    last.

    Attributes:
        kernel: The function.
        operands: Indices of the node's operands that are passed.
        tables: Each makes a constant array when parameters are set, from the values of all
            operands, of which only constants and parameters may be read.
        scratch_bytes: Bytes of memory, aligned to 64, that the function uses while it runs.
        may_fail: Whether the function returns 0 where an operand is not allowed.
        split: Units that several threads may compute; None if one thread computes all.
    """

    kernel: Kernel
    operands: tuple[int, ...]
    tables: tuple[Pack, ...] = ()
    scratch_bytes: int = 0
    may_fail: bool = False
    split: Split | None = None

    @property
    def thread_scratch_bytes(self) -> int:
        """Bytes from the scratch memory of a thread to that of the next one."""
        return -(-self.scratch_bytes // 64) * 64


def is_fixed(value: Value) -> bool:
    """Whether a value is a constant or a parameter, which a table may be made of."""
    return isinstance(value.node.op, Constant | Param)
