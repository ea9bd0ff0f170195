"""Lowerings of ops to functions of JAX; importing this package fills the table."""

from rlx_xla.lowerings import (
    control,
    convert,
    elementwise,
    functions16,
    index,
    integer,
    linear,
    move,
    random,
    recurrent,
    reduce,
    resize,
    window,
)
from rlx_xla.rules import RULES

__all__ = [
    "RULES",
    "control",
    "convert",
    "elementwise",
    "functions16",
    "index",
    "integer",
    "linear",
    "move",
    "random",
    "recurrent",
    "reduce",
    "resize",
    "window",
]
