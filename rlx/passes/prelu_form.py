"""PReLU that equals a function of each channel.

Tests: tests/unit/passes/test_fuse_chains.py
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QMul, QPrelu

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Int64

    Slopes = npt.NDArray[np.int8]

_ROUNDINGS: Final = (Rounding.DOUBLE, Rounding.SINGLE)


@dataclass(frozen=True, slots=True, eq=False)
class _Half:
    """The results for the values on one side of the zero point.

    Attributes:
        products: int64[N, C], what is scaled.
        results: int64[N, C], the results less their zero point.
        low: Minimum of all results less the zero point.
        high: Maximum of them.
    """

    products: Int64
    results: Int64
    low: int
    high: int

    def factor(self, known: Sequence[Rescale]) -> Rescale | None:
        """Return one factor that scales products to results; ``known`` ones are tried first."""
        for rescale in (*known, *self._estimates()):
            if rescale.channels != 1 or rescale.rounding is Rounding.FLOAT32:
                continue
            scaled = np.clip(rescale.apply(self.products), self.low, self.high)
            if np.array_equal(scaled, self.results):
                return rescale
        return None

    def _estimates(self) -> Iterator[Rescale]:
        """Yield factors between the bounds that the results set."""
        low, high = self._bounds()
        if 0 < low <= high < np.inf:
            for real, rounding in product(((low + high) / 2, low, high), _ROUNDINGS):
                yield Rescale.of(real, rounding=rounding)

    def _bounds(self) -> tuple[float, float]:
        """Return the smallest and largest factor; results at the ends bound it on one side."""
        read = self.products != 0
        products, results = self.products[read], self.results[read]
        if not products.size:
            return 1.0, 1.0
        ends = (
            np.where(results == self.low, -np.inf, results - 0.5) / products,
            np.where(results == self.high, np.inf, results + 0.5) / products,
        )
        return float(np.minimum(*ends).max()), float(np.maximum(*ends).min())


def prelu_form(
    tables: npt.NDArray[np.int8], nodes: Sequence[Node], zero_points: Sequence[int]
) -> tuple[QPrelu, Slopes] | None:
    """Return the PReLU with the results ``tables``, and its slopes; None if none is found.

    Slopes are the constants of products among the nodes; factors are theirs too, or lie between the
    bounds that the results set. Each is tried on all 256 values of each channel.

    Args:
        tables: int8[256, C], the results of each channel.
        nodes: The nodes that compute them.
        zero_points: Values of the operand that may be its zero point.
    """
    wide = tables.astype(np.int64)
    known = [f for node in nodes if isinstance(f := getattr(node.op, "rescale", None), Rescale)]
    slopes = list(_slopes(nodes, tables.shape[1]))
    low, high = int(wide.min()), int(wide.max())
    for x_zero in dict.fromkeys(zero_points):
        zero = int(wide[x_zero + 128, 0])
        centred = np.arange(-128, 128)[:, np.newaxis] - x_zero
        above = _Half(centred[128 + x_zero :], wide[128 + x_zero :] - zero, low - zero, high - zero)
        if not (above.results == above.results[:, :1]).all():
            continue
        first = _Half(above.products, above.results[:, :1], above.low, above.high)
        rescale = first.factor([Rescale.of(1.0), *known])
        if rescale is None:
            continue
        for array, y_zero in slopes:
            products = centred[: 128 + x_zero] * (array.astype(np.int64) - y_zero)
            below = _Half(products, wide[: 128 + x_zero] - zero, low - zero, high - zero)
            slope_rescale = below.factor(known)
            if slope_rescale is not None:
                op = _prelu(tables, array, x_zero, y_zero, rescale, slope_rescale, zero)
                return op, array
    return None


def _prelu(
    tables: npt.NDArray[np.int8],
    slopes: Slopes,
    x_zero: int,
    y_zero: int,
    rescale: Rescale,
    slope_rescale: Rescale,
    zero_point: int,
) -> QPrelu:
    """Return the op, with bounds only if they are needed."""
    op = QPrelu(
        x_zero_point=x_zero,
        y_zero_point=y_zero,
        rescale=rescale,
        slope_rescale=slope_rescale,
        zero_point=zero_point,
    )
    values = np.arange(-128, 128, dtype=np.int8)[:, np.newaxis]
    if np.array_equal(op.evaluate(values, slopes)[0], tables):
        return op
    return op.with_attributes(low=int(tables.min()), high=int(tables.max()))


def _slopes(nodes: Sequence[Node], channels: int) -> Iterator[tuple[Slopes, int]]:
    """Yield the constants of products and their zero points, as they are and negated."""
    for node in nodes:
        if not isinstance(node.op, QMul):
            continue
        op = node.op
        pairs = zip(node.operands, (op.x_zero_point, op.y_zero_point), strict=True)
        for operand, zero_point in pairs:
            if operand.constant is not None and operand.type.size in (1, channels):
                slopes = np.broadcast_to(operand.constant.reshape(-1), channels)
                yield slopes.astype(np.int8), zero_point
                yield (-1 - slopes.astype(np.int64)).astype(np.int8), -1 - zero_point
