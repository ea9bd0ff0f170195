"""Words for the inputs and outputs of a network, for identifiers that emitters build."""

from __future__ import annotations

import re
from typing import Final

_SIGNATURE: Final = re.compile(r"serving_default_(.+):\d+", re.DOTALL)
"""Name of an input from TensorFlow's converter: the model's name inside."""

_GENERIC: Final = re.compile(
    r"[xyv]|in|out|inputs?|outputs?|args?|tensor|identity|statefulpartitionedcall"
)
"""Names that say nothing, without trailing digits and underscores."""


def port_word(name: str, *, max_chars: int) -> str:
    """Return a word for an input or output; empty where its name says nothing.

    Args:
        name: The model's name of it, any text.
        max_chars: Maximum length of the result.

    Returns:
        The ASCII letters and digits of the name in lower case, joined by underscores:
        ``motion_sensor`` for ``Motion Sensor``. Neither unique nor an identifier yet: it is passed
        to :func:`rlx.support.text.names.mangle`.
    """
    signature = _SIGNATURE.fullmatch(name)
    word = re.sub(r"[^A-Za-z0-9]+", "_", signature[1] if signature else name).strip("_").lower()
    if _GENERIC.fullmatch(word.rstrip("_0123456789") or "x"):
        return ""
    return word[:max_chars]
