"""Chains of elementwise ops on one int8 value, as one op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import DType, Graph, Op, TensorType, Traits
from rlx.ops.q.common import check_int8
from rlx.ops.q.prepared.table import prepare_by_channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Value
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class QChain(Op):
    """Elementwise ops on ``x`` and constants, computed together: ``y = body(x, *constants)``.

    The pass ``fuse-chains`` makes it of nodes that read one computed value.

    Operands: ``x`` int8[*, C], the constants of the body int8[C] or int8[1].
    Result: int8[*, C].

    Attributes:
        body: The ops in order; its inputs are the operands, all of its values are int8. The shape
            of ``x`` may be another one than in the body.
    """

    name: ClassVar[str] = "q.chain"
    operand_count: ClassVar[int | tuple[int, int | None]] = (1, None)
    traits: ClassVar[Traits] = Traits(elementwise=True)
    body: Graph

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the first operand's shape."""
        inputs, nodes = self.body.inputs, self.body.op_nodes
        if len(operands) != len(inputs):
            raise self.refuse(f"the body has {len(inputs)} inputs, got {len(operands)} operands")
        if len(self.body.outputs) != 1 or not all(n.op.traits.elementwise for n in nodes):
            raise self.refuse("the body must have elementwise ops only, and one output")
        x, *constants = operands
        check_int8(self, "input", x)
        for type_ in constants:
            check_int8(self, "constant", type_, rank=1)
            if type_.shape != (1,) and type_.shape != x.shape[-1:]:
                raise self.refuse(f"expected one constant for each channel of {x}, got {type_}")
        return (TensorType(x.shape, DType.I8),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the results of the body, computed op by op."""
        values = dict(zip(self.body.inputs, operands, strict=True))
        for node in self.body.op_nodes:
            (values[node.result],) = node.op.evaluate(*(values[o] for o in node.operands))
        return (values[self.body.outputs[0]],)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that looks up every value if the other operands are constant."""
        known = [c for c in constants[1:] if c is not None]
        complete = len(known) == len(constants) - 1
        return prepare_by_channel(self, *known) if complete else self.evaluate

    def inline(self, new: Graph, *operands: Value) -> Value:
        """Append the ops of the body to a graph, and return the result.

        Args:
            new: The graph.
            operands: The operands, values of it.
        """
        values = dict(zip(self.body.inputs, operands, strict=True))
        for node in self.body.op_nodes:
            steps = [values[o] for o in node.operands]
            op, quant = node.op, node.types[0].quant
            values[node.result] = (
                op.inline(new, *steps)
                if isinstance(op, QChain)
                else new.apply(op, *steps, name=node.name, quant=quant)
            )
        return values[self.body.outputs[0]]
