"""Order of weights for MVE: for every 16 inputs, those of four output channels side by side.

Tests: tests/targets/cortexm/test_mve.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array

VECTOR: Final = 16
"""Values in a vector."""

CHANNELS: Final = 4
"""Output channels computed together."""

MAX_STRAIGHT_STEPS: Final = 6
"""Steps that are unrolled completely at most."""

UNROLLED: Final = 4
"""Steps in a loop's body."""


DOT_BYTES: Final = 300
"""Bytes of machine code of the dot products, which compilers inline."""

LOOP: Final = 2
REST: Final = 8
"""Instructions for a pass of the loop, and for the mask."""


@dataclass(frozen=True, slots=True)
class VectorRows:
    """A run of values, cut into vectors.

    Attributes:
        inputs: Its length.
        tail: Whether values after the last whole vector are read with a mask; if not, the run is
            padded.
    """

    inputs: int
    tail: bool

    @property
    def vectors(self) -> int:
        """Vectors of weights of a channel."""
        return -(-self.inputs // VECTOR)

    @property
    def rest(self) -> int:
        """Values that are read with a mask."""
        return self.inputs % VECTOR if self.tail else 0

    @property
    def steps(self) -> int:
        """Whole vectors."""
        return self.vectors - (self.rest > 0)

    @property
    def loops(self) -> int:
        """Iterations of the loop over steps."""
        return (self.steps - 1) // UNROLLED if self.steps > MAX_STRAIGHT_STEPS else 0

    @property
    def straight(self) -> int:
        """Steps before the loop."""
        return self.steps - self.loops * UNROLLED

    @property
    def constants(self) -> dict[str, Hashable]:
        """Constants of the templates."""
        return {
            "inputs": self.inputs,
            "vectors": self.vectors,
            "straight": self.straight,
            "loops": self.loops,
            "rest": self.rest,
        }

    def instructions(self, windows: int) -> int:
        """Return the instructions to multiply ``windows`` (one or two) runs with four channels."""
        step = windows + CHANNELS + windows * CHANNELS
        return step * self.vectors + LOOP * self.loops + REST * (self.rest > 0)


def pack(weights: Array) -> Array:
    """Return weights [O, K] as one stream, padded with zeros to whole blocks and vectors."""
    outputs, inputs = weights.shape
    filled = np.pad(weights, ((0, -outputs % CHANNELS), (0, -inputs % VECTOR)))
    blocks = filled.reshape(-1, CHANNELS, filled.shape[1] // VECTOR, VECTOR)
    return blocks.transpose(0, 2, 1, 3).reshape(-1)
