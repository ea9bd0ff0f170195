"""Models whose file is well-formed but whose fields are not: seeded changes of the object form.

``mutation.py`` damages bytes, and most of what it makes is refused by the flatbuffer reader; these
changes get behind it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from support.files.tflite_builder import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Random: TypeAlias = np.random.Generator
    Change: TypeAlias = Callable[[Any, Random], Any]

_EXTREMES = (0, 1, -1, 2, 3, 5, 9, 127, 1e9, -7, np.nan, np.inf, 2**31 - 1, -(2**31), 3e38, 1e-38)
_STOP = 0.1
# The schema's writer raises these for what does not fit its field.
_UNWRITABLE = (struct.error, TypeError, ValueError, OverflowError, AttributeError, IndexError)


def scramble(data: bytes, seed: int) -> bytes:
    """Return a model with one to three fields changed; what cannot be written is drawn again."""
    random = np.random.default_rng(seed)
    while True:
        model = unpack(data)
        for _ in range(int(random.integers(1, 4))):
            table, name = _field(model, random)
            setattr(table, name, _changed(table, name, random))
        try:
            return pack(model)
        except _UNWRITABLE:
            continue


def _field(table: Any, random: Random) -> tuple[Any, str]:
    """Return a random field that holds a value."""
    while True:
        fields = [(n, v) for n, v in sorted(vars(table).items()) if v is not None]
        if not fields:
            return table, min(vars(table))
        name, value = fields[int(random.integers(len(fields)))]
        if isinstance(value, list) and value and random.random() > _STOP:
            value = value[int(random.integers(len(value)))]
        empty = all(v is None for v in getattr(value, "__dict__", {}).values())
        if empty or random.random() < _STOP:
            return table, name
        table = value


def _changed(table: Any, name: str, random: Random) -> Any:
    """Return another value for a field."""
    value = getattr(table, name)
    kind = next(k for k in CHANGES if isinstance(value, k))
    changes = CHANGES[kind]
    with np.errstate(all="ignore"):
        return changes[int(random.integers(len(changes)))](value, random)


def _constant(value: Any) -> Change:
    return lambda _, random: value


def _place(value: Any, random: Random) -> int:
    return int(random.integers(len(value))) if len(value) else 0


def _set_element(array: Any, random: Random) -> Any:
    changed = array.copy()
    if len(array):
        number = np.array(_EXTREMES[int(random.integers(len(_EXTREMES)))])
        changed[_place(array, random)] = number.astype(array.dtype)
    return changed


def _add_one(array: Any, random: Random) -> Any:
    changed = array.copy()
    if len(array):
        changed[_place(array, random)] += np.ones((), array.dtype)
    return changed


def _swap(values: Any, random: Random) -> Any:
    changed = values.copy()
    if len(values):
        first, second = _place(values, random), _place(values, random)
        changed[first], changed[second] = values[second], values[first]
    return changed


def _without_one(values: list[Any], random: Random) -> list[Any]:
    place = _place(values, random)
    return [*values[:place], *values[place + 1 :]]


def _one_twice(values: list[Any], random: Random) -> list[Any]:
    return [*values, *values[_place(values, random) :][:1]]


def _one_in_the_place_of_another(values: list[Any], random: Random) -> list[Any]:
    changed = list(values)
    if values:
        changed[_place(values, random)] = values[_place(values, random)]
    return changed


CHANGES: dict[type, tuple[Change, ...]] = {
    np.ndarray: (
        *[_set_element] * 6,
        _add_one,
        _swap,
        _constant(None),
        lambda array, _: array[:0],
        lambda array, _: array[:-1],
        lambda array, _: array[::-1].copy(),
        lambda array, _: np.concatenate([array, array]),
        lambda array, _: np.concatenate([array, array[:1]]),
        lambda array, _: np.repeat(array[:1], len(array)),
        lambda array, random: np.resize(array, int(random.integers(9))),
    ),
    list: (
        _without_one,
        _one_twice,
        _one_in_the_place_of_another,
        _swap,
        _constant(None),
        lambda values, _: values[:0],
        lambda values, _: values[:1],
        lambda values, _: values[::-1],
    ),
    bool: (lambda value, _: not value,),
    float: (
        *map(_constant, (0.0, -1.0, np.nan, np.inf, -np.inf, 1e-38, 3e38)),
        lambda value, _: value * 2,
    ),
    int: (
        lambda _, random: int(random.choice([0, 1, -1, 2, 3, 4, 9, 17, 25, 99, 127])),
        *map(_constant, (0, 1, -1, 128, 1 << 15, 1 << 24, 2**31 - 1, -(2**31), 2**32 - 1)),
        lambda value, _: value + 1,
        lambda value, _: value - 1,
        lambda value, _: value * 2,
        lambda value, _: -value,
    ),
    bytes: tuple(
        map(_constant, (None, b"", b"n" * 2000, b"a\0b", b"\xff\xfe\x80", b"\x1b[2J\r\n", b"x"))
    ),
    object: (_constant(None),),
}
"""Kinds of change by type of the value, the first type that fits."""
