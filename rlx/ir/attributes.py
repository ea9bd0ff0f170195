"""Rewriting of values inside the attributes of ops: in tuples and dataclasses, at any depth."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def map_attribute(value: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any attribute
    """Return an attribute, or an op, with the values inside it changed; itself if none was.

    Args:
        value: The attribute.
        change: Returns the replacement of a value, or the value itself to look inside of it.
    """
    new = change(value)
    if new is not value:
        return new
    if isinstance(value, tuple):
        items = tuple(map_attribute(item, change) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if is_dataclass(value) and not isinstance(value, type):
        old = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        new_values = {name: map_attribute(item, change) for name, item in old.items()}
        changed = {name: item for name, item in new_values.items() if item is not old[name]}
        return replace(value, **changed) if changed else value
    return value
