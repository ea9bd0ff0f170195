"""Count the fields that a protobuf file asks a parser to make, before a parser sees it.

An empty message takes two bytes of a file and a hundred times that in memory, so that a small file
can exhaust it. The fields are counted here, without making anything of them.

Tests: tests/unit/frontends/onnx/test_mutations.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rlx.frontends.refusal import DamagedError, OverLimitError
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from rlx.support.limits import Limits

FIELDS_OF_A_NODE: Final = 25
"""Fields of all messages together, for each node that a graph may have."""

Table: TypeAlias = "dict[int, Any]"

# Wire types of protobuf; 3 and 4, the groups of version 2, are in no field of ONNX.
_VARINT, _WIDE, _BYTES, _NARROW = 0, 1, 2, 5


def check_fields(data: bytes, message: Any, limits: Limits) -> None:  # noqa: ANN401
    """Walk through the messages of a file.

    Args:
        data: The file.
        message: Descriptor of the message that it holds.
        limits: Limits that the file must keep.

    Raises:
        DamagedError: The bytes are not laid out as fields, or lengths contradict each other.
        OverLimitError: There are too many fields, or messages are nested too deep.
    """
    most = FIELDS_OF_A_NODE * limits.nodes
    tables: dict[str, Table] = {}
    count = 0
    stack = [(message, 0, len(data), 0)]
    while stack:
        kind, offset, end, depth = stack.pop()
        if depth > limits.nesting:
            raise OverLimitError(
                f"messages are nested more than {limits.nesting} deep", hint=raise_hint("nesting")
            )
        table = tables.get(kind.full_name)
        if table is None:
            table = tables[kind.full_name] = _messages_of(kind)
        while offset < end:
            if count == most:
                raise _too_many(limits)
            count += 1
            # Most tags and lengths are single bytes.
            tag, offset = data[offset], offset + 1
            if tag >= 0x80:
                tag, offset = _varint(data, offset - 1, end)
            # The low three bits are the wire type, the others the number of the field.
            start, offset = _skipped(data, offset, end, tag & 7)
            if tag in table:
                stack.append((table[tag], start, offset, depth + 1))


def _too_many(limits: Limits) -> OverLimitError:
    most = FIELDS_OF_A_NODE * limits.nodes
    return OverLimitError(
        f"the file has more than {most} fields; the limit is {FIELDS_OF_A_NODE} for each of "
        f"{limits.nodes} nodes",
        hint=raise_hint("nodes"),
    )


def _messages_of(kind: Any) -> Table:  # noqa: ANN401 - a descriptor
    """Return the descriptor of each field that is a message, by the field's tag."""
    return {
        f.number << 3 | _BYTES: f.message_type for f in kind.fields if f.message_type is not None
    }


def _varint(data: bytes, offset: int, end: int) -> tuple[int, int]:
    """Return a number of up to ten bytes and the place after it."""
    value = 0
    # Seven bits a byte: 64 bits take ten bytes (protobuf encoding, varints).
    for shift in range(0, 70, 7):
        if offset >= end:
            raise DamagedError(f"a number at byte {offset} is cut short")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
    raise DamagedError(f"a number at byte {offset} does not end")


def _skipped(data: bytes, offset: int, end: int, wire: int) -> tuple[int, int]:
    """Return the start and end of a field's content."""
    if wire == _BYTES:
        if offset < end and data[offset] < 0x80:
            size, offset = data[offset], offset + 1
        else:
            size, offset = _varint(data, offset, end)
    elif wire == _VARINT:
        return offset, _varint(data, offset, end)[1]
    elif wire in (_WIDE, _NARROW):
        size = 8 if wire == _WIDE else 4
    else:
        raise DamagedError(f"a field at byte {offset} is of the kind {wire}, which no field is")
    if size > end - offset:
        raise DamagedError(
            f"a field at byte {offset} claims {size} bytes, but {end - offset} are left"
        )
    return offset, offset + size
