"""Options of reading a TFLite file, as the command line offers them."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlx.frontends.onnx_options import parse_shapes


@dataclass(frozen=True, slots=True)
class TfliteOptions:
    """Options of reading a TFLite file.

    Attributes:
        input_shape: Shapes of inputs, for the dimensions that the file leaves open.
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
