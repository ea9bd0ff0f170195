"""Values that derivatives take as constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rlx.ops.nn.base import NnOp

if TYPE_CHECKING:
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnStopGradient(NnOp):
    """``y = x``, whose derivative is zero. Operand: ``x`` [*]. Result: the operand's type."""

    name: ClassVar[str] = "nn.stop_gradient"

    def expand(self, *operands: Expression) -> Expression:
        """Return the operand."""
        return operands[0]
