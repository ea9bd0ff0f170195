"""Options of reading a TFLite file, as the command line offers them."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlx.frontends.onnx.options import SHAPE_OPTION, Shapes, as_shapes


@dataclass(frozen=True, slots=True)
class TfliteOptions:
    """Options of reading a TFLite file.

    Attributes:
        input_shape: Shapes of inputs, also as a mapping, for the dimensions that the file leaves
            open.
    """

    input_shape: Shapes = field(default=(), metadata=SHAPE_OPTION)

    def __post_init__(self) -> None:
        """Take a mapping, as Python callers write it."""
        object.__setattr__(self, "input_shape", as_shapes(self.input_shape))
