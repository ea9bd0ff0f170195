"""GGUF files: the tensors in them. Blocks of few bits become float32 when they are read.

Source: the specification of GGUF in the repository ggml, docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rlx.frontends.reading import read_start
from rlx.frontends.refusal import (
    DamagedError,
    FileRefusedError,
    MalformedError,
    OverLimitError,
    UnsupportedError,
)
from rlx.frontends.weights.gguf_blocks import FORMS
from rlx.frontends.weights.safetensors import StoredTensor
from rlx.frontends.weights.weight import quoted
from rlx.ir import DType
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.support.limits import Limits

MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_BIG_ENDIAN: Final = tuple(version.to_bytes(4, "little") for version in _VERSIONS)
_DTYPES: Final = {
    0: DType.F32, 1: DType.F16, 24: DType.I8, 25: DType.I16, 26: DType.I32, 27: DType.I64,
    28: DType.F64, 30: DType.BF16,
}  # fmt: skip
_ALIGNMENT: Final = "general.alignment"
_DEFAULT_ALIGNMENT: Final = 32
"""Bytes, where the metadata do not say it (GGUF specification)."""

# Types of values in the metadata.
_UINT32, _STRING, _ARRAY = 4, 8, 9
_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def stored_gguf(path: Path, limits: Limits) -> list[StoredTensor]:
    """Return the tensors of a file after checking its header.

    Raises:
        UsageError: It cannot be read.
        RefusedError: It is malformed, over a limit, or holds tensors of an unknown type.
    """
    size = path.stat().st_size
    head = _Head(read_start(path, limits.document_bytes), size, limits)
    head.take(len(MAGIC))
    version = head.number("<I")
    if version not in _VERSIONS and version.to_bytes(4, "little")[::-1] in _BIG_ENDIAN:
        raise UnsupportedError(
            "is a big-endian file of GGUF; read are little-endian ones",
            hint=f"turn it with the Python package gguf: gguf-convert-endian {path.name} little",
        )
    if version not in _VERSIONS:
        raise UnsupportedError(
            f"is of version {version} of GGUF; read are 2 and 3", hint="convert the model again"
        )
    tensors, entries = head.number("<Q"), head.number("<Q")
    if tensors > limits.tensors:
        raise OverLimitError(
            f"has {tensors} tensors; the limit is {limits.tensors}",
            hint=raise_hint("tensors", tensors),
        )
    alignment = _DEFAULT_ALIGNMENT
    for _ in range(entries):
        key, kind = head.text(), head.number("<I")
        if key == _ALIGNMENT and kind == _UINT32:
            alignment = head.number("<I")
        else:
            head.skip(kind)
    if alignment < 1:
        raise DamagedError(f"has {_ALIGNMENT} {alignment}")
    tensor_list = [_tensor(path, head, limits) for _ in range(tensors)]
    start = -(-head.offset // alignment) * alignment
    placed = [replace(t, start=start + t.start) for t in sorted(tensor_list, key=lambda t: t.name)]
    _check(placed, size)
    return placed


def _tensor(path: Path, head: _Head, limits: Limits) -> StoredTensor:
    """Read one tensor's description; its place is counted from the first tensor."""
    name, rank = head.text(), head.number("<I")
    if rank > limits.rank:
        raise OverLimitError(
            f"{quoted(name)} has {rank} dimensions; the limit is {limits.rank}",
            hint=raise_hint("rank", rank),
        )
    shape = tuple(reversed([head.number("<Q") for _ in range(rank)]))
    kind, offset = head.number("<I"), head.number("<Q")
    if kind in _DTYPES:
        return StoredTensor(path, name, _DTYPES[kind], shape, offset)
    if kind not in FORMS:
        raise UnsupportedError(
            f"{quoted(name)} is of type {kind} of GGML, which rlx does not know",
            hint="convert the model to F32, F16, BF16 or Q8_0",
        )
    form = FORMS[kind]
    if not shape or shape[-1] % form.elements:
        raise MalformedError(
            f"{quoted(name)} is {form.name}, in blocks of {form.elements}, but has the shape "
            f"{list(shape)}"
        )
    return StoredTensor(path, name, DType.F32, shape, offset, form)


def _check(tensors: list[StoredTensor], size: int) -> None:
    """Raise MalformedError if names repeat, or elements are outside the file."""
    for before, tensor in pairwise(tensors):
        if before.name == tensor.name:
            raise MalformedError(f"has two tensors called {quoted(tensor.name)}")
    for tensor in tensors:
        end = tensor.start + tensor.nbytes
        if end > size:
            raise DamagedError(f"{quoted(tensor.name)} ends at byte {end}, the file at {size}")


@dataclass(slots=True)
class _Head:
    """The beginning of a file, read from front to back.

    Attributes:
        data: Its bytes.
        size: Bytes of the file.
        limits: Limits, by which ``data`` may be shorter than the file.
        offset: Number of bytes that were read.
    """

    data: bytes
    size: int
    limits: Limits
    offset: int = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.offset + count
        if end > len(self.data):
            raise self._too_short(end)
        found = self.data[self.offset : end]
        self.offset = end
        return found

    def number(self, form: str) -> int:
        """Return the next unsigned integer."""
        (found,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(found)

    def text(self) -> str:
        """Return the next text."""
        return self.take(self.number("<Q")).decode("utf-8", errors="replace")

    def skip(self, kind: int, *, depth: int = 0) -> None:
        """Pass over a value of the metadata."""
        if kind in _SIZES:
            self.take(_SIZES[kind])
        elif kind == _STRING:
            self.take(self.number("<Q"))
        elif kind == _ARRAY and depth < self.limits.nesting:
            inner, count = self.number("<I"), self.number("<Q")
            if inner in _SIZES:
                self.take(count * _SIZES[inner])
                return
            for _ in range(count):  # every turn consumes bytes, or ends
                self.skip(inner, depth=depth + 1)
        else:
            raise DamagedError(f"has metadata of type {kind}")

    def _too_short(self, end: int) -> FileRefusedError:
        if end > self.size:
            return DamagedError(f"ends at byte {self.size}, before its header does")
        return OverLimitError(
            f"has a header of more than {self.limits.document_bytes} bytes, the limit",
            hint=raise_hint("document_bytes"),
        )
