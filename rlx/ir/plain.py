"""Attributes as plain data, so that the text form and the file form can hold every op.

The type annotations of a dataclass define how each of its fields is written and, on reading, the
accepted values. Nothing is looked up by a name from the outside: a record is read as the class that
the annotation asks for, and its name must be the name of that class.

================================ =================================================
Python value                     plain value
================================ =================================================
None, bool, int, float, str      the same
tuple                            tuple
``Graph``                        the same; each form writes it in its own way
member of an enum                ``PlainRecord`` without fields, named by ``symbol_of``
frozen dataclass                 ``PlainRecord`` with every field, or those of its ``to_plain``
``PlainRecord``                  the same
================================ =================================================
"""

from __future__ import annotations

import enum
import functools
import math
import re
import types
import typing
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from rlx.ir.graph import Graph, Source, State

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from rlx.ir.types import TensorType

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
RESERVED = frozenset({"true", "false", "none", "inf", "nan", "dense"})
"""Words of the text form that mean something else than a symbol."""


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """A dataclass or the member of an enum, without its class.

    Attributes:
        name: Name of the class, or symbol of the member.
        fields: Plain values by field; others have their defaults.
    """

    name: str
    fields: Mapping[str, Plain] = field(default_factory=dict)


Plain: TypeAlias = "bool | int | float | str | tuple[Plain, ...] | PlainRecord | Graph | None"


class PlainError(ValueError):
    """A value does not match the annotation.

    Attributes:
        message: Value that is expected, and the one that was found.
        path: Place inside the attribute, such as ``.kernel[1]``.
        hint: Advice about it, where there is any.
    """

    def __init__(self, message: str, path: str = "", *, hint: str | None = None) -> None:
        self.message = message
        self.path = path
        self.hint = hint
        super().__init__(f"{path.lstrip('.')} {message}" if path else message)

    def inside(self, step: str) -> PlainError:
        """Return the same error as seen from one level further out."""
        return PlainError(self.message, step + self.path, hint=self.hint)


@dataclass(frozen=True, slots=True)
class Codec:
    """Encoding and decoding of the values of one annotation.

    Attributes:
        wants: Values that are accepted, for messages: ``must be <wants>``.
        encode: From Python value to plain value; raises PlainError.
        decode: From plain value to Python value; raises PlainError.
    """

    wants: str
    encode: Callable[[Any], Plain]
    decode: Callable[[Plain], Any]


def is_word(text: str) -> bool:
    """Return whether ``text`` can be written without quotes in the text form."""
    return _WORD.match(text) is not None and text not in RESERVED


def symbol_of(member: enum.Enum) -> str:
    """Return the spelling of the member of an enum: its value if that is a word, else its name."""
    value = member.value
    return value if isinstance(value, str) and is_word(value) else member.name


@functools.cache
def annotations_of(cls: type) -> dict[str, Any]:
    """Return the resolved annotation of each field of a dataclass, in order."""
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if f.init}


def encode_fields(instance: Any) -> dict[str, Plain]:  # noqa: ANN401 - any dataclass
    """Return the fields of a dataclass instance as plain values, those with defaults too.

    Raises:
        PlainError: A field does not match its annotation.
    """
    cls: type = type(instance)
    encoded: dict[str, Plain] = {}
    for name, annotation in annotations_of(cls).items():
        with _step(f".{name}"):
            encoded[name] = codec(annotation).encode(getattr(instance, name))
    return encoded


def decode_fields(cls: type, plain_fields: Mapping[str, Plain]) -> dict[str, Any]:
    """Return the arguments that make an instance of dataclass ``cls`` out of plain values.

    Raises:
        PlainError: A field is missing, unknown or does not match its annotation.
    """
    annotations = annotations_of(cls)
    for name in plain_fields:
        if name not in annotations:
            raise PlainError(f"is unknown; {cls.__name__} has {', '.join(annotations)}", f".{name}")
    for f in fields(cls):
        if f.name not in plain_fields and f.default is MISSING and f.default_factory is MISSING:
            raise PlainError("is missing", f".{f.name}")
    decoded = {}
    for name, plain in plain_fields.items():
        with _step(f".{name}"):
            decoded[name] = codec(annotations[name]).decode(plain)
    return decoded


