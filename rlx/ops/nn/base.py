"""The base of model-level ops.

Tests: tests/unit/ops/test_every_real_op.py
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import DType, Graph, Op, TensorType, Traits
from rlx.ir.evaluate import evaluate
from rlx.ops.expression import Expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.ir import Array, Value


class NnOp(Op):
    """A model-level op. It *is* its decomposition: types and values follow from that.

    A subclass is a frozen dataclass with attributes and two methods: ``check``, which refuses
    operands in the op's own words, and ``expand``, the formula. Nothing else has to be taught a
    new model-level op.
    """

    traits: ClassVar[Traits] = Traits()
    __slots__ = ()

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operands fit."""

    @abstractmethod
    def expand(self, *operands: Expression) -> Expression | Sequence[Expression]:
        """Return the results as formulas over the operands."""

    def decompose(self, graph: Graph, *operands: Value) -> tuple[Value, ...]:
        """Append the decomposition to ``graph`` and return its results.

        The ops appended may be of the model level themselves, but simpler.
        """
        results = self.expand(*(Expression(graph, o) for o in operands))
        if isinstance(results, Expression):
            return (results.value,)
        return tuple(r.value for r in results)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the decomposition's results."""
        self.check(*operands)
        graph = self.as_graph(operands)
        return tuple(o.type for o in graph.outputs)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the values of the decomposition's results."""
        types = (TensorType(o.shape, DType.of(o)) for o in operands)
        inputs = {str(i): o for i, o in enumerate(operands)}
        return tuple(evaluate(self.as_graph(types), inputs))

    def as_graph(self, types: Iterable[TensorType]) -> Graph:
        """Return the decomposition as a graph of its own, with inputs ``0``, ``1``, ..."""
        graph = Graph(self.name)
        operands = [graph.input(str(i), type_) for i, type_ in enumerate(types)]
        graph.output(*self.decompose(graph, *operands))
        return graph

    def check_float(self, *operands: TensorType) -> None:
        """Raise ShapeError unless all operands hold floating-point values of one type."""
        for operand in operands:
            if not operand.dtype.is_float or operand.dtype is not operands[0].dtype:
                raise self.refuse(
                    "needs floating-point tensors of one element type,"
                    f" got {', '.join(map(str, operands))}"
                )
