"""Files of weights: their entries, and readers of each weight on first use."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.external import reader as external
from rlx.frontends.onnx.file import parse
from rlx.frontends.reading import read_bytes, read_start
from rlx.frontends.refusal import (
    DamagedError,
    FileRefusedError,
    MalformedError,
    OverLimitError,
)
from rlx.frontends.weights.gguf import MAGIC, stored_gguf
from rlx.frontends.weights.other_files import refuse
from rlx.frontends.weights.safetensors import StoredTensor, stored_tensors, unique_names
from rlx.frontends.weights.weight import MappedFile, Weight, quoted, shown
from rlx.ir import DType, TensorType
from rlx.ir.payload import from_bytes
from rlx.support.errors import FrontendError, UsageError
from rlx.support.files.arrays import MAX_UNPACKED_BYTES, StoredArray, stored_arrays
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.support.limits import Limits

_PARTS = "download all parts into the index's folder"
_ZIP = b"PK"
_HEADER = b"{"
"""Begin of the header of safetensors, after its length."""

_START_BYTES = 9
"""Bytes at the start that tell the formats apart: a length of 8 bytes, and ``{`` after it."""


def open_file(path: Path, limits: Limits) -> dict[str, Weight]:
    """Return the weights of a file by name; only headers are read.

    Args:
        path: ``.npz``, ``.safetensors``, the ``.index.json`` of weights in several ``.safetensors``
            files next to it, ``.gguf``, or ``.onnx``.
        limits: Limits on the size of headers, and of an index.

    Raises:
        UsageError: The file cannot be read.
        FrontendError: It is malformed or over a limit.
        FormatError: It is of another format.
    """
    start, suffix = read_start(path, _START_BYTES), path.suffix.lower()
    try:
        if suffix == ".json":
            return _open_index(path, limits)
        if suffix == ".onnx":
            return _open_onnx(path, limits)
        if start.startswith(_ZIP):
            return _open_npz(path)
        if start.startswith(MAGIC):
            return _of_tensors(path, stored_gguf(path, limits))
        if suffix == ".safetensors" or start.endswith(_HEADER):
            return _open_safetensors(path, limits)
        raise refuse(path)
    except FileRefusedError as error:
        raise error.public(shown(path)) from None


def _open_safetensors(path: Path, limits: Limits) -> dict[str, Weight]:
    return _of_tensors(path, stored_tensors(path, limits))


def _open_onnx(path: Path, limits: Limits) -> dict[str, Weight]:
    """Return the constants of a model; its file is read as a whole."""
    data = read_bytes(path, limits)
    model = parse(data, shown(path), external(path, limits, allowed=False), limits)
    weights = {}
    for name, tensor in model.tensors.items():
        array = tensor.array.copy()  # else one weight would keep the whole file
        array.flags.writeable = False
        type_ = TensorType(array.shape, tensor.dtype)
        weights[name] = Weight(type_, path, array=array)
    return weights


def _of_tensors(path: Path, tensors: list[StoredTensor]) -> dict[str, Weight]:
    file = MappedFile(path)
    return {t.name: _of_tensor(file, t) for t in tensors}


def _of_tensor(file: MappedFile, tensor: StoredTensor) -> Weight:
    type_ = TensorType(tensor.shape, tensor.dtype)
    if tensor.form is not None:
        return Weight(type_, file.path, partial(_decoded, file, tensor))
    read = partial(_mapped, file, tensor.start, type_, tensor.name)
    return Weight(type_, file.path, read)


def _decoded(file: MappedFile, tensor: StoredTensor) -> Array:
    """Return elements that are stored in another form.

    Raises:
        FrontendError: It is not decoded.
    """
    try:
        return tensor.decoded(file.view(tensor.start, tensor.nbytes))
    except ValueError as error:
        raise FrontendError(
            f"{quoted(tensor.name)} {error}",
            where=shown(file.path),
            hint="convert the model to F32, F16, BF16 or Q8_0",
        ) from None


def _mapped(file: MappedFile, start: int, type_: TensorType, name: str, order: str = "C") -> Array:
    """Return an array whose elements stay in the file, unless the machine cannot read them there.

    Raises:
        FrontendError: The bytes are not elements of the type.
    """
    try:
        array = from_bytes(file.view(start, type_.nbytes), type_)
    except ValueError as error:
        raise FrontendError(
            f"{quoted(name)}: {error}", where=shown(file.path), hint=DamagedError.default_hint
        ) from None
    if order == "F":
        array = array.reshape(-1).reshape(type_.static_shape, order="F")
    # Tensors may begin anywhere in a file; products of such elements are slow or impossible.
    return array if array.flags.aligned else array.copy(order="K")


def _open_npz(path: Path) -> dict[str, Weight]:
    try:
        arrays = stored_arrays(path)
    except OSError as error:
        raise DamagedError(f"cannot be read: {error.strerror}") from None
    if not arrays:
        raise refuse(path)
    file = MappedFile(path)
    packed = sum(stored.nbytes for stored in arrays.values() if stored.offset is None)
    limit = max(MAX_UNPACKED_BYTES, file.size)
    if packed > limit:
        raise OverLimitError(
            f"unpacks to {packed} bytes, more than the {limit} that are read",
            hint="write it with numpy.savez (not compressed)",
        )
    return {name: _of_array(file, name, stored) for name, stored in arrays.items()}


def _of_array(file: MappedFile, name: str, stored: StoredArray) -> Weight:
    type_ = TensorType(stored.shape, DType.of(stored.dtype.newbyteorder("=")))
    if stored.offset is None:
        return Weight(type_, file.path, partial(_unpacked, stored))
    order = "F" if stored.fortran else "C"
    return Weight(type_, file.path, partial(_mapped, file, stored.offset, type_, name, order))


def _unpacked(stored: StoredArray) -> Array:
    """Return an array that is compressed, or of another byte order."""
    blocks = list(stored.blocks(max(len(stored), 1)))
    if not blocks:
        return np.empty(stored.shape, stored.dtype.newbyteorder("="))
    array: Array = blocks[0].reshape(stored.shape)
    return array


def _open_index(path: Path, limits: Limits) -> dict[str, Weight]:
    """Return the weights of several files, as their index says which is where."""
    content = _index(path, limits)
    parts: dict[str, dict[str, Weight]] = {}
    weights: dict[str, Weight] = {}
    for name, part in content.items():
        if part not in parts:
            parts[part] = _open_part(path, part, limits)
        if name not in parts[part]:
            raise MalformedError(f"{quoted(name)} is not in {quoted(part)}, as the index says")
        weights[name] = parts[part][name]
    return weights


def _open_part(index: Path, part: str, limits: Limits) -> dict[str, Weight]:
    # A name out of a file may not lead anywhere else.
    if Path(part).name != part or "\\" in part or ":" in part or not part.endswith(".safetensors"):
        raise MalformedError(
            f"expected a .safetensors file in the folder of the index, got {quoted(part)}",
            hint="keep index and parts in one folder; an index names files, not paths",
        )
    path = index.with_name(part)
    if not path.exists():
        raise MalformedError(f"{quoted(part)} does not exist", hint=_PARTS)
    try:
        return _open_safetensors(path, limits)
    except FileRefusedError as error:
        raise error.inside(quoted(part)) from None
    except UsageError as error:
        raise MalformedError(f"{quoted(part)} {error.message}", hint=_PARTS) from None


def _index(path: Path, limits: Limits) -> dict[str, str]:
    """Return the file of each weight."""
    data = read_start(path, limits.document_bytes + 1)
    if len(data) > limits.document_bytes:
        raise OverLimitError(
            f"has more than {limits.document_bytes} bytes, the limit",
            hint=raise_hint("document_bytes"),
        )
    try:
        content: Any = json.loads(data, object_pairs_hook=unique_names)
    except (ValueError, RecursionError):
        raise DamagedError("expected JSON") from None
    parts = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(parts, dict) or not all(isinstance(part, str) for part in parts.values()):
        raise MalformedError(
            "expected a 'weight_map' from names to files",
            hint="give the .safetensors.index.json in the folder of the parts",
        )
    if len(parts) > limits.tensors:
        raise OverLimitError(
            f"has {len(parts)} tensors; the limit is {limits.tensors}",
            hint=raise_hint("tensors", len(parts)),
        )
    return parts
