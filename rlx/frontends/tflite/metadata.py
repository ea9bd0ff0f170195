"""Names of the classes of an output, from the metadata of a TFLite file.

Tools such as TensorFlow's ``MetadataWriter`` store a flatbuffer of their own in a buffer of the
file, and append the text files that it names as a ZIP archive.

Source: ``metadata_schema.fbs`` of tflite-support, identifier M001.

Tests: tests/targets/cortexm/test_labels.py
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Final

from rlx.frontends.refusal import FileRefusedError
from rlx.frontends.tflite.flatbuffer import (
    Children,
    Field,
    FieldType,
    Numbers,
    Reader,
    Record,
    Scalar,
    Table,
    Text,
)
from rlx.frontends.tflite.schema import IDENTIFIER
from rlx.support.text.names import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAME: Final = "TFLITE_METADATA"
"""Name of the entry in the list of metadata."""

AXIS_LABELS: Final = 2
"""Kind of a file that has the name of each entry of an axis, one in a line."""

MAX_BYTES: Final = 1 << 20
"""Longest list of names that is read."""

_DAMAGED: Final = (
    FileRefusedError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, OSError,
    NotImplementedError, RuntimeError, ValueError,
)  # fmt: skip
"""Errors of a file that is not as it should be; zipfile has no common one."""


def _table(name: str, *fields: tuple[int, str, FieldType]) -> Table:
    return Table(name, tuple(Field(*entry) for entry in fields))


_MODEL: Final = _table(
    "Model",
    (4, "buffers", Children(_table("Buffer", (0, "data", Numbers("u1"))), "tensors")),
    (
        6,
        "metadata",
        Children(_table("Metadata", (0, "name", Text()), (1, "buffer", Scalar("u4"))), "nodes"),
    ),
)
_FILE: Final = _table("AssociatedFile", (0, "name", Text()), (2, "type", Scalar("i1")))
_TENSOR: Final = _table("TensorMetadata", (6, "files", Children(_FILE, "nodes")))
_GRAPH: Final = _table("SubGraphMetadata", (3, "outputs", Children(_TENSOR, "operands")))
_METADATA: Final = _table("ModelMetadata", (3, "graphs", Children(_GRAPH, "nodes")))


def labels_of(path: Path) -> tuple[str, ...] | None:
    """Return the names of the classes of a TFLite file's first output.

    Args:
        path: A file; one without such names, of another format or with damaged metadata results in
            None: a network does not depend on them.
    """
    content = path.read_bytes()
    if content[4:8] != IDENTIFIER:
        return None
    try:
        name = _name_of_file(content)
        return None if name is None else _lines(content, name)
    except _DAMAGED:
        return None


def _name_of_file(content: bytes) -> str | None:
    """Return the name of the file with the labels of the first output; None if there is none."""
    root = Reader(content).root(_MODEL, IDENTIFIER)
    entries = [entry for entry in root.records("metadata") if entry.text("name") == NAME]
    buffers = root.records("buffers")
    if not entries or entries[0].integer("buffer") >= len(buffers):
        return None
    stored = buffers[entries[0].integer("buffer")].array("data").tobytes()
    graphs = Reader(stored).root(_METADATA, b"M001").records("graphs")
    outputs = graphs[0].records("outputs") if graphs else ()
    return _labels_file(outputs[0].records("files")) if outputs else None


def _labels_file(files: Iterable[Record]) -> str | None:
    """Return the name of the first list of labels; languages differ in the others."""
    names = (file.text("name") for file in files if file.integer("type") == AXIS_LABELS)
    return next(names, None)


def _lines(content: bytes, name: str) -> tuple[str, ...] | None:
    """Return the lines of a file of the archive after the model."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entry = archive.getinfo(name)
        plain = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if entry.file_size > MAX_BYTES or not plain:
            return None
        with archive.open(name) as file:
            text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        return None
    lines = text.decode("utf-8-sig").rstrip().splitlines()
    return tuple(printable(line.strip()) for line in lines) or None
