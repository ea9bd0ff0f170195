"""Flatbuffers written by the schema tables that ``rlx.frontends.tflite.flatbuffer`` reads by.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.frontends.tflite.flatbuffer import (
    Child,
    Children,
    Numbers,
    Scalar,
    Table,
    Text,
    UnionField,
)
from rlx.support.errors import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlx.frontends.tflite.flatbuffer import FieldType

_ALIGNMENT: Final = 16
"""Bytes; vectors of bytes start at a multiple, since interpreters read constants in place."""

_SLOTS: Final = {
    "?": "Bool",
    "i1": "Int8",
    "u1": "Uint8",
    "i4": "Int32",
    "u4": "Uint32",
    "i8": "Int64",
    "u8": "Uint64",
    "f4": "Float32",
}
"""Type in the names of the builder's methods, by NumPy's code."""


def pack(table: Table, values: Mapping[str, Any], identifier: bytes) -> bytes:
    """Return the bytes of a file.

    Args:
        table: Definition of the root table.
        values: Its fields by name. A ``Scalar`` is a number, ``Numbers`` an array, ``Text`` a str,
            ``Child`` such a mapping again, ``Children`` a sequence of mappings, ``UnionField`` a
            pair: number of the table in the union, and its mapping. A field that is left out is
            absent in the file.
        identifier: The four bytes that mark the format.

    Raises:
        ToolMissingError: The package flatbuffers is not installed.
    """
    try:
        import flatbuffers
    except ImportError:
        raise ToolMissingError(
            "flatbuffers is not installed", hint="pip install 'rlx[export]'"
        ) from None
    builder = flatbuffers.Builder(4096)
    builder.Finish(_Writer(builder).table(table, values), file_identifier=identifier)
    return bytes(builder.Output())


class _Writer:
    """Writes tables into a builder, children before parents, as the format demands."""

    def __init__(self, builder: Any) -> None:  # noqa: ANN401 - the package has no annotations
        self._builder = builder

    def table(self, table: Table, values: Mapping[str, Any]) -> int:
        """Write a table and return its offset."""
        unknown = set(values) - {entry.name for entry in table.fields}
        if unknown:
            raise ValueError(f"{table.name} has no field {sorted(unknown)[0]!r}")
        present = [entry for entry in table.fields if entry.name in values]
        offsets = {
            entry.id: self._child(entry.type, values[entry.name])
            for entry in present
            if not isinstance(entry.type, Scalar)
        }
        self._builder.StartObject(max((entry.id for entry in table.fields), default=-1) + 1)
        for entry in present:
            value = values[entry.name]
            if isinstance(entry.type, Scalar):
                self._scalar(entry.id, entry.type, value)
                continue
            if isinstance(entry.type, UnionField):
                self._builder.PrependUint8Slot(entry.id - 1, value[0], 0)
            self._builder.PrependUOffsetTRelativeSlot(entry.id, offsets[entry.id], 0)
        return int(self._builder.EndObject())

    def _scalar(self, slot: int, kind: Scalar, value: float) -> None:
        prepend = getattr(self._builder, f"Prepend{_SLOTS[kind.code]}Slot")
        prepend(slot, value, kind.default)

    def _child(self, kind: FieldType, value: Any) -> int:  # noqa: ANN401 - as the field's type says
        match kind:
            case Text():
                return int(self._builder.CreateString(value))
            case Numbers(code):
                return self._numbers(np.ascontiguousarray(value, f"<{code}"))
            case Child(table):
                return self.table(table, value)
            case Children(table):
                return self._offsets([self.table(table, each) for each in value])
            case UnionField(tables):
                number, fields = value
                return self.table(tables[number], fields)
        raise AssertionError(f"{kind} is not written")

    def _numbers(self, array: np.ndarray[Any, Any]) -> int:
        if array.dtype.itemsize == 1:
            self._builder.Prep(_ALIGNMENT, array.nbytes)
        return int(self._builder.CreateNumpyVector(array))

    def _offsets(self, offsets: Iterable[int]) -> int:
        listed = list(offsets)
        self._builder.StartVector(4, len(listed), 4)
        # The builder fills its buffer from the end: the first element is prepended last.
        for offset in reversed(listed):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())
