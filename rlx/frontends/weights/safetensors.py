"""Safetensors files: the tensors in them, checked before any of them is read.

Tests: tests/unit/frontends/weights/test_loading.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from rlx.frontends.reading import read_start
from rlx.frontends.refusal import DamagedError, MalformedError, OverLimitError
from rlx.frontends.stored_forms import SAFETENSORS, StorageForm
from rlx.frontends.weights.weight import quoted
from rlx.ir import DType, TensorType
from rlx.ir.payload import from_bytes
from rlx.support.limits import raise_hint
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rlx.ir import Array
    from rlx.support.limits import Limits

_LENGTH_BYTES = 8
"""Bytes of the header's length, the first of the file."""
_DTYPES = {
    "F64": DType.F64,
    "F32": DType.F32,
    "F16": DType.F16,
    "BF16": DType.BF16,
    "F8_E4M3": DType.F8E4M3,
    "F8_E5M2": DType.F8E5M2,
    "I64": DType.I64,
    "I32": DType.I32,
    "I16": DType.I16,
    "I8": DType.I8,
    "U64": DType.U64,
    "U32": DType.U32,
    "U16": DType.U16,
    "U8": DType.U8,
    "BOOL": DType.BOOL,
}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a file.

    Attributes:
        path: The file.
        name: Its name there.
        dtype: Element type.
        shape: Dimensions.
        start: Place of its first byte in the file.
        form: Form in which its elements are stored, where that is not as in memory.
    """

    path: Path
    name: str
    dtype: DType
    shape: tuple[int, ...]
    start: int
    form: StorageForm | None = None

    @property
    def nbytes(self) -> int:
        """Number of its bytes in the file."""
        type_ = TensorType(self.shape, self.dtype)
        return type_.nbytes if self.form is None else self.form.size(type_.size)

    def decoded(self, data: bytes | memoryview) -> Array:
        """Return the elements from the bytes of the file.

        Raises:
            ValueError: They are none of the element type, or of a form that is not decoded.
        """
        if self.form is None:
            return from_bytes(data, TensorType(self.shape, self.dtype))
        return self.form.read(data).reshape(self.shape)

    def read(self) -> Array:
        """Return the elements.

        Raises:
            ValueError: They are none of the element type.
        """
        with self.path.open("rb") as file:
            file.seek(self.start)
            return self.decoded(file.read(self.nbytes))


def stored_tensors(path: Path, limits: Limits) -> list[StoredTensor]:
    """Return the tensors of a file, by name, after checking its header.

    The size of the file is not limited: only the header is read.

    Raises:
        UsageError: It cannot be read.
        RefusedError: It is malformed or over a limit.
    """
    length = int.from_bytes(read_start(path, _LENGTH_BYTES), "little")
    size = path.stat().st_size
    if length > size:  # no higher limit would help
        raise DamagedError(f"has a header of {length} bytes, but {size} bytes in all")
    if length > limits.document_bytes:
        raise OverLimitError(
            f"has a header of {length} bytes; the limit is {limits.document_bytes}",
            hint=raise_hint("document_bytes", length),
        )
    try:
        # The library checks the header: offsets in range, without gap or overlap, sizes that fit.
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedError(f"not a readable safetensors file: {printable(str(error))}") from None
    text = read_start(path, _LENGTH_BYTES + length)[_LENGTH_BYTES:]
    header = json.loads(text, object_pairs_hook=unique_names)
    header.pop("__metadata__", None)
    if len(header) > limits.tensors:
        raise OverLimitError(
            f"has {len(header)} tensors; the limit is {limits.tensors}",
            hint=raise_hint("tensors", len(header)),
        )
    base = _LENGTH_BYTES + length
    return [_stored(path, name, entry, base) for name, entry in sorted(header.items())]


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; one name twice would mean different things to different readers."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DamagedError("its text has a name twice")
    return found


def _stored(path: Path, name: str, entry: Mapping[str, Any], base: int) -> StoredTensor:
    """Return one tensor; the library has checked its entry."""
    form = SAFETENSORS.get(entry["dtype"])
    dtype = DType.F32 if form else _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise MalformedError(
            f"tensor {quoted(name)} has the element type {printable(str(entry['dtype']))}",
            hint=f"store the weights in one of {', '.join((*_DTYPES, *SAFETENSORS))}",
        )
    start = base + int(entry["data_offsets"][0])
    return StoredTensor(path, name, dtype, tuple(int(n) for n in entry["shape"]), start, form)
