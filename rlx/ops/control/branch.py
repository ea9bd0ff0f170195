"""The choice between two regions.

Tests: tests/unit/ops/control/test_control.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Graph, TensorType
from rlx.ir.binding import symbols_of
from rlx.ir.evaluate import call
from rlx.ir.program import prepare_graph
from rlx.ops.control.base import ControlOp, result_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class If(ControlOp):
    """One of two regions: the other one is not run.

    Operands: the condition, bool[]; then the values that both regions read. Results: the outputs of
    the region that was run, of the same types in both.

    Attributes:
        then_body: Run where the condition holds. Its inputs are the operands after the condition.
        else_body: Run where it does not, with the same inputs.
    """

    name: ClassVar[str] = "core.if"
    operand_count: ClassVar[int | tuple[int, int | None]] = (1, None)
    then_body: Graph
    else_body: Graph

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the outputs of both regions."""
        condition, *inputs = operands
        self.check_condition("the condition", condition)
        self.check_inputs("then_body", self.then_body, inputs)
        self.check_inputs("else_body", self.else_body, inputs)
        first, second = result_types(self.then_body), result_types(self.else_body)
        if len(first) != len(second):
            raise self.refuse(
                f"then_body gives {len(first)} values, but else_body gives {len(second)}"
            )
        return tuple(
            self.check_same(f"output {i} of else_body", b, a)
            for i, (a, b) in enumerate(zip(first, second, strict=True))
        )

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the outputs of the chosen region."""
        condition, *others = operands
        return call(self.then_body if condition else self.else_body, others)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return a function with each region prepared, one that is both of them once."""
        if symbols_of(self):
            return self.evaluate
        then_body = prepare_graph(self.then_body, constants[1:])
        same = self.else_body is self.then_body
        return _chooser(
            then_body, then_body if same else prepare_graph(self.else_body, constants[1:])
        )


def _chooser(
    then_body: Callable[..., tuple[Array, ...]], else_body: Callable[..., tuple[Array, ...]]
) -> Evaluator:
    """Return a function of condition and operands."""

    def choose(condition: Array, *inputs: Array) -> tuple[Array, ...]:
        return (then_body if condition else else_body)(*inputs)

    return choose
