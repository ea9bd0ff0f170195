"""``.rlx`` files with a changed document and the checksum that belongs to it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load, save

from rlx.ir.op import Op
from rlx.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Random: TypeAlias = np.random.Generator
    Change: TypeAlias = Callable[[Any, Random], Any]

_KEY = "rlx"
_NUMBERS = (0, -1, 1, 2, 3, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 10**40,
            -(2**31), -(2**62), 0.5, -0.0, 1e-300, 1e308, -1e308)  # fmt: skip
_WORDS = ("", "x", "q.clamp", "constant", "input", "param", "mir", "lir", "i8", "f32", "i2", "bool",
          "a\0b", "\x1b[2J", "n" * 5000, "\ud800", "nan", "inf", "-inf")  # fmt: skip


def resealed(data: bytes, seed: int) -> bytes:
    """Return the ``.rlx`` file ``data`` with one to three places of its document changed."""
    random = np.random.default_rng(seed)

    def change(document: dict[str, Any]) -> None:
        for _ in range(int(random.integers(1, 4))):
            _change_one(document, random)

    return sealed_document(data, change)


def sealed_document(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the ``.rlx`` file ``data`` after ``change`` on its document, with a right checksum."""
    content, tensors = _parts(data)
    change(content["document"])
    content["sha256"] = _seal(content["document"], tensors)
    return save(tensors, metadata={_KEY: json.dumps(content)})


def _parts(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the JSON and the tensors of a file."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return json.loads(header["__metadata__"][_KEY]), load(data)


def _seal(document: Any, tensors: dict[str, np.ndarray]) -> str:
    """Return the checksum of a document with its constants, in the order of their nodes."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name in sorted(tensors, key=_place):
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def _place(name: str) -> tuple[int | str, ...]:
    """Return the place of the node of ``constant.3`` or, in a region, ``constant.7.body.3``."""
    return tuple(int(part) if part.isdigit() else part for part in name.split(".")[1:])


def _change_one(document: Any, random: Random) -> None:
    """Change one place, drawn level by level so that long lists do not hide the rest."""
    holder: Any = None
    key: Any = None
    value = document
    while isinstance(value, dict | list) and value and (holder is None or random.random() > 0.08):
        holder = value
        keys = sorted(value) if isinstance(value, dict) else range(len(value))
        key = keys[int(random.integers(len(keys)))]
        value = value[key]
    if random.random() < _OF_HOLDER:
        _HOLDER_CHANGES[int(random.integers(len(_HOLDER_CHANGES)))](holder, key, random)
    else:
        holder[key] = _other(value, random)


_OF_HOLDER = 0.2


def _remove(holder: Any, key: Any, _: Random) -> None:
    del holder[key]


def _double(holder: Any, key: Any, _: Random) -> None:
    """Put an element in twice, or a value under a second key."""
    if isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[f"{key}_2"] = holder[key]


def _exchange(holder: Any, key: Any, random: Random) -> None:
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    other = keys[int(random.integers(len(keys)))]
    holder[key], holder[other] = holder[other], holder[key]


def _wrap(holder: Any, key: Any, random: Random) -> None:
    """Nest a value in lists, sometimes deep."""
    for _ in range(int(random.choice([1, 2, 40, 400]))):
        holder[key] = [holder[key]]


_HOLDER_CHANGES = (_remove, _remove, _double, _exchange, _exchange, _wrap)


def _other(value: Any, random: Random) -> Any:
    """Return another value, of the same type most of the time."""
    kind = "other" if random.random() < 0.1 else type(value).__name__
    return _CHANGES.get(kind, _anything)(value, random)


def _anything(_: Any, random: Random) -> Any:
    values = (None, True, 1, 0.5, "x", [], {}, [0], {"@": "Window"}, {"@": "nan"}, {"@": "-inf"})
    return values[int(random.integers(len(values)))]


def _number(value: Any, random: Random) -> Any:
    near = (value + 1, value - 1, value * 2, -value)
    values = near if random.random() < 0.4 else _NUMBERS
    return values[int(random.integers(len(values)))]


def _word(_: Any, random: Random) -> str:
    """Return another word: of the list above, a type or an operator."""
    kinds = (_WORDS, [t.value for t in DType], sorted(Op.registry))
    words = kinds[int(random.integers(len(kinds)))]
    return str(words[int(random.integers(len(words)))])


def _items(value: list[Any], random: Random) -> list[Any]:
    changed = (value[:-1], value[1:], value[::-1], value * 2, [], value[:1] * 70)
    return changed[int(random.integers(len(changed)))]


_CHANGES: dict[str, Change] = {
    "bool": lambda value, _: not value,
    "int": _number,
    "float": _number,
    "str": _word,
    "list": _items,
}
