"""Files that break the flatbuffer format itself: offsets, sizes, alignment, strings."""

from __future__ import annotations

from malformed.case import Accepted, Case, Refused
from malformed.tflite_models import X, no_terminator, overlapping, set_tensor, sound_model, surgery
from rlx.support.errors import FrontendError

CASES: dict[str, Case] = {
    "empty": Refused(
        lambda: b"",
        FrontendError,
        "root table Model",
        "the header takes bytes 0 to 8, but the file has 0 bytes",
    ),
    "seven bytes": Refused(
        lambda: sound_model()[:7],
        FrontendError,
        "root table Model",
        "the header takes bytes 0 to 8, but the file has 7 bytes",
    ),
    "eight bytes": Refused(
        lambda: b"\x10\0\0\0TFL3",
        FrontendError,
        "root table Model",
        "the table Model takes bytes 16 to 20, but the file has 8 bytes",
    ),
    "text": Refused(
        lambda: b"this is not a model at all, it is a sentence",
        FrontendError,
        "root table Model",
        "the file identifier is b' is ', expected b'TFL3'",
    ),
    "other identifier": Refused(
        lambda: b"\x10\0\0\0TFL2" + sound_model()[8:],
        FrontendError,
        "root table Model",
        "the file identifier is b'TFL2', expected b'TFL3'",
    ),
    "root offset 0": Refused(
        lambda: surgery(lambda s: s.put32(0, 0)),
        FrontendError,
        "root table Model",
        "the offset of root is 0",
    ),
    "root outside": Refused(
        lambda: surgery(lambda s: s.put32(0, 0x7FFFFFF0)),
        FrontendError,
        "root table Model",
        "the table Model takes bytes 2147483632 to 2147483636, but the file has 1856 bytes",
    ),
    "root misaligned": Refused(
        lambda: surgery(lambda s: s.put32(0, s.root + 2)),
        FrontendError,
        "root table Model",
        "the table Model is at byte 10, expected a multiple of 4",
    ),
    "vtable before the file": Refused(
        lambda: surgery(lambda s: s.put32(s.root, s.root + 100)),
        FrontendError,
        "root table Model",
        "the vtable of Model takes bytes -100 to -96, but the file has 1856 bytes",
    ),
    "vtable behind the file": Refused(
        lambda: surgery(lambda s: s.put32(s.root, -0x7FFFFFF0)),
        FrontendError,
        "root table Model",
        "the vtable of Model takes bytes 2147483640 to 2147483644, but the file has 1856 bytes",
    ),
    "vtable misaligned": Refused(
        lambda: surgery(lambda s: s.put32(s.root, s.u32(s.root) - 1)),
        FrontendError,
        "root table Model",
        "the vtable of Model is at byte 311, expected a multiple of 2",
    ),
    "vtable odd length": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root), 7)),
        FrontendError,
        "root table Model",
        "the vtable of Model claims 7 bytes, expected an even number of at least 4",
    ),
    "vtable too short": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root), 2)),
        FrontendError,
        "root table Model",
        "the vtable of Model claims 2 bytes, expected an even number of at least 4",
    ),
    "vtable too long": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.tensor(X)), 0xFFFE)),
        FrontendError,
        "subgraph 0, tensor 0",
        "the vtable of Tensor takes bytes 1650 to 67184, but the file has 1856 bytes",
    ),
    "table too short": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 2, 2)),
        FrontendError,
        "root table Model",
        "the table Model claims 2 bytes, expected at least 4",
    ),
    "table too long": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 2, 0xFFFC)),
        FrontendError,
        "root table Model",
        "the table Model takes bytes 8 to 65540, but the file has 1856 bytes",
    ),
    "field outside its table": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 4, 0x400)),
        FrontendError,
        "root table Model",
        "the field version is at byte 1024 of a table of 24 bytes",
    ),
    "field over the vtable offset": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 4, 2)),
        FrontendError,
        "root table Model",
        "the field version is at byte 2 of a table of 24 bytes",
    ),
    "field misaligned": Refused(
        lambda: surgery(lambda s: s.put16(s.vtable(s.root) + 4, 6)),
        FrontendError,
        "root table Model",
        "the field version is at byte 14, expected a multiple of 4",
    ),
    "offset 0": Refused(
        lambda: surgery(lambda s: s.put32(s.field(s.root, 2), 0)),
        FrontendError,
        "root table Model",
        "the offset of subgraphs is 0",
    ),
    "offset outside": Refused(
        lambda: surgery(lambda s: s.put32(s.field(s.root, 2), 0xFFFFFFF0)),
        FrontendError,
        "root table Model",
        "the vector subgraphs takes bytes 4294967300 to 4294967304, but the file has 1856 bytes",
    ),
    "vector too long": Refused(
        lambda: surgery(lambda s: s.put32(s.vector(s.graph, 3), 0xFFFFFFFF)),
        FrontendError,
        "subgraph 0",
        "the vector operators claims 4294967295 elements of 4 bytes, but 1492 bytes are left",
    ),
    "vector misaligned": Refused(
        lambda: surgery(lambda s: s.put32(s.field(s.graph, 1), s.u32(s.field(s.graph, 1)) + 2)),
        FrontendError,
        "subgraph 0",
        "the vector inputs is at byte 750, expected a multiple of 4",
    ),
    "element outside": Refused(
        lambda: surgery(lambda s: s.put32(s.vector(s.graph, 0) + 4, 0x7FFFFFF0)),
        FrontendError,
        "subgraph 0, tensor 0",
        "the table Tensor takes bytes 2147484392 to 2147484396, but the file has 1856 bytes",
    ),
    "name without end": Refused(
        lambda: no_terminator(),
        FrontendError,
        "subgraph 0, tensor 0",
        "the string name does not end in a zero byte",
    ),
    "name too long": Accepted(
        lambda: set_tensor(X, name="n" * 1025),
        "a name of any length is legal; its beginning is kept",
    ),
    "truncated": Refused(
        lambda: sound_model()[: len(sound_model()) // 2],
        FrontendError,
        "root table Model",
        "the vector operator_codes takes bytes 1760 to 1764, but the file has 928 bytes",
    ),
    "cut at the end": Refused(
        lambda: sound_model()[:-1],
        FrontendError,
        "operator code 0",
        "the table OperatorCode takes bytes 1844 to 1856, but the file has 1855 bytes",
    ),
    "objects overlap": Refused(
        lambda: overlapping(),
        FrontendError,
        "subgraph 0, tensor 6",
        (
            "the vector shape overlaps others: the objects read so far cover the file "
            "more than 4 times"
        ),
    ),
}
