"""Options of reading an ONNX file, as the command line offers them.

Tests: tests/unit/frontends/onnx/test_external.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from operator import index
from typing import Any, Final

from rlx.support.errors import UsageError
from rlx.support.text.names import shorten

_SHAPE = re.compile(r"(?P<name>.+)=(?P<dims>scalar|\d+(x\d+)*)")

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
Values = tuple[tuple[str, float], ...]


def parse_shapes(text: str) -> Shapes:
    """Return names and shapes of inputs from ``x=1x3x224x224,y=1x10``.

    Raises:
        ValueError: The text is not of this form, or names an input twice.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for part in text.split(","):
        match = _SHAPE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r} is not an input shape: write NAME=1x3x224x224")
        if match["name"] in shapes:
            raise ValueError(f"the input {match['name']!r} has two shapes")
        dims = match["dims"]
        shapes[match["name"]] = () if dims == "scalar" else tuple(map(int, dims.split("x")))
    return tuple(shapes.items())


def parse_values(text: str) -> Values:
    """Return names and values of inputs from ``rate=16000,threshold=0.5``.

    Raises:
        ValueError: The text is not of this form, or names an input twice.
    """
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().rpartition("=")
        try:
            value = float({"true": "1", "false": "0"}.get(number.lower(), number))
        except ValueError:
            name, value = "", 0.0
        if not name:
            raise ValueError(f"{part.strip()!r} is not a value of an input: write NAME=16000")
        if name in values:
            raise ValueError(f"the input {name!r} has two values")
        values[name] = value
    return tuple(values.items())


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a text with commas between."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def as_shapes(shapes: Shapes | Mapping[str, Sequence[int] | str] | Sequence[int]) -> Shapes:
    """Return shapes of inputs, which Python callers may write as a mapping.

    A shape alone gets an empty name: it is that of the only input.

    Raises:
        UsageError: It is something else.
    """
    if isinstance(shapes, list | tuple) and shapes and all(isinstance(n, int) for n in shapes):
        return (("", _sizes(shapes)),)
    if not isinstance(shapes, Mapping | list | tuple):
        raise _not_shapes(shapes)
    pairs: list[Any] = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise _not_shapes(shapes)
    return tuple((name, _sizes(shape)) for name, shape in pairs)


def _sizes(shape: Any) -> tuple[int, ...]:  # noqa: ANN401 - what the user wrote
    """Return the sizes of a shape, or of a text such as ``1x3x50``."""
    if isinstance(shape, str) and (match := _SHAPE.fullmatch(f"x={shape}")):
        return () if shape == "scalar" else tuple(map(int, match["dims"].split("x")))
    try:
        return tuple(map(index, shape))
    except TypeError:
        raise _not_shapes(shape) from None


def _as_values(values: Values | Mapping[str, float]) -> Values:
    """Return values of inputs, which Python callers may write as a mapping.

    Raises:
        UsageError: It is something else.
    """
    pairs: Any = tuple(values.items()) if isinstance(values, Mapping) else values
    if isinstance(pairs, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Real) for pair in pairs
    ):
        return pairs
    raise UsageError(
        f"expected numbers by the name of an input, got {values!r}",
        where="--input-value",
        hint="write --input-value NAME=16000",
    )


def _as_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names, which Python callers may write as a list.

    Raises:
        UsageError: It is something else.
    """
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return tuple(names)
    raise UsageError(
        f"expected names of values, got {names!r}", where="--outputs", hint="write --outputs NAME"
    )


def _not_shapes(value: object) -> UsageError:
    return UsageError(
        f"expected shapes by the name of an input, got {value!r}",
        where="--input-shape",
        hint="write --input-shape NAME=1x3x224x224",
    )


def shapes_by_name(shapes: Shapes, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes by input; one without a name is that of the only input.

    Args:
        shapes: Shapes of the options.
        names: Names of the inputs that may have a shape.

    Raises:
        UsageError: A shape has no name, and there are several inputs, or none.
    """
    by_name = dict(shapes)
    if "" not in by_name:
        return by_name
    if len(names) != 1:
        raise UsageError(
            f"expected shapes by the name of an input, got {by_name['']!r}",
            where="--input-shape",
            hint=f"inputs: {', '.join(map(shorten, names)) or 'none'}",
        )
    return {names[0]: by_name[""]}


SHAPE_OPTION: Final[Mapping[str, Any]] = {
    "help": "Shape of an input whose dimensions the file leaves open. May be repeated.",
    "metavar": "NAME=1x3x224x224",
    "parse": parse_shapes,
    "multiple": True,
}
"""``--input-shape`` of the formats that have it."""


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """Options of reading an ONNX file.

    Attributes:
        input_shape: Shapes of inputs, also as a mapping, or the shape of the only one; dimensions
            that the file names are bound to them.
        input_value: Numbers of inputs, also as a mapping: such an input becomes a constant, every
            element of which has this value.
        outputs: Names of values that are the outputs, in place of the file's; nodes that they do
            not need are left out.
        allow_external: Whether tensors may be read from other files of the model's folder than the
            one with its name.
        channels_last: Whether images are read and returned channels last, not as the file has them.
    """

    input_shape: Shapes = field(default=(), metadata=SHAPE_OPTION)
    input_value: Values = field(
        default=(),
        metadata={
            "help": "Make an input a constant with this value. May be repeated.",
            "metavar": "NAME=16000",
            "parse": parse_values,
            "multiple": True,
        },
    )
    outputs: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Value to be an output, in place of the file's: cuts the network there. May be"
            " repeated.",
            "metavar": "NAME",
            "parse": parse_names,
            "multiple": True,
        },
    )
    allow_external: bool = field(
        default=False,
        metadata={
            "help": "Read tensors that the model keeps in other files of its folder than"
            " MODEL.data, which is always read."
        },
    )
    channels_last: bool = field(
        default=False,
        metadata={"help": "Accept and return images channels last, without transposes."},
    )

    def __post_init__(self) -> None:
        """Take mappings and lists, as Python callers write them."""
        object.__setattr__(self, "input_shape", as_shapes(self.input_shape))
        object.__setattr__(self, "input_value", _as_values(self.input_value))
        object.__setattr__(self, "outputs", _as_names(self.outputs))
