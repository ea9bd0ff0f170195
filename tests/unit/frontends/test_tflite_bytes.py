"""Files that break the flatbuffer format itself: offsets, sizes, alignment, strings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tflite_malformed import (
    X,
    no_terminator,
    overlapping,
    set_tensor,
    sound_model,
    surgery,
)

from rlx.errors import FrontendError
from rlx.frontends import tflite

if TYPE_CHECKING:
    from collections.abc import Callable

# name: (file, message)
CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "the header takes bytes 0 to 8, but the file has 0 bytes"),
    "seven bytes": (
        lambda: sound_model()[:7],
        "the header takes bytes 0 to 8, but the file has 7 bytes",
    ),
    "eight bytes": (
        lambda: b"\x10\0\0\0TFL3",
        "the table Model takes bytes 16 to 20, but the file has 8 bytes",
    ),
    "text": (
        lambda: b"this is not a model at all, it is a sentence",
        "the file identifier is b' is ', want b'TFL3'",
    ),
    "other identifier": (
        lambda: b"\x10\0\0\0TFL2" + sound_model()[8:],
        "the file identifier is b'TFL2', want b'TFL3'",
    ),
    "root offset 0": (lambda: surgery(lambda s: s.put32(0, 0)), "the offset of root is 0"),
    "root outside": (
        lambda: surgery(lambda s: s.put32(0, 0x7FFFFFF0)),
        ("the table Model takes bytes 2147483632 to 2147483636, but the file has 1856 bytes"),
    ),
    "root misaligned": (
        lambda: surgery(lambda s: s.put32(0, s.root + 2)),
        "the table Model is at byte 10, want a multiple of 4",
    ),
    "vtable before the file": (
        lambda: surgery(lambda s: s.put32(s.root, s.root + 100)),
        "the vtable of Model takes bytes -100 to -96, but the file has 1856 bytes",
    ),
    "vtable behind the file": (
        lambda: surgery(lambda s: s.put32(s.root, -0x7FFFFFF0)),
        ("the vtable of Model takes bytes 2147483640 to 2147483644, but the file has 1856 bytes"),
    ),
    "vtable misaligned": (
        lambda: surgery(lambda s: s.put32(s.root, s.u32(s.root) - 1)),
        "the vtable of Model is at byte 311, want a multiple of 2",
    ),
    "vtable odd length": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root), 7)),
        "the vtable of Model claims 7 bytes, want an even number from 4",
    ),
    "vtable too short": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root), 2)),
        "the vtable of Model claims 2 bytes, want an even number from 4",
    ),
    "vtable too long": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.tensor(X)), 0xFFFE)),
        (
            "subgraph 0, tensor 0: the vtable of Tensor takes bytes 1650 to 67184, but the "
            "file has 1856 bytes"
        ),
    ),
    "table too short": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 2, 2)),
        "the table Model claims 2 bytes, want at least 4",
    ),
    "table too long": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 2, 0xFFFC)),
        "the table Model takes bytes 8 to 65540, but the file has 1856 bytes",
    ),
    "field outside its table": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 4, 0x400)),
        "the field version lies at byte 1024 of a table of 24 bytes",
    ),
    "field over the vtable offset": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 4, 2)),
        "the field version lies at byte 2 of a table of 24 bytes",
    ),
    "field misaligned": (
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 4, 6)),
        "the field version is at byte 14, want a multiple of 4",
    ),
    "offset 0": (
        lambda: surgery(lambda s: s.put32(s.field(s.root, 2), 0)),
        "the offset of subgraphs is 0",
    ),
    "offset outside": (
        lambda: surgery(lambda s: s.put32(s.field(s.root, 2), 0xFFFFFFF0)),
        ("the vector subgraphs takes bytes 4294967300 to 4294967304, but the file has 1856 bytes"),
    ),
    "vector too long": (
        lambda: surgery(lambda s: s.put32(s.vector(s.graph, 3), 0xFFFFFFFF)),
        (
            "subgraph 0: the vector operators claims 4294967295 elements of 4 bytes, but "
            "1492 bytes are left"
        ),
    ),
    "vector misaligned": (
        lambda: surgery(lambda s: s.put32(s.field(s.graph, 1), s.u32(s.field(s.graph, 1)) + 2)),
        "subgraph 0: the vector inputs is at byte 750, want a multiple of 4",
    ),
    "element outside": (
        lambda: surgery(lambda s: s.put32(s.vector(s.graph, 0) + 4, 0x7FFFFFF0)),
        (
            "subgraph 0, tensor 0: the table Tensor takes bytes 2147484392 to 2147484396, "
            "but the file has 1856 bytes"
        ),
    ),
    "name without end": (
        lambda: no_terminator(),
        "subgraph 0, tensor 0: the string name does not end in a zero byte",
    ),
    "name too long": (
        lambda: set_tensor(X, name="n" * 1025),
        "subgraph 0, tensor 0: the string name has 1025 bytes; the limit is 1024",
    ),
    "truncated": (
        lambda: sound_model()[: len(sound_model()) // 2],
        "the vector operator_codes takes bytes 1760 to 1764, but the file has 928 bytes",
    ),
    "cut at the end": (
        lambda: sound_model()[:-1],
        (
            "operator code 0: the table OperatorCode takes bytes 1844 to 1856, but the "
            "file has 1855 bytes"
        ),
    ),
    "objects overlap": (
        lambda: overlapping(),
        (
            "subgraph 0, tensor 6: the vector shape overlaps others: the objects read so "
            "far cover the file more than 4 times"
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refuses_with_reason_and_place(name: str) -> None:
    make, message = CASES[name]
    with pytest.raises(FrontendError, match=f"^{re.escape('m.tflite: ' + message)}$"):
        tflite.load(make(), name="m.tflite")
