"""Quantization: from graphs of reals to graphs of exact integers."""

from rlx.passes.quantize.convert import Converted, LayerRow, convert, prepare
from rlx.passes.quantize.scheme import WeightScheme

__all__ = ["Converted", "LayerRow", "WeightScheme", "convert", "prepare"]
