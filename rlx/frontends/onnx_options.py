"""How an ONNX file is read: what the command line offers for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SHAPE = re.compile(r"(?P<name>.+)=(?P<dims>scalar|\d+(x\d+)*)")


def parse_shapes(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return names and shapes of inputs from ``x=1x3x224x224,y=1x10``.

    Raises:
        ValueError: The text is not of this form, or names an input twice.
    """
    found: dict[str, tuple[int, ...]] = {}
    for part in text.split(","):
        match = _SHAPE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r} is no input shape; write NAME=1x3x224x224")
        if match["name"] in found:
            raise ValueError(f"the input {match['name']!r} has two shapes")
        dims = match["dims"]
        found[match["name"]] = () if dims == "scalar" else tuple(map(int, dims.split("x")))
    return tuple(found.items())


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """How an ONNX file is read.

    Attributes:
        input_shape: Shapes of inputs; dimensions that the file names are bound to them.
        allow_external: Whether tensors may be read from other files beside the model.
        channels_last: Whether images come in and go out channels last, not as the file has them.
    """

    input_shape: tuple[tuple[str, tuple[int, ...]], ...] = field(
        default=(),
        metadata={
            "help": "Shape of an input whose dimensions the file leaves open. May be repeated.",
            "metavar": "NAME=1x3x224x224",
            "parse": parse_shapes,
            "multiple": True,
        },
    )
    allow_external: bool = field(
        default=False,
        metadata={"help": "Read tensors that the model keeps in other files of its folder."},
    )
    channels_last: bool = field(
        default=False,
        metadata={
            "help": "Take and give images channels last, so that no transpose is left; hardware"
            " needs it."
        },
    )
