"""Read flatbuffers without trusting them.

A flatbuffer is a web of relative offsets. Here every one is checked for range and alignment before
it is followed, so reading *is* verifying: ``Reader.root`` either returns plain records of
everything that the schema asks for, or raises ``MalformedError``. Fields unknown to the schema are
neither read nor checked.

Source: the FlatBuffers "internals" page (layout of tables, vtables, vectors and strings).

Tests: tests/unit/frontends/tflite/test_mutations.py
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.frontends.refusal import DamagedError, MalformedError, OverLimitError
from rlx.support.limits import DEFAULT_LIMITS, Limits, raise_hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number in the table itself.

    Attributes:
        code: NumPy's name of the little-endian type, such as ``i4``; ``?`` is a boolean.
        default: Value of an absent field.
        minimum: Smallest value allowed, None for no bound.
        maximum: Largest value allowed, None for no bound.
    """

    code: str
    default: float = 0
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """A vector of numbers; absent reads as empty."""

    code: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string; absent reads as empty."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether the field is there; its contents are not read."""


@dataclass(frozen=True, slots=True)
class Child:
    """A table; absent reads as None."""

    table: Table


@dataclass(frozen=True, slots=True)
class Children:
    """A vector of tables, up to the field ``limit`` of ``Limits``."""

    table: Table
    limit: str


@dataclass(frozen=True, slots=True)
class UnionField:
    """A union: the number in the field before this one says which table it is.

    A number without a table here reads as None, and so does a table that was left out.
    """

    tables: Mapping[int, Table]


FieldType: TypeAlias = Scalar | Numbers | Text | Presence | Child | Children | UnionField


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a table: number in the vtable, name, type."""

    id: int
    name: str
    type: FieldType


@dataclass(frozen=True, slots=True)
class Table:
    """The part of a table's definition that is read. ``name`` is for messages."""

    name: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """Contents of a table: one value for each field of the schema."""

    table: Table
    values: Mapping[str, Any] = field(default_factory=dict)

    def integer(self, name: str) -> int:
        """Return an integer."""
        return int(self.values[name])

    def flag(self, name: str) -> bool:
        """Return a boolean, or whether a field is present."""
        return bool(self.values[name])

    def text(self, name: str) -> str:
        """Return a string of the file (malformed UTF-8 replaced)."""
        return str(self.values[name])

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return a vector of numbers: a view of the file."""
        found: npt.NDArray[Any] = self.values[name]
        return found

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a vector of integers."""
        return tuple(int(v) for v in self.values[name])

    def record(self, name: str) -> Record | None:
        """Return a child, or None."""
        found: Record | None = self.values[name]
        return found

    def records(self, name: str) -> Sequence[Record]:
        """Return the children, in order."""
        found: Sequence[Record] = self.values[name]
        return found


_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")


