"""Checks of arguments by the text of their annotation: numbers, texts, paths, mappings, functions.

``Count`` and ``Seconds`` are numbers with a bound.

Annotations of public functions are texts that are never evaluated. An alternative that is not known
here, such as the name of an alias, turns the check off: the function checks the argument itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Check = Callable[[object], bool]

Count: TypeAlias = int
"""An integer of at least 1."""

Seconds: TypeAlias = float
"""A finite number from 0."""


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and _is_integer(value) and int(value) >= 1


def _is_seconds(value: object) -> bool:
    return isinstance(value, Real) and _is_number(value) and 0 <= float(value) < math.inf


def _is_path(value: object) -> bool:
    return isinstance(value, str | PathLike)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)


_PATH: Final = ("a path", _is_path)
_MAPPING: Final = ("a mapping", lambda value: isinstance(value, Mapping))
_FUNCTION: Final = ("a function", callable)
_KINDS: Final[dict[str, tuple[str, Check]]] = {
    "int": ("an integer", _is_integer),
    "float": ("a number", _is_number),
    "Count": ("an integer of at least 1", _is_count),
    "Seconds": ("a number of seconds from 0", _is_seconds),
    "bool": ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "str": ("a text", lambda value: isinstance(value, str)),
    "Path": _PATH,
    "PathLike": _PATH,
    "os.PathLike": _PATH,
    "Mapping": _MAPPING,
    "Sequence": ("a list", _is_list),
    "tuple": ("a list", _is_list),
    "Callable": _FUNCTION,
    "Clock": _FUNCTION,
    "Observer": _FUNCTION,
    "Progress": _FUNCTION,
    "None": ("None", lambda value: value is None),
}
"""Description and check of a value, by the name in an annotation without its parameters."""

_CLASSES: Final = frozenset({"CompileOptions", "Limits", "Machine", "QuantParams"})
"""Classes of rlx that annotations name; they are found by their name, without an import."""


def mismatch(annotation: object, value: object) -> str | None:
    """Return ``expected X, got Y`` if a value does not fit an annotation, else None."""
    kinds = _kinds(annotation) if isinstance(annotation, str) else ()
    if not kinds or any(check(value) for _, check in kinds):
        return None
    descriptions = list(dict.fromkeys(description for description, _ in kinds))
    if "a path" in descriptions and "a text" in descriptions:
        descriptions.remove("a text")
    *first_kinds, last_kind = descriptions
    expected = f"{', '.join(first_kinds)} or {last_kind}" if first_kinds else last_kind
    return f"expected {expected}, got {described(value)}"


@cache
def _kinds(annotation: str) -> tuple[tuple[str, Check], ...]:
    """Return description and check of each alternative; none if one of them is not known."""
    names = [part.strip() for part in _without_parameters(annotation).split("|")]
    kinds = [_KINDS.get(name) or _class(name) for name in names]
    return tuple(kind for kind in kinds if kind) if all(kinds) else ()


def _class(name: str) -> tuple[str, Check] | None:
    if name not in _CLASSES:
        return None
    return f"rlx.{name}", lambda value: name in (one.__name__ for one in type(value).__mro__)


def _without_parameters(annotation: str) -> str:
    """Return an annotation without what stands in brackets."""
    shorter = re.sub(r"\[[^\[\]]*\]", "", annotation)
    return shorter if shorter == annotation else _without_parameters(shorter)


def described(value: object) -> str:
    """Return a short value as it is written, another by its type."""
    if value is None or isinstance(value, str | bool | Real):
        text = repr(value)
        if len(text) <= _MAX_TEXT:
            return text
    return f"an object of type {type(value).__name__}"


_MAX_TEXT: Final = 40
"""Characters of a value that a message shows."""
