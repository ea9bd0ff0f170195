"""What the layers of a report do, for colours and legends."""

from __future__ import annotations

from typing import Final

KINDS: Final = {
    "convolution": ("conv",),
    "matrix product": ("dense", "matmul", "gemm"),
    "pooling": ("pool", "mean", "reduce", "argmax"),
    "movement": ("reshape", "pad", "transpose", "concat", "slice", "split", "gather", "copy"),
    "arithmetic": ("add", "mul", "sub", "div", "softmax", "clamp", "lut", "rescale", "logistic"),
}
"""Words in the name of an op that say what it does; the first that fits."""


def kind_of(op: str) -> str:
    """Return what an op does: a key of :data:`KINDS`, or ``other``."""
    for kind, words in KINDS.items():
        if any(word in op for word in words):
            return kind
    return "other"


def colour_of(op: str) -> str:
    """Return the class of the colour of an op."""
    return "k-" + kind_of(op).partition(" ")[0]