class Reader:
    """Reads one file. Numbers and vectors are little endian."""

    def __init__(self, data: bytes | memoryview, limits: Limits = DEFAULT_LIMITS) -> None:
        self._data = memoryview(data)
        self._limits = limits
        self._budget = limits.overlap * len(self._data) + 4096

    def root(self, table: Table, identifier: bytes) -> Record:
        """Return the root table.

        Args:
            table: Its definition.
            identifier: The four bytes that mark the format.

        Raises:
            MalformedError: The file is not of this format, or an offset, a length or an alignment
                in it is wrong.
        """
        try:
            self._need(0, 8, "the header")
            file_identifier = bytes(self._data[4:8])
            if file_identifier != identifier:
                raise DamagedError(
                    f"the file identifier is {file_identifier!r}, expected {identifier!r}",
                    hint="give a file of this format, or name the right one with format= in Python",
                )
            return self._table(table, self._follow(0, "root"), 0)
        except MalformedError as error:
            raise error if error.path else error.inside(f"root table {table.name}") from None

    def _need(self, start: int, size: int, what: str, align: int = 1) -> None:
        """Check that ``what`` is in the file and aligned."""
        if start < 0 or start + size > len(self._data):
            raise DamagedError(
                f"{what} takes bytes {start} to {start + size}, "
                f"but the file has {len(self._data)} bytes"
            )
        if start % align:
            raise DamagedError(f"{what} is at byte {start}, expected a multiple of {align}")

    def _charge(self, size: int, what: str) -> None:
        """Count the bytes of an object that was read, against files that share objects."""
        self._budget -= size
        if self._budget < 0:
            raise OverLimitError(
                f"{what} overlaps others: the objects read so far cover the file "
                f"more than {self._limits.overlap} times",
                hint=raise_hint("overlap"),
            )

    def _follow(self, position: int, what: str) -> int:
        """Return the position that the offset at ``position`` points to."""
        self._need(position, 4, f"the offset of {what}", 4)
        (offset,) = _U32.unpack_from(self._data, position)
        if offset == 0:
            raise DamagedError(f"the offset of {what} is 0")
        return position + int(offset)

    def _table(self, table: Table, position: int, depth: int) -> Record:
        """Read the table at ``position``."""
        if depth >= self._limits.nesting:
            raise OverLimitError(
                f"tables are nested more than {self._limits.nesting} deep",
                hint=raise_hint("nesting"),
            )
        field_offsets, size = self._vtable(table, position)
        self._charge(size, f"the table {table.name}")
        values: dict[str, Any] = {}
        for entry in table.fields:
            field_offset = field_offsets[entry.id] if entry.id < len(field_offsets) else 0
            try:
                values[entry.name] = self._field(
                    entry, position, field_offset, size, depth, field_offsets
                )
            except MalformedError as error:
                nested = isinstance(entry.type, Child | UnionField)
                raise error.inside(entry.name) if nested else error from None
        return Record(table, values)

    def _vtable(self, table: Table, position: int) -> tuple[Sequence[int], int]:
        """Return the places of the fields in the table at ``position``, and the table's size."""
        self._need(position, 4, f"the table {table.name}", 4)
        (back,) = _I32.unpack_from(self._data, position)
        # The offset of the vtable is signed and counts backwards; all others count forwards.
        start = position - int(back)
        self._need(start, 4, f"the vtable of {table.name}", 2)
        (length,) = _U16.unpack_from(self._data, start)
        (size,) = _U16.unpack_from(self._data, start + 2)
        if length < 4 or length % 2:
            raise DamagedError(
                f"the vtable of {table.name} claims {length} bytes, expected an even "
                "number of at least 4"
            )
        if size < 4:
            raise DamagedError(f"the table {table.name} claims {size} bytes, expected at least 4")
        self._need(start, length, f"the vtable of {table.name}")
        self._need(position, size, f"the table {table.name}")
        # The sizes of vtable and table come first; all entries have two bytes.
        count = (length - 4) // 2
        return struct.unpack_from(f"<{count}H", self._data, start + 4), size

    def _field(
        self,
        entry: Field,
        position: int,
        offset: int,
        size: int,
        depth: int,
        field_offsets: Sequence[int],
    ) -> Any:  # noqa: ANN401 - a value of the type that the entry names
        """Read one field of the table at ``position``; ``offset`` 0 means it is absent."""
        kind = entry.type
        if isinstance(kind, UnionField):
            return self._choice(entry, kind, position, field_offsets, size, depth)
        width = np.dtype(kind.code).itemsize if isinstance(kind, Scalar) else 4
        if offset and (offset < 4 or offset + width > size):
            raise DamagedError(
                f"the field {entry.name} is at byte {offset} of a table of {size} bytes"
            )
        if isinstance(kind, Scalar):
            return self._scalar(entry.name, kind, position + offset if offset else 0, width)
        if isinstance(kind, Presence):
            return bool(offset)
        if not offset:
            return _ABSENT[type(kind)]() if not isinstance(kind, Numbers) else _empty(kind)
        return self._reference(entry.name, kind, position + offset, depth)

    def _scalar(self, name: str, kind: Scalar, position: int, width: int) -> float:
        """Read a number (``position`` 0: its default) and check its range."""
        value: float = kind.default
        if position:
            self._need(position, width, f"the field {name}", width)
            value = np.frombuffer(self._data, f"<{kind.code}", 1, position)[0].item()
        check_range(name, kind, value)
        return value

    def _reference(self, name: str, kind: FieldType, position: int, depth: int) -> Any:  # noqa: ANN401
        """Read the value that the offset at ``position`` points to."""
        target = self._follow(position, name)
        if isinstance(kind, Numbers):
            return self._numbers(name, kind, target)
        if isinstance(kind, Text):
            return self._text(name, target)
        if isinstance(kind, Children):
            return self._children(name, kind, target, depth)
        if isinstance(kind, Child):
            return self._table(kind.table, target, depth + 1)
        raise AssertionError(f"{kind} is not stored at an offset")

    def _choice(
        self,
        entry: Field,
        kind: UnionField,
        position: int,
        field_offsets: Sequence[int],
        size: int,
        depth: int,
    ) -> Record | None:
        """Read a union: the field before this one holds the number of the table."""
        tag_field = Field(entry.id - 1, f"{entry.name}_type", Scalar("u1"))
        tag_place = field_offsets[tag_field.id] if tag_field.id < len(field_offsets) else 0
        tag = self._field(tag_field, position, tag_place, size, depth, field_offsets)
        table = kind.tables.get(tag)
        if table is None:
            return None
        child = Field(entry.id, entry.name, Child(table))
        offset = field_offsets[entry.id] if entry.id < len(field_offsets) else 0
        record: Record | None = self._field(child, position, offset, size, depth, field_offsets)
        return record

    def _vector(self, name: str, position: int, width: int) -> tuple[int, int]:
        """Return the place of the first element and the number of elements of a vector."""
        self._need(position, 4, f"the vector {name}", 4)
        (count,) = _U32.unpack_from(self._data, position)
        start, left = position + 4, len(self._data) - position - 4
        if count * width > left:
            raise DamagedError(
                f"the vector {name} claims {count} elements of {width} bytes, "
                f"but {left} bytes are left"
            )
        if count:
            self._need(start, count * width, f"the vector {name}", width)
        self._charge(count * width, f"the vector {name}")
        return start, int(count)

    def _numbers(self, name: str, kind: Numbers, position: int) -> npt.NDArray[Any]:
        dtype = np.dtype(f"<{kind.code}")
        start, count = self._vector(name, position, dtype.itemsize)
        if not count:
            return _empty(kind)
        return np.frombuffer(self._data, dtype, count, start)

    def _text(self, name: str, position: int) -> str:
        start, count = self._vector(name, position, 1)
        # Strings end in a zero byte that their length does not count.
        self._need(start, count + 1, f"the string {name}")
        if self._data[start + count] != 0:
            raise DamagedError(f"the string {name} does not end in a zero byte")
        # A long name is legal; nothing needs more of it than its beginning.
        beginning = self._data[start : start + min(count, self._limits.name_bytes)]
        return bytes(beginning).decode("utf-8", errors="replace")

    def _children(self, name: str, kind: Children, position: int, depth: int) -> list[Record]:
        start, count = self._vector(name, position, 4)
        limit = int(getattr(self._limits, kind.limit))
        if count > limit:
            readable_name = name.replace("_", " ")
            raise OverLimitError(
                f"there are {count} {readable_name}; the limit is {limit}",
                hint=raise_hint(kind.limit, count),
            )
        singular = name.removesuffix("s").replace("_", " ")
        records: list[Record] = []
        for index in range(count):
            try:
                target = self._follow(start + 4 * index, f"{singular} {index}")
                records.append(self._table(kind.table, target, depth + 1))
            except MalformedError as error:
                raise error.inside(f"{singular} {index}") from None
        return records


