"""Ops of a package outside of rlx: what such a package holds, and nothing more.

``acme.square`` is elementwise, and spelled as a table for targets that do not know it;
``acme.mean_pool`` is a model-level op, which is replaced by its decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Op, TensorType, Traits
from rlx.ops.nn.base import NnOp
from rlx.ops.q import QAveragePool2d, Window
from rlx.passes.fit import REWRITES, as_table

if TYPE_CHECKING:
    from rlx.ir import Array, Graph, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class AcmeSquare(Op):
    """``y = min(x * x >> shift, 127)``.

    Operand: ``x`` int8[*]. Result: int8[*].

    Attributes:
        shift: Places.
    """

    name: ClassVar[str] = "acme.square"
    traits: ClassVar[Traits] = Traits(elementwise=True)
    shift: int = 7

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return int8 of the same shape."""
        (x,) = operands
        if x.dtype is not DType.I8:
            raise self.refuse(f"input must be i8, not {x}")
        return (TensorType(x.shape, DType.I8),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the squares."""
        x = operands[0].astype(np.int64)
        return (np.asarray(np.minimum(x * x >> self.shift, 127), np.int8),)


REWRITES.rule(AcmeSquare)(as_table)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcmeMeanPool(NnOp):
    """Mean over the image. Operand: ``x`` int8[N, H, W, C]. Result: int8[N, 1, 1, C]."""

    name: ClassVar[str] = "acme.mean_pool"

    def decompose(self, graph: Graph, *operands: Value) -> tuple[Value, ...]:
        """Append an average pool with a window as large as the image."""
        (x,) = operands
        _, height, width, _ = x.type.static_shape
        return (graph.apply(QAveragePool2d(window=Window(kernel=(height, width))), x),)

    def expand(self, *operands: object) -> object:
        """Not needed: ``decompose`` says it all."""
        raise AssertionError("decompose is overridden")
