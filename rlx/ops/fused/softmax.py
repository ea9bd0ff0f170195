"""Softmax as one op.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops import real
from rlx.ops.fused.base import Fused

if TYPE_CHECKING:
    from rlx.ir import Node, Value


@dataclass(frozen=True, slots=True)
class SoftmaxMatch:
    """A softmax in ``real.*`` ops: ``e / sum(e)`` with ``e = exp(x - max(x))``.

    Attributes:
        x: Operand.
        axis: Along which axis, counted from the front.
        nodes: The maximum, the difference, the exponential, the sum and the quotient.
    """

    x: Value
    axis: int
    nodes: tuple[Node, ...]


def softmax_at(value: Value) -> SoftmaxMatch | None:
    """Return the softmax whose result is ``value``, None if it is none."""
    division = value.node
    if not isinstance(division.op, real.RealDiv):
        return None
    e, total = division.operands
    axis = _axis(total.node, real.RealReduceSum, e)
    if axis is None or not isinstance(e.node.op, real.RealExp):
        return None
    difference = e.node.operands[0].node
    if not isinstance(difference.op, real.RealSub):
        return None
    x, top = difference.operands
    if _axis(top.node, real.RealReduceMax, x) != axis:
        return None
    return SoftmaxMatch(x, axis, (top.node, difference, e.node, total.node, division))


def _axis(
    node: Node, op: type[real.RealReduceMax] | type[real.RealReduceSum], x: Value
) -> int | None:
    """Return the only axis along which a node reduces ``x`` and which it keeps; else None."""
    if not isinstance(node.op, op) or node.operands != (x,):
        return None
    if len(node.op.axes) != 1 or not node.op.keep_dims:
        return None
    return node.op.axes[0] % x.type.rank


@dataclass(frozen=True, slots=True)
class SoftmaxForm:
    """Parameters of a kernel of ``fused.softmax``.

    Attributes:
        axis: The axis, counted from the front.
    """

    axis: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedSoftmax(Fused):
    """``y = e^x / sum of e^x`` along an axis, without overflow.

    Operand: ``x`` floating-point [*]. Result: the same type.

    Attributes:
        body: Maximum, difference, exponential, sum, quotient.
    """

    name: ClassVar[str] = "fused.softmax"

    @property
    def form(self) -> SoftmaxForm:
        """Parameters of a kernel."""
        form: SoftmaxForm = self.read()
        return form

    def find_form(self) -> SoftmaxForm:
        """Return the axis of the softmax."""
        found = softmax_at(self.body.outputs[0])
        whole = found is not None and set(found.nodes) == set(self.body.op_nodes)
        if found is None or not whole or self.body.inputs != (found.x,):
            raise self.misfit()
        return SoftmaxForm(found.axis)
