"""``.rlx`` files whose bytes, header, version or checksum are wrong."""

from __future__ import annotations

import numpy as np
from safetensors.numpy import save as save_tensors

from malformed.case import Case, Refused
from malformed.rlx_models import metadata, resealed, sound_file
from rlx.support.errors import FrontendError

CASES: dict[str, Case] = {
    "empty": Refused(
        lambda: b"",
        FrontendError,
        "header",
        "not a readable .rlx file: ",
    ),
    "seven bytes": Refused(
        lambda: sound_file()[:7],
        FrontendError,
        "header",
        "not a readable .rlx file: ",
    ),
    "header longer than the file": Refused(
        lambda: b"\xff\xff\xff\x00\x00\x00\x00\x00{" + sound_file()[9:],
        FrontendError,
        "header",
        "not a readable .rlx file: ",
    ),
    "half a file": Refused(
        lambda: sound_file()[: len(sound_file()) // 2],
        FrontendError,
        "header",
        "not a readable .rlx file: ",
    ),
    "one byte short": Refused(
        lambda: sound_file()[:-1],
        FrontendError,
        "header",
        "not a readable .rlx file: ",
    ),
    "one byte more": Refused(
        lambda: sound_file() + b"\0",
        FrontendError,
        "header",
        "not a readable .rlx file: ",
    ),
    "weights without a graph": Refused(
        lambda: save_tensors({"w": np.zeros(2, np.float32)}),
        FrontendError,
        "header",
        "a safetensors file without 'rlx' in its metadata holds no graph",
    ),
    "another program's metadata": Refused(
        lambda: save_tensors({}, metadata={"format": "pt"}),
        FrontendError,
        "header",
        "a safetensors file without 'rlx' in its metadata holds no graph",
    ),
    "text that is no JSON": Refused(
        lambda: metadata("{"),
        FrontendError,
        "header",
        (
            "expected the graph as JSON: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1)"
        ),
    ),
    "text that is a list": Refused(
        lambda: metadata("[]"),
        FrontendError,
        "header",
        "the graph needs version, sha256 and document",
    ),
    "text without fields": Refused(
        lambda: metadata("{}"),
        FrontendError,
        "header",
        "the graph needs version, sha256 and document",
    ),
    "one key twice": Refused(
        lambda: metadata('{"version": 1, "version": 1}'),
        FrontendError,
        "header",
        "an object has a key twice",
    ),
    "NaN in the text": Refused(
        lambda: metadata('{"version": NaN}'), FrontendError, "header", "expected JSON, got NaN"
    ),
    "deeply nested text": Refused(
        lambda: metadata(
            '{"version": 1, "sha256": "", "document": ' + "[" * 50_000 + "]" * 50_000 + "}"
        ),
        FrontendError,
        "header",
        "nested too deeply",
    ),
    "number of 5,000 digits": Refused(
        lambda: metadata('{"version": 1, "sha256": "", "document": ' + "9" * 5000 + "}"),
        FrontendError,
        "header",
        (
            "expected the graph as JSON: Exceeds the limit (4300 digits) for integer string "
            "conversion: value has 5000 digits; use sys.set_int_max_str_digits() to "
            "increase the limit"
        ),
    ),
    "text of 17 MiB": Refused(
        lambda: metadata(" " * (17 << 20)),
        FrontendError,
        "header",
        "the graph's text has 17825792 bytes; the limit is 16777216",
    ),
    "later version": Refused(
        lambda: resealed(version=2),
        FrontendError,
        "header",
        "format version is 2; this rlx reads 1",
    ),
    "checksum of another file": Refused(
        lambda: resealed(sha256="0" * 64),
        FrontendError,
        "checksum",
        "the content is not what was written; its checksum differs",
    ),
    "checksum that is a number": Refused(
        lambda: resealed(sha256=7),
        FrontendError,
        "checksum",
        "the content is not what was written; its checksum differs",
    ),
    "weight changed": Refused(
        lambda: sound_file()[:-1] + bytes([sound_file()[-1] ^ 1]),
        FrontendError,
        "checksum",
        "the content is not what was written; its checksum differs",
    ),
}
