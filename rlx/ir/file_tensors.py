"""The ``.rlx`` file: constants as tensors, and the checksum of everything.

Tests: tests/unit/ir/test_file.py
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.ir.payload import from_bytes, to_buffer
from rlx.ir.plain import PlainError
from rlx.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir.types import Array, TensorType

NodePath: TypeAlias = tuple[int | str, ...]
"""Place of a node: its index; in a region after the index of the outer node and the attribute."""

# Stored unchanged; all others as bytes.
_NATIVE = {
    DType.F64: "F64", DType.F32: "F32", DType.F16: "F16", DType.I64: "I64", DType.I32: "I32",
    DType.I16: "I16", DType.I8: "I8", DType.U64: "U64", DType.U32: "U32",
    DType.U16: "U16", DType.U8: "U8", DType.BOOL: "BOOL",
}  # fmt: skip


def tensor_name(path: NodePath) -> str:
    """Return the name of a constant's tensor: ``constant.3``, in a region ``constant.7.body.3``."""
    return ".".join(map(str, ("constant", *path)))


def seal(document: Any, constants: Mapping[NodePath, Array]) -> str:  # noqa: ANN401 - JSON
    """Return the SHA-256 of the document and the constants."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for path in sorted(constants):
        digest.update(to_buffer(constants[path]))
    return digest.hexdigest()


def stored(array: Array) -> Array:
    """Return a constant as a tensor of the file."""
    if DType.of(array) in _NATIVE:
        return np.asarray(array, order="C")
    return np.frombuffer(to_buffer(array), np.uint8)


def read_constant(name: str, type_: TensorType, tensors: Any) -> Array:  # noqa: ANN401
    """Return the array of one constant from the tensors of a file.

    Raises:
        PlainError: The tensor is not of the constant's type.
    """
    if not type_.is_static:
        raise PlainError(f"expected a constant with a static shape, got {type_}")
    native = _NATIVE.get(type_.dtype, "U8")
    stored = tensors.get_slice(name)
    expected = list(type_.static_shape) if type_.dtype in _NATIVE else stored.get_shape()
    if stored.get_dtype() != native or stored.get_shape() != expected:
        raise PlainError(f"tensor {name} is not stored as {type_}")
    data = to_buffer(tensors.get_tensor(name))
    try:
        array = from_bytes(data, type_)
    except ValueError as e:
        raise PlainError(f"tensor {name}: {e}") from e
    array.flags.writeable = False
    return array
