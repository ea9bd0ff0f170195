"""Checks and number handling that the real ops share.

Ops compute in the element type of their operands. The narrow floating-point types (f16, bf16 and
the f8 types) are widened to float32, and the result is rounded once.

Tests: tests/unit/ops/test_every_real_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.ir import DType

if TYPE_CHECKING:
    from rlx.ir import Array, Op, TensorType

Numbers: TypeAlias = npt.NDArray[Any]

_SUB_BYTE = (DType.I4, DType.I2)
_WIDE_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def is_number(dtype: DType) -> bool:
    """Return whether ops can compute with ``dtype``: a float, or an integer of at least 8 bits."""
    return dtype.is_float or (dtype.is_integer and dtype not in _SUB_BYTE)


def check_unquantized(op: Op, *types: TensorType) -> None:
    """Raise ShapeError if one of ``types`` holds quantized values."""
    for type_ in types:
        if type_.quant is not None:
            raise op.refuse(
                f"{type_} holds quantized values", hint="dequantize it first (real.dequantize)"
            )


def check_float(op: Op, *types: TensorType) -> None:
    """Raise ShapeError unless all of ``types`` hold floating-point values of one type."""
    check_same(op, *types)
    if not types[0].dtype.is_float:
        raise op.refuse(f"expected a floating-point tensor, got {types[0]}")


def check_number(op: Op, *types: TensorType) -> None:
    """Raise ShapeError unless all of ``types`` hold numbers of one type, none of them quantized."""
    check_same(op, *types)
    check_unquantized(op, *types)
    if not is_number(types[0].dtype):
        raise op.refuse(f"expected a tensor of numbers, got {types[0]}")


def check_same(op: Op, *types: TensorType) -> None:
    """Raise ShapeError unless all of ``types`` have one element type."""
    if len({t.dtype for t in types}) > 1:
        raise op.refuse(
            f"operands need one element type, got {', '.join(map(str, types))}",
            hint="convert one of them with real.cast",
        )


def check_index(op: Op, type_: TensorType) -> None:
    """Raise ShapeError unless ``type_`` holds integers that can be indices."""
    if not type_.dtype.is_integer or type_.dtype in _SUB_BYTE or type_.quant is not None:
        raise op.refuse(f"indices must be integers, got {type_}")


def widen(x: Array) -> Numbers:
    """Return ``x`` in the type that ops compute in: narrow floats become float32."""
    if x.dtype.kind in "iub" or x.dtype in _WIDE_FLOATS:
        return x
    return x.astype(np.float32) if DType.of(x).is_float else x


def narrow(x: Numbers, dtype: np.dtype[np.generic]) -> Array:
    """Return ``x`` rounded to ``dtype``, always as an array (NumPy turns rank 0 into scalars)."""
    return np.asarray(x, dtype=dtype)
