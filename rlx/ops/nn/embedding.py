"""Tables of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.nn.base import NnOp
from rlx.ops.real.common import check_index

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnEmbedding(NnOp):
    """Rows of a table by their index: ``y[i..., d] = table[indices[i...], d]``.

    Operands: ``table`` [V, D], ``indices`` integers [I...]. Result: [I..., D].
    """

    name: ClassVar[str] = "nn.embedding"
    operand_count: ClassVar[int | tuple[int, int | None]] = 2

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the table has rows."""
        table, indices = operands
        check_index(self, indices)
        if table.rank != 2:
            raise self.refuse(f"the table must have 2 dimensions, got {table}")

    def expand(self, *operands: Expression) -> Expression:
        """Return the rows."""
        table, indices = operands
        return table.gather(indices)
