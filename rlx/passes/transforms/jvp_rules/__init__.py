"""Tangents of every op: importing this package fills ``rlx.passes.transforms.linearize.RULES``."""

from rlx.passes.transforms.jvp_rules import (
    binary,
    control,
    index,
    layers,
    linear,
    reduce,
    shape,
    unary,
)

__all__ = ["binary", "control", "index", "layers", "linear", "reduce", "shape", "unary"]
