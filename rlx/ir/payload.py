"""Contents of constants as bytes and as Python numbers, for files, text and hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir.types import Array, TensorType

MAX_SEEDED: Final = 1 << 20
"""Elements of a constant of which a text says no more than a seed, or that all are equal."""

_SUB_BYTE = {DType.I4: (-8, 7), DType.I2: (-2, 1)}


def to_bytes(array: Array) -> bytes:
    """Return the elements in row-major order, little-endian; those below 8 bits take a byte each.

    Equal arrays result in equal bytes on every machine.
    """
    return to_buffer(array).tobytes()


def to_buffer(array: Array) -> memoryview:
    """Return the bytes of ``to_bytes``; they share the array's memory where that holds them."""
    return np.ascontiguousarray(_to_stored(array)).reshape(-1).view(np.uint8).data


def seeded(seed: int, type_: TensorType) -> Array:
    """Return an array of reproducible random elements, the same on every machine.

    Integers are from the whole range of their type, those of more than 16 bits from -1024 to 1023;
    reals from -1 to 1.

    Raises:
        ValueError: More than ``MAX_SEEDED`` elements, or neither integers nor floats.
    """
    if not type_.is_static or type_.size > MAX_SEEDED:
        raise ValueError(f"a seed makes {MAX_SEEDED} elements at most, got {type_}")
    with np.errstate(over="ignore"):  # SplitMix64
        z = (np.arange(1, type_.size + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = (z ^ (z >> np.uint64(31))) >> np.uint64(40)
    dtype, shape = type_.dtype, type_.static_shape
    if dtype.is_float:
        return (bits.astype(np.float64) / 2**23 - 1).astype(dtype.numpy).reshape(shape)
    if not dtype.is_integer:
        raise ValueError(f"expected integers or floats for a seed, got {dtype.value}")
    low, high = _range(dtype)
    if high >= 1 << 16:
        low, high = max(low, -1024), 1023
    return (bits.astype(np.int64) % (high - low + 1) + low).astype(dtype.numpy).reshape(shape)


def from_bytes(data: bytes | memoryview, type_: TensorType) -> Array:
    """Return the array of ``type_`` whose ``to_bytes`` is ``data``; it may share its memory.

    Raises:
        ValueError: ``data`` has another length, or holds integers outside the element type.
    """
    stored = _stored_dtype(type_.dtype)
    wanted = type_.size * stored.itemsize
    if len(data) != wanted:
        raise ValueError(f"{type_} needs {wanted} bytes, got {len(data)}")
    array = np.frombuffer(data, stored).reshape(type_.static_shape)
    return _from_stored(array, type_.dtype)


def to_numbers(array: Array) -> list[bool | int | float] | None:
    """Return the elements in row-major order as Python numbers, or None if that loses something.

    Floats are the shortest ones that read back as the same element.
    """
    dtype = DType.of(array)
    flat = np.ravel(array)
    if dtype is DType.BOOL:
        return [bool(x) for x in flat]
    if dtype.is_integer:
        return [int(x) for x in flat]
    if not dtype.is_float or not np.isfinite(flat.astype(np.float64)).all():
        return None
    return [float(str(x)) if dtype is DType.F32 else float(x) for x in flat]


def from_numbers(numbers: Sequence[bool | int | float], type_: TensorType) -> Array:
    """Return the array of ``type_`` whose ``to_numbers`` is ``numbers``.

    Raises:
        ValueError: Too few or too many numbers, or one that the element type cannot hold.
    """
    if len(numbers) != type_.size:
        raise ValueError(f"expected {type_.size} numbers for {type_}, got {len(numbers)}")
    for number in numbers:
        if not _fits(number, type_.dtype):
            raise ValueError(f"expected {type_.dtype.value}, got {number!r}")
    with np.errstate(over="ignore"):
        array = np.array(numbers, _wide(type_.dtype)).astype(type_.dtype.numpy)
    if type_.dtype.is_float and not np.isfinite(array.astype(np.float64)).all():
        raise ValueError(f"a number is too large for {type_.dtype.value}")
    return array.reshape(type_.static_shape)


def _wide(dtype: DType) -> type:
    """Return a NumPy type that holds every number of ``dtype``."""
    if dtype is DType.BOOL:
        return np.bool_
    if dtype.is_float:
        return np.float64
    return np.uint64 if dtype is DType.U64 else np.int64


def _fits(number: bool | int | float, dtype: DType) -> bool:
    """Return whether ``dtype`` has such numbers; too large reals are found later."""
    if dtype is DType.BOOL or isinstance(number, bool):
        return dtype is DType.BOOL and isinstance(number, bool)
    if not dtype.is_integer:
        return dtype.is_float
    low, high = _range(dtype)
    return isinstance(number, int) and low <= number <= high


def _range(dtype: DType) -> tuple[int, int]:
    """Return the minimum and maximum of ``dtype``."""
    if dtype in _SUB_BYTE:
        return _SUB_BYTE[dtype]
    info = np.iinfo(dtype.numpy)  # type: ignore[type-var]  # integers only, by the caller
    return int(info.min), int(info.max)


def _stored_dtype(dtype: DType) -> np.dtype[np.generic]:
    """Return the NumPy type of the bytes."""
    return np.dtype(np.int8) if dtype in _SUB_BYTE else dtype.numpy.newbyteorder("<")


def _to_stored(array: Array) -> Array:
    """Return ``array`` in its stored form."""
    dtype = DType.of(array)
    return array.astype(_stored_dtype(dtype), copy=False)


def _from_stored(array: Array, dtype: DType) -> Array:
    """Return stored elements as ``dtype``."""
    if dtype in _SUB_BYTE:
        low, high = _SUB_BYTE[dtype]
        if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
            raise ValueError(f"{dtype.value} holds integers from {low} to {high} only")
    if dtype is DType.BOOL and array.size and int(array.view(np.uint8).max()) > 1:
        raise ValueError("bool holds 0 and 1 only")
    return array.astype(dtype.numpy, copy=False)
