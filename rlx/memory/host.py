"""Operands that programs on the host may overwrite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.memory.lifetimes import elementwise_in_place
from rlx.memory.sharing import is_placed
from rlx.ops.real import RealCumprod, RealCumsum, RealScatter

if TYPE_CHECKING:
    from rlx.ir import Node


def host_in_place(node: Node) -> tuple[int, ...]:
    """Return the operands that a kernel on the host may overwrite with the node's result.

    Beside those of elementwise ops these are the tensor that updates are written into
    (``real.scatter``) and the operand of running sums and products; an exclusive one writes an
    element before it reads the one that was there. A kernel finds result and operand to be the same
    array from the first byte to the last. Operands of other ops share no byte with their results.
    """
    op = node.op
    scan = isinstance(op, RealCumsum | RealCumprod) and not op.exclusive
    if (scan or isinstance(op, RealScatter)) and is_placed(node.operands[0]):
        return (0,)
    return elementwise_in_place(node)