def decode_record(cls: type, plain_fields: Mapping[str, Plain]) -> Any:  # noqa: ANN401 - of cls
    """Return an instance of dataclass ``cls``.

    Raises:
        PlainError: As ``decode_fields``, or the class refused the combination.
    """
    arguments = decode_fields(cls, plain_fields)
    try:
        return cls(**arguments)
    except ValueError as e:
        raise PlainError(f"is not a {cls.__name__}: {e}") from e


def decode_source(
    cls: type[Source], plain_fields: Mapping[str, Plain], type_: TensorType
) -> Source:
    """Return an input, state or parameter of a type.

    Raises:
        PlainError: It has other attributes, or one is of another type.
    """
    initial = plain_fields.get("initial", 0)
    expected = {"initial"} if issubclass(cls, State) else set()
    if not plain_fields.keys() <= expected or type(initial) is not int:
        raise PlainError(f"{cls.name} takes {'initial=INTEGER' if expected else 'nothing'} only")
    return State(type=type_, initial=initial) if expected else cls(type=type_)


@functools.cache
def codec(annotation: Hashable) -> Codec:
    """Return the codec that writes and reads values of ``annotation``.

    Raises:
        TypeError: Attributes cannot have this type.
    """
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return _union(tuple(codec(a) for a in arguments))
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enum(annotation)
    if isinstance(annotation, type) and is_dataclass(annotation):
        return _self_written(annotation) if hasattr(annotation, "to_plain") else _record(annotation)
    raise TypeError(f"attributes cannot have the type {annotation}")


class _step:  # noqa: N801 - reads as a statement
    """Context manager that prepends ``step`` to the path of a PlainError."""

    __slots__ = ("step",)

    def __init__(self, step: str) -> None:
        self.step = step

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PlainError):
            raise error.inside(self.step) from None


def _refusal(wants: str, value: object) -> PlainError:
    """Return the error for a value of another kind."""
    if isinstance(value, PlainRecord):
        text = value.name
    elif isinstance(value, Graph):
        text = f"graph {value.name!r}"
    elif isinstance(value, bool | int | float | str | tuple | None):
        text = repr(value)
    else:
        text = f"{type(value).__name__} {value}"
    return PlainError(f"must be {wants}, got {text if len(text) <= 60 else text[:57] + '...'}")


def _scalar(kind: type, wants: str) -> Codec:
    """Return the codec of values that are exactly of one Python type."""

    def same(value: Any) -> Any:  # noqa: ANN401 - returned as it came
        if type(value) is not kind:
            raise _refusal(wants, value)
        return value

    return Codec(wants, same, same)


def _number(value: Any) -> float:  # noqa: ANN401 - checked here
    """Return a float; an int counts as one, a bool does not."""
    if type(value) is not float and type(value) is not int:
        raise _refusal("a number", value)
    try:
        return float(value)
    except OverflowError:
        raise _refusal("a number", value) from None


_SCALARS: dict[Any, Codec] = {
    int: _scalar(int, "an integer"),
    bool: _scalar(bool, "true or false"),
    str: _scalar(str, "a string"),
    float: Codec("a number", _number, _number),
    PlainRecord: _scalar(PlainRecord, "a record"),
    Graph: _scalar(Graph, "a graph"),
    type(None): _scalar(type(None), "none"),
}


def _union(members: tuple[Codec, ...]) -> Codec:
    """Return the codec of the first of ``members`` that accepts the value."""
    wants = " or ".join(m.wants for m in members)

    def first(method: str, value: Any) -> Any:  # noqa: ANN401 - of one of the members
        closest: PlainError | None = None
        for member in members:
            try:
                return getattr(member, method)(value)
            except PlainError as e:
                # The most specific error is of a member that accepted the value but not its
                # contents.
                if e.path or not e.message.startswith("must be"):
                    closest = e
        raise closest or _refusal(wants, value)

    return Codec(wants, functools.partial(first, "encode"), functools.partial(first, "decode"))


def _literal(allowed: tuple[Any, ...]) -> Codec:
    """Return the codec of a few given values."""
    wants = f"one of {', '.join(map(repr, allowed))}"

    def same(value: Any) -> Any:  # noqa: ANN401 - returned as it came
        for item in allowed:
            if type(item) is type(value) and item == value:
                return item
        raise _refusal(wants, value)

    return Codec(wants, same, same)


