"""Functions of one int8 value as 256-entry tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Op, TensorType, Traits
from rlx.ops.q.common import INT8_MAX, INT8_MIN, check_int8
from rlx.ops.q.prepared.table import prepare_unary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class QTable(Op):
    """Elementwise ``y = table[x + 128]``: any function of one int8 value.

    Sigmoid, tanh, GELU, hard-swish and the like become tables at import.

    Operand: ``x`` int8[*]. Result: int8[*].

    Attributes:
        table: 256 int8 values, the one of input -128 first.
        function: Name of the function, for display.
    """

    name: ClassVar[str] = "q.table"
    traits: ClassVar[Traits] = Traits(elementwise=True)
    table: tuple[int, ...]
    function: str = ""

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the same shape."""
        (x,) = operands
        check_int8(self, "input", x)
        if len(self.table) != 256:
            raise self.refuse(f"expected 256 table entries, got {len(self.table)}")
        if not all(INT8_MIN <= entry <= INT8_MAX for entry in self.table):
            raise self.refuse(
                f"expected table entries in [-128, 127], got {min(self.table)} to {max(self.table)}"
            )
        return (TensorType(x.shape, x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the entries that the inputs select."""
        (x,) = operands
        table = np.array(self.table, np.int8)
        return (np.asarray(table[x.astype(np.int16) + 128]),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that has the table as bytes."""
        del constants
        return prepare_unary(self)
