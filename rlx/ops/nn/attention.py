"""Attention."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType
from rlx.ops import real
from rlx.ops.nn.base import NnOp
from rlx.ops.nn.softmax import NnSoftmax
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    from rlx.ir import Dim, TensorType
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnAttention(NnOp):
    """Scaled dot-product attention: ``y = softmax(scale * q k^T + mask) v``.

    Operands: ``q`` floating-point [..., S, D], ``k`` [..., T, D], ``v`` [..., T, E], and maybe
    ``mask``, which broadcasts to [..., S, T]: bool (true: attend) or floating-point (added).
    Leading axes broadcast; heads are one of them. Result: [..., S, E]. A query that attends to
    nothing results in NaN.

    Attributes:
        scale: Factor of the scores; None for ``1 / sqrt(D)``.
        causal: Whether query ``s`` only attends to keys up to ``s + T - S``, so that the last
            query attends to all of them.
        window: With ``causal``, how many keys back a query attends; None for all.
        soft_cap: If given, scores ``x`` become ``soft_cap * tanh(x / soft_cap)`` before masking.

    Source: Vaswani et al., "Attention is all you need".
    """

    name: ClassVar[str] = "nn.attention"
    operand_count: ClassVar[int | tuple[int, int | None]] = (3, 4)
    scale: float | None = None
    causal: bool = False
    window: int | None = None
    soft_cap: float | None = None

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless queries, keys, values and mask fit."""
        q, k, v, *mask = operands
        self.check_float(q, k, v)
        if min(q.rank, k.rank, v.rank) < 2:
            raise self.refuse(f"expected at least 2 dimensions, got {q}, {k}, {v}")
        if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
            raise self.refuse(f"queries {q}, keys {k} and values {v} do not fit")
        if mask and mask[0].dtype not in (DType.BOOL, q.dtype):
            raise self.refuse(f"the mask must be bool or {q.dtype.value}, got {mask[0]}")
        if self.scale is None and (not isinstance(q.shape[-1], int) or not q.shape[-1]):
            raise self.refuse(f"the last dimension of {q} must be a number from 1, or scale given")
        if self.window is not None and (not self.causal or self.window < 0):
            raise self.refuse(f"window {self.window} needs causal, and must not be negative")
        stacks = [t.with_shape(t.shape[:-2]) for t in (q, k, v)]
        broadcast_shapes(self, *stacks)

    def expand(self, *operands: Expression) -> Expression:
        """Return the attended values."""
        q, k, v, *mask = operands
        width = q.shape[-1]
        factor = 1.0 / math.sqrt(width) if self.scale is None and isinstance(width, int) else 0.0
        scores = (q * (factor if self.scale is None else self.scale)) @ k.mT
        if self.soft_cap is not None:
            scores = (scores / self.soft_cap).tanh() * self.soft_cap
        if self.causal:
            scores = _apply_mask(scores, self._causal_mask(scores))
        for operand in mask:
            scores = _apply_mask(scores, operand)
        return scores.apply(NnSoftmax(axis=-1)) @ v

    def _causal_mask(self, scores: Expression) -> Expression:
        """Return bool [S, T]: which keys each query attends to."""
        queries, keys = scores.shape[-2:]
        if not isinstance(queries, int) or not isinstance(keys, int):
            return self._symbolic_mask(scores)
        last = np.arange(queries)[:, None] + keys - queries
        key = np.arange(keys)[None, :]
        allowed = key <= last
        if self.window is not None:
            allowed &= key >= last - self.window
        return scores.wrap(scores.graph.constant(allowed))

    def _symbolic_mask(self, scores: Expression) -> Expression:
        """Return the causal mask for lengths that are not known yet.

        Counted from the end, a query attends to the keys that are as far away or farther.
        """
        queries, keys = (_from_end(scores, size) for size in scores.shape[-2:])
        query = queries.expand_dims(1)
        allowed = keys >= query
        if self.window is None:
            return allowed
        return allowed.minimum(keys <= query + self.window)


def _from_end(scores: Expression, size: int | Dim) -> Expression:
    """Return i32 [size], the distance of each index from the end: ``size, size - 1, ..., 1``."""
    one = scores.wrap(scores.graph.constant(np.ones(1, np.int32)))
    counted = one.broadcast_to(size).apply(real.RealCumsum(axis=0))
    return counted.apply(real.RealReverse(axes=(0,)))


def _apply_mask(scores: Expression, mask: Expression) -> Expression:
    """Return the scores with ``mask`` applied: added, or minus infinity where it is false."""
    if mask.dtype is not DType.BOOL:
        return scores + mask
    return mask.apply(real.RealWhere(), scores, scores.lift(-math.inf))
