"""Suggestions for a name that nothing is called by.

Tests: tests/cli/test_did_you_mean.py
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MIN_SIMILARITY: Final = 0.6
"""Ratio of ``difflib`` from which a name is suggested; 1 for equal names."""
_MAX_LISTED: Final = 20
"""Names in the message about a missing key."""


def closest(name: str, known: Iterable[str], *, alike: float = _MIN_SIMILARITY) -> str | None:
    """Return the one of ``known`` that is most like ``name``; None if none is.

    Of names that are not alike, the only one that ends with it after a hyphen or a colon:
    ``cortex-m4`` for ``m4``.

    Args:
        name: The unknown name.
        known: Valid names.
        alike: Minimum similarity of two names, from 0 to 1.
    """
    by_lower = {one.lower(): str(one) for one in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=alike)
    if not found:
        found = [one for one in by_lower if one.endswith((f"-{name.lower()}", f":{name.lower()}"))]
    return by_lower[found[0]] if len(found) == 1 else None


def no_such_key(name: object, known: Iterable[str], *, what: str) -> KeyError:
    """Return the error of a mapping that lacks a name: the closest name, and the first ones.

    Args:
        name: The unknown name.
        known: Names in the mapping.
        what: Noun for one of them: ``layer``.
    """
    names = [str(one) for one in known]
    guess = closest(str(name), names)
    listed = ", ".join(map(repr, names[:_MAX_LISTED])) or "none"
    rest = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    meant = f"did you mean {guess!r}? " if guess else ""
    return KeyError(f"no {what} {name!r}; {meant}known: {listed}{rest}")


def no_such_attribute(owner: object, name: str, keys: Iterable[str] = ()) -> AttributeError:
    """Return the error of an object that lacks an attribute: the key or attribute that is meant.

    Args:
        owner: The object.
        name: The unknown name.
        keys: Keys that ``owner[KEY]`` reads, in order.
    """
    kind, names = type(owner).__name__, [str(one) for one in keys]
    missing = f"{kind!r} object has no attribute {name!r}"
    if name in names:
        return AttributeError(f"{missing}; read it as a key: [{name!r}]")
    attributes = [one for one in dir(type(owner)) if not one.startswith("_")]
    guess = closest(name, [*attributes, *names])
    if guess is None:
        read = f"; keys: {', '.join(names)}" if names else ""
        return AttributeError(f"{missing}; attributes: {', '.join(attributes)}{read}")
    return AttributeError(
        f"{missing}; did you mean {guess!r}?"
        if guess in attributes
        else f"{missing}; did you mean the key [{guess!r}]?"
    )


def did_you_mean(name: str, known: Iterable[str], *, what: str) -> str:
    """Return a hint for an unknown name: the closest one, and all that are known.

    Args:
        name: The unknown name.
        known: Valid names, in the order of the hint.
        what: Word for them, as the hint begins: ``targets``.
    """
    names = [str(one) for one in known]
    guess = closest(name, names)
    listed = f"{what}: {', '.join(names)}"
    return f"did you mean {guess!r}? {listed}" if guess else listed
