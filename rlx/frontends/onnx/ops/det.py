"""Determinants of small matrices.

Tests: tests/unit/frontends/onnx/ops/test_regions.py
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Final

from rlx.frontends.onnx.ops.index import numbers
from rlx.frontends.onnx.ops.registry import importer

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

_MAX_ROWS: Final = 4
"""Rows of a matrix: the sum has one product for each order of the columns, 24 for 4 rows."""


@importer("Det")
def import_det(call: Call) -> Real:
    """``Det`` of matrices up to 4 by 4: the sum of products over all orders of the columns."""
    x = call.value(0)
    rows, columns = numbers(call, x.shape[-2:]) if x.ndim > 1 else (0, 1)
    if rows != columns:
        raise call.malformed(f"expected square matrices, got {x.type}")
    if not 1 <= rows <= _MAX_ROWS:
        raise call.refuse(f"is of a matrix of {rows} rows; rlx does up to {_MAX_ROWS}")
    # The first order is the one that swaps nothing.
    first, *rest = permutations(range(rows))
    total = _term(x, first)
    for order in rest:
        term = _term(x, order)
        total = total - term if _is_odd(order) else total + term
    return total


def _term(x: Real, order: tuple[int, ...]) -> Real:
    """Return the product of an element of each row."""
    term = x[..., 0, order[0]]
    for row, column in enumerate(order[1:], start=1):
        term = term * x[..., row, column]
    return term


def _is_odd(order: tuple[int, ...]) -> bool:
    """Whether a permutation swaps an odd number of pairs."""
    pairs = ((a, b) for i, a in enumerate(order) for b in order[i + 1 :])
    return sum(a > b for a, b in pairs) % 2 == 1