def _tuple(arguments: tuple[Any, ...]) -> Codec:
    """Return the codec of ``tuple[X, ...]`` or of a tuple of fixed length."""
    endless = arguments[1:] == (Ellipsis,)
    items = [codec(a) for a in (arguments[:1] if endless else arguments)]
    wants = (
        f"a list, each item {items[0].wants}"
        if endless
        else f"a list of {len(items)} ({', '.join(i.wants for i in items)})"
    )

    def each(method: str, value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - checked here
        if not isinstance(value, tuple) or not (endless or len(value) == len(items)):
            raise _refusal(wants, value)
        converted = []
        for i, item in enumerate(value):
            with _step(f"[{i}]"):
                converted.append(getattr(items[0 if endless else i], method)(item))
        return tuple(converted)

    return Codec(wants, functools.partial(each, "encode"), functools.partial(each, "decode"))


def _enum(cls: type[enum.Enum]) -> Codec:
    """Return the codec of an enum."""
    members = {symbol_of(m): m for m in cls}
    wants = f"one of {', '.join(members)}"

    def encode(value: Any) -> Plain:  # noqa: ANN401 - checked here
        if type(value) is not cls:
            raise _refusal(wants, value)
        return PlainRecord(symbol_of(value))

    def decode(plain: Plain) -> enum.Enum:
        if not isinstance(plain, PlainRecord) or plain.fields or plain.name not in members:
            raise _refusal(wants, plain)
        return members[plain.name]

    return Codec(wants, encode, decode)


def _record(cls: type) -> Codec:
    """Return the codec of a dataclass."""
    wants = f"{cls.__name__}(...)"

    def encode(value: Any) -> Plain:  # noqa: ANN401 - checked here
        if type(value) is not cls:
            raise _refusal(wants, value)
        return PlainRecord(cls.__name__, encode_fields(value))

    def decode(plain: Plain) -> object:
        if not isinstance(plain, PlainRecord) or plain.name != cls.__name__:
            raise _refusal(wants, plain)
        return decode_record(cls, plain.fields)

    return Codec(wants, encode, decode)


def _self_written(cls: Any) -> Codec:  # noqa: ANN401 - a class with to_plain and from_plain
    """Return the codec of a class that says itself which fields its record has."""
    wants = f"{cls.__name__}(...)"

    def encode(value: Any) -> Plain:  # noqa: ANN401 - checked here
        if type(value) is not cls:
            raise _refusal(wants, value)
        return PlainRecord(cls.__name__, value.to_plain())

    def decode(plain: Plain) -> object:
        if not isinstance(plain, PlainRecord) or plain.name != cls.__name__:
            raise _refusal(wants, plain)
        try:
            return cls.from_plain(plain.fields)
        except ValueError as e:
            raise PlainError(f"is not a {cls.__name__}: {e}") from e

    return Codec(wants, encode, decode)


def map_plain(plain: Plain, visit: Callable[[Plain, str], Plain], path: str) -> Plain:
    """Return a plain value with other values in the place of some in it.

    Args:
        plain: The plain value.
        visit: Returns the replacement of a value, called with its path, such as ``body`` or
            ``cases[1]``. If it returns the value itself, those inside of it are visited.
        path: Path of the plain value itself.
    """
    changed = visit(plain, path)
    if changed is not plain:
        return changed
    if isinstance(plain, tuple):
        return tuple(map_plain(item, visit, f"{path}[{i}]") for i, item in enumerate(plain))
    if isinstance(plain, PlainRecord):
        inner = {k: map_plain(item, visit, f"{path}.{k}") for k, item in plain.fields.items()}
        return PlainRecord(plain.name, inner)
    return plain


def to_json(plain: Plain) -> Any:  # noqa: ANN401 - JSON
    """Return a plain value as JSON holds it: a record as an object with its name under ``@``.

    Graphs have no such form; ``map_plain`` puts something in their place first.
    """
    if isinstance(plain, PlainRecord):
        return {"@": plain.name, **{k: to_json(v) for k, v in plain.fields.items()}}
    if isinstance(plain, tuple):
        return [to_json(item) for item in plain]
    if isinstance(plain, float) and not math.isfinite(plain):
        return {"@": repr(plain)}
    return plain


def from_json(value: Any) -> Plain:  # noqa: ANN401 - JSON
    """Return the value for a result of ``to_json``.

    Raises:
        PlainError: An object has no name under ``@``.
    """
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]  # JSON has nothing else
    name = value.get("@")
    if not isinstance(name, str):
        raise PlainError("must name its class under '@'")
    if name in ("inf", "-inf", "nan") and len(value) == 1:
        return float(name)
    return PlainRecord(name, {k: from_json(v) for k, v in value.items() if k != "@"})
