"""Ops that replace several others: each holds these as a graph, its body.

Tests: tests/unit/ops/test_fused.py
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rlx.ir import Graph, Op, TensorType, Traits
from rlx.ir.evaluate import call
from rlx.ir.program import prepare_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.support.errors import ShapeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused(Op):
    """Several ops as one: a body, and nothing that the body does not say.

    The facts that a kernel needs (which operand is the bias, the axis of a softmax) are read off
    the body by ``form``, so that it cannot contradict it. A body of another form is refused.

    Operands: those of the body, in the order of its inputs. Results: the outputs of the body.

    Attributes:
        body: The ops that are fused: inputs, small constants, and the ops themselves in order.
    """

    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = (1, None)
    body: Graph

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the body's outputs.

        Raises:
            ShapeError: The operands are not those of the body, or it has not the op's form.
        """
        wanted = tuple(v.type for v in self.body.inputs)
        if operands != wanted:
            found, right = (", ".join(map(str, ts)) or "none" for ts in (operands, wanted))
            raise self.refuse(f"the body takes {right}, got {found}")
        self.read()
        return tuple(v.type for v in self.body.outputs)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the results of the body, computed op by op."""
        return call(self.body, operands)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the body with each of its ops prepared."""
        return prepare_graph(self.body, constants)

    def read(self) -> Any:  # noqa: ANN401 - each op has a form of its own
        """Return the form of the body, found once for each body.

        Raises:
            ShapeError: The body has another form.
        """
        if not self.body.outputs:
            raise self.refuse("the body has no outputs")
        memo = self.body.outputs[0].node.memo
        key = (type(self), "form")
        if key not in memo:
            memo[key] = self.find_form()
        return memo[key]

    @abstractmethod
    def find_form(self) -> object:
        """Return the parameters of a kernel for the body.

        Raises:
            ShapeError: The body has another form.
        """

    def misfit(self) -> ShapeError:
        """Return the error for a body of another form."""
        ops = ", ".join(n.op.name for n in self.body.op_nodes) or "no op"
        return self.refuse(f"the body ({ops}) has not the form of {self.name}")
