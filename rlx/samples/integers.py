"""Integers of a caller or of a file, in the element type of an input.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ops.real.cast import integer_range
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import TensorType

    Numbers = npt.NDArray[Any]


def in_type(array: Numbers, type_: TensorType, where: str, *, hint: str) -> Numbers:
    """Return integral values in the element type of an input, any shape.

    Args:
        array: The values, of any element type.
        type_: The input's type; only an integer type has a range that is checked.
        where: Place of the values in messages.
        hint: Advice if a value is out of range.

    Raises:
        UsageError: The element type does not hold a value.
    """
    if type_.dtype.is_integer and array.size:
        low, high = integer_range(type_.dtype)
        minimum, maximum = int(array.min()), int(array.max())
        if minimum < low or maximum > high:
            raise UsageError(
                f"expected integers in the range of {type_}, got {minimum} to {maximum}",
                where=where,
                hint=hint,
            )
    return array.astype(type_.dtype.numpy)
