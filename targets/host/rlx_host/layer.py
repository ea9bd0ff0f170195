"""Lowered form of a node: a C function, and the pointers that it takes.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir import Constant, Param
from rlx.targets import Lowering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Array, Node, Refusal, Value
    from rlx_c.layer import Kernel
    from rlx_host.instruction_set import InstructionSet

    Pack: TypeAlias = Callable[[Sequence[Array]], Array]
    Rule: TypeAlias = Callable[[Node, InstructionSet], "NativeLayer | Refusal"]


@dataclass(frozen=True, slots=True)
class NativeLayer(Lowering):
    """A node in C. The call is ``kernel(operands, tables, scratch, results)``, all pointers.

    The scratch pointer is passed only if the function needs scratch memory.

    Attributes:
        kernel: The function.
        operands: Indices of the node's operands that are passed.
        tables: Each makes a constant array when parameters are set, from the values of all
            operands, of which only constants and parameters may be read.
        scratch_bytes: Bytes of memory, aligned to 64, that the function uses while it runs.
        may_fail: Whether the function returns 0 where an operand is not allowed.
    """

    kernel: Kernel
    operands: tuple[int, ...]
    tables: tuple[Pack, ...] = ()
    scratch_bytes: int = 0
    may_fail: bool = False


def is_fixed(value: Value) -> bool:
    """Whether a value is a constant or a parameter, which a table may be made of."""
    return isinstance(value.node.op, Constant | Param)
