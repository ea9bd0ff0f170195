"""Names of the classes of a network's output, as a table of C strings."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlx.samples import read_names
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Value

MAX_BYTES: Final = 1000
"""Maximum bytes of a name in UTF-8; C99 guarantees strings of 4095 characters, escapes included."""


def parse_labels(text: str) -> tuple[str, ...]:
    """Return the names in a file, one a line; or ``text`` as a row of CSV if there is no such file.

    Raises:
        UsageError: The file does not exist, and there is no comma.
        FrontendError: It is not text.
    """
    if "," in text and not Path(text).is_file():
        return tuple(next(csv.reader([text], skipinitialspace=True)))
    return tuple(read_names(Path(text)))


def check_labels(labels: Sequence[str], outputs: Sequence[Value]) -> None:
    """Check that there is a name for each class of the only output.

    Raises:
        UsageError: There is not.
    """
    if len(outputs) != 1:
        raise _refused(
            f"expected a network with one output, got {len(outputs)} outputs",
            "leave the option out",
        )
    shape = outputs[0].type.static_shape
    classes = shape[-1] if shape else 1
    if len(labels) != classes:
        raise _refused(
            f"expected {classes} names, one for each class of the output, got {len(labels)}",
            "write one name on each line, in the order of the classes",
        )
    for number, label in enumerate(labels, 1):
        if len(label.encode()) > MAX_BYTES:
            raise _refused(
                f"expected at most {MAX_BYTES} bytes in name {number}, got {len(label.encode())}",
                "shorten it",
            )


def c_string(text: str) -> str:
    """Return a C string literal of ``text`` in UTF-8: printable ASCII, the rest as octal escapes.

    A question mark is escaped: no two of them begin a trigraph. Octal escapes end after
    three digits in any case.
    """
    return '"' + "".join(_escaped(byte) for byte in text.encode()) + '"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character in '"\\?':
        return f"\\{character}"
    return character if " " <= character <= "~" else f"\\{byte:03o}"


def _refused(message: str, hint: str) -> UsageError:
    return UsageError(message, where="--labels", hint=hint)
