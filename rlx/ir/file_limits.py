"""The ``.rlx`` file: how large the graph in it may be.

Tests: tests/unit/ir/test_file.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.ir.dims import factors, is_negative
from rlx.ir.graph import Constant
from rlx.ir.plain import PlainError
from rlx.ir.sizes import sizes_of
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from rlx.ir.op import Op
    from rlx.ir.types import TensorType
    from rlx.support.limits import Limits


def over(name: str, excess: str, number: int, limits: Limits) -> PlainError:
    """Return the error for a value over the limit ``name``."""
    return PlainError(
        f"{excess}; the limit is {getattr(limits, name)}", hint=raise_hint(name, number)
    )


def check_node(op: str, operands: int, types: tuple[TensorType, ...], limits: Limits) -> None:
    """Check one node before its op is made.

    Args:
        op: Name of the op.
        operands: Number of its operands.
        types: Types of the results.
        limits: Limits on these.

    Raises:
        PlainError: Something is larger than the limits allow.
    """
    if (count := max(operands, len(types))) > limits.operands:
        raise over("operands", f"it has {count} operands or results", count, limits)
    for type_ in types:
        _check_type(type_, limits)
        if op != Constant.name:
            _check_elements(type_, limits)


def _check_type(type_: TensorType, limits: Limits) -> None:
    """Raise PlainError if a dimension or the number of them is beyond the limits."""
    if len(type_.shape) > limits.rank:
        rank = len(type_.shape)
        raise over("rank", f"a tensor has {rank} dimensions", rank, limits)
    for size in type_.shape:
        if is_negative(size):
            raise PlainError(f"a dimension must not be negative, got {size}")
        number = max(map(abs, factors(size)))
        if number > limits.dimension:
            raise over("dimension", f"a dimension is {size}", number, limits)


def _check_elements(type_: TensorType, limits: Limits) -> None:
    """Raise PlainError if an input or a computed tensor is too large; for constants bytes count.

    Symbols count as 1.
    """
    elements = math.prod(d if isinstance(d, int) else max(sum(factors(d)), 1) for d in type_.shape)
    if elements > limits.elements:
        raise over("elements", f"a tensor has {elements} elements", elements, limits)


def check_sizes(op: Op, limits: Limits) -> None:
    """Raise PlainError if a size among the attributes of an op is beyond the limits."""
    for path, size in sizes_of(op):
        if size > limits.dimension:
            raise over("dimension", f"{op.name}: {path} is {size}", size, limits)
