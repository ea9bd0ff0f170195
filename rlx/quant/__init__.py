"""Quantization: from graphs of reals to graphs of exact integers."""

from rlx.quant.convert import Converted, LayerRow, convert, prepare
from rlx.quant.scheme import WeightScheme

__all__ = ["Converted", "LayerRow", "WeightScheme", "convert", "prepare"]
