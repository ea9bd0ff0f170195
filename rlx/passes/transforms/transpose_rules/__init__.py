"""Transposes of linear ops: importing this fills ``rlx.passes.transforms.transpose.RULES``."""

from rlx.passes.transforms.transpose_rules import arithmetic, control, index, reduce, shape, window

__all__ = ["arithmetic", "control", "index", "reduce", "shape", "window"]
