"""Element types of ONNX and how a file stores tensors of them.

Tests: tests/unit/frontends/onnx/ops/test_narrow.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from rlx.frontends.onnx.texts import name_of
from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.ir import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.ir import Array

ELEMENTS: Mapping[int, str] = {
    1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 8: "strings", 9: "bool",
    10: "f16", 11: "f64", 12: "u32", 13: "u64", 14: "c64", 15: "c128", 16: "bf16", 17: "f8e4m3",
    18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz", 21: "u4", 22: "i4", 23: "f4e2m1",
    24: "f8e8m0", 25: "u2", 26: "i2", 27: "f6e2m3", 28: "f6e3m2",
}  # fmt: skip
"""Names of element types by their number in ``TensorProto.DataType``."""

_BY_NAME = {dtype.value: dtype for dtype in DType}
DTYPES: Mapping[int, DType] = {
    number: _BY_NAME[name] for number, name in ELEMENTS.items() if name in _BY_NAME
}
"""Element types that rlx has, by their number."""

NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
"""The number of each element type."""

_PACKED = {"u4": 4, "i4": 4, "u2": 2, "i2": 2, "f4e2m1": 4, "f6e2m3": 6, "f6e3m2": 6}

# Floats of 4 and 6 bits by their NumPy names; float8_e4m3fn holds each of their values.
_NARROW_FLOATS = {
    "f4e2m1": ml_dtypes.float4_e2m1fn, "f6e2m3": ml_dtypes.float6_e2m3fn,
    "f6e3m2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip

UNSIGNED_BITS: Mapping[int, int] = {21: 4, 25: 2}
"""Bits of the unsigned integers that become uint8."""

# The field of TensorProto that holds elements which are not raw bytes, and its NumPy type.
_FIELDS = {
    **dict.fromkeys(("f32", "c64"), ("float_data", np.float32)),
    **dict.fromkeys(("f64", "c128"), ("double_data", np.float64)),
    **dict.fromkeys(("u32", "u64"), ("uint64_data", np.uint64)),
    "i64": ("int64_data", np.int64),
}
# Bit patterns of narrow floats in a field of int32.
_PATTERNS = {"f16": np.uint16, "bf16": np.uint16, "f8e4m3": np.uint8, "f8e5m2": np.uint8}


def decode(
    tensor: Any,  # noqa: ANN401 - a TensorProto
    shape: tuple[int, ...],
    external: Callable[[Mapping[str, str]], bytes],
) -> Array:
    """Return the elements of a tensor.

    Args:
        tensor: The tensor as protobuf.
        shape: Its dimensions, within the limits.
        external: Reads the data that it keeps in another file.

    Raises:
        MalformedError: Shape, element type and data contradict each other.
        UnsupportedError: rlx has no such element type, or external data is not allowed.
    """
    name = ELEMENTS[tensor.data_type]
    if tensor.HasField("segment"):
        raise UnsupportedError("is stored in segments", hint="store the tensor in one piece")
    if tensor.data_type not in DTYPES and name not in (*_PACKED, *_NARROW_FLOATS):
        raise UnsupportedError(
            f"holds {name}, which rlx does not model",
            hint="use float, integer or boolean tensors",
        )
    if tensor.data_location == 1:
        entries = {name_of(e.key): name_of(e.value) for e in tensor.external_data}
        return _raw(name, external(entries), shape)
    if tensor.HasField("raw_data"):
        return _raw(name, tensor.raw_data, shape)
    return _typed(name, tensor, shape)


def _raw(name: str, data: bytes, shape: tuple[int, ...]) -> Array:
    """Return elements that are stored as bytes, little endian."""
    count = math.prod(shape)
    bits = _PACKED.get(name)
    dtype = np.dtype(np.uint8) if bits else _BY_NAME[name].numpy
    byte_count = (count * bits + 7) // 8 if bits else count * dtype.itemsize
    if len(data) != byte_count:
        raise MalformedError(
            f"is {name}{list(shape)}, which takes {byte_count} bytes, but there are {len(data)}"
        )
    if bits:
        return _unpack(name, np.frombuffer(data, np.uint8), bits, count).reshape(shape)
    if name == "bool":
        truths: Array = (np.frombuffer(data, np.uint8) != 0).reshape(shape)
        return truths
    elements: Array = np.frombuffer(data, dtype).reshape(shape)
    return elements


def _typed(name: str, tensor: Any, shape: tuple[int, ...]) -> Array:  # noqa: ANN401
    """Return elements that are stored as numbers."""
    count = math.prod(shape)
    field, wide = _FIELDS.get(name, ("int32_data", np.int32))
    numbers: npt.NDArray[Any] = np.array(getattr(tensor, field), wide)
    # Elements of 6 bits have a number each, smaller ones share it.
    bits = None if _PACKED.get(name) == 6 else _PACKED.get(name)
    expected = (count * bits + 7) // 8 if bits else count * (2 if name == "c64" else 1)
    if numbers.size != expected:
        raise MalformedError(
            f"is {name}{list(shape)}, which takes {expected} numbers, but there are {numbers.size}"
        )
    if bits:
        return _unpack(name, numbers.astype(np.uint8), bits, count).reshape(shape)
    if name in _PATTERNS:
        patterns = numbers.astype(_PATTERNS[name])
        floats: Array = patterns.view(_BY_NAME[name].numpy).reshape(shape)
        return floats
    if name == "c64":
        pairs: Array = numbers.view(np.complex64).reshape(shape)
        return pairs
    if name in _NARROW_FLOATS:
        return _widened(name, numbers.astype(np.uint8)).reshape(shape)
    elements: Array = numbers.astype(_BY_NAME[name].numpy).reshape(shape)
    return elements


def _widened(name: str, patterns: npt.NDArray[np.uint8]) -> Array:
    """Return floats of 4 and 6 bits as floats of 8 bits."""
    mask = np.uint8(15 if name == "f4e2m1" else 63)
    numbers: Array = (patterns & mask).view(_NARROW_FLOATS[name]).astype(ml_dtypes.float8_e4m3fn)
    return numbers


def _unpack(name: str, data: npt.NDArray[np.uint8], bits: int, count: int) -> Array:
    """Return elements of less than 8 bits, the first in the lowest bits of a byte.

    Unsigned ones, for which rlx has no type, become uint8.
    """
    each = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    fields = np.packbits(each, axis=1, bitorder="little").reshape(-1)
    if name.startswith("u"):
        return fields
    if name in _NARROW_FLOATS:
        return _widened(name, fields)
    half = 1 << (bits - 1)
    signed = (fields.astype(np.int16) ^ half) - half
    narrow: Array = signed.astype(ml_dtypes.int4 if bits == 4 else ml_dtypes.int2)
    return narrow
