"""Texts of an ONNX file, which may be malformed."""

from __future__ import annotations

from rlx.frontends.refusal import DamagedError
from rlx.support.text.names import printable, shorten


def text_of(text: str | bytes) -> str:
    """Return a text of the file, as a terminal may show it."""
    plain = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    return printable(plain)


def name_of(name: str | bytes) -> str:
    """Return a name of the file unchanged.

    Raises:
        DamagedError: It is not UTF-8, of which protobuf returns the bytes.
    """
    if isinstance(name, bytes):
        raise DamagedError(f"the name '{shorten(text_of(name))}' is not UTF-8")
    return name