def defaults(table: Table) -> Record:
    """Return the record of a table of which every field is absent.

    Raises:
        MalformedError: A default is out of the field's range: the field must not be absent.
    """
    values: dict[str, Any] = {}
    for entry in table.fields:
        match entry.type:
            case Scalar() as kind:
                check_range(entry.name, kind, kind.default)
                values[entry.name] = kind.default
            case Numbers() as kind:
                values[entry.name] = _empty(kind)
            case Text():
                values[entry.name] = ""
            case _:
                raise AssertionError(f"{table.name}.{entry.name} has no default")
    return Record(table, values)


def check_range(name: str, kind: Scalar, value: float) -> None:
    """Check a number against the bounds of its field.

    Raises:
        MalformedError: It is out of range.
    """
    if kind.minimum is not None and not value >= kind.minimum:
        raise MalformedError(
            f"{name} is {value}, expected at least {kind.minimum}", hint=_RANGE_HINT
        )
    if kind.maximum is not None and not value <= kind.maximum:
        raise MalformedError(
            f"{name} is {value}, expected at most {kind.maximum}", hint=_RANGE_HINT
        )


_RANGE_HINT = "convert the model again; no converter writes this number"


def _empty(kind: Numbers) -> npt.NDArray[Any]:
    return np.empty(0, f"<{kind.code}")


_ABSENT: Mapping[type, Any] = {Text: str, Child: type(None), Children: list}
