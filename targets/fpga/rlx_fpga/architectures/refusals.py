"""What the rules of all architectures say of nodes that they cannot build."""

from __future__ import annotations

from typing import Final

INT8_INPUT: Final = (
    "quantize the model (rlx quantize), with fixed sizes: --input-shape for a model in ONNX"
)
"""What to do about an input that no stream can carry."""

ONLY_INT8: Final = "values in the core are int8; only at its ports uint8 can be converted"
"""Why there are no conversions to other codes, in any architecture."""
