"""Random numbers in graphs under construction.

Tests: tests/unit/ops/real/test_random.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.real import RealRandomBits, RealRandomNormal, RealRandomUniform
from rlx.tracing.arrays import as_shape
from rlx.tracing.tensor import Tensor

if TYPE_CHECKING:
    from rlx.ops.real.random import RealRandom
    from rlx.tracing.arrays import ShapeLike

KEY_END = 2**64
"""Integer keys are below this."""


def random_bits(key: Tensor | int, counter: Tensor, shape: ShapeLike) -> tuple[Tensor, Tensor]:
    """Return random words u32[shape], and the counter after them.

    ::

        counter = graph.state("counter", (4,), "u32")
        bits, following = rlx.random_bits(7, counter, (8,))
        graph.set_state(counter, following)

    Args:
        key: u32[2], the lower word first, or an integer below 2^64. Other keys have other numbers.
        counter: u32[4], the lowest word first: where to begin. The same key and counter result in
            the same numbers.
        shape: Dimensions of the result.

    Raises:
        ShapeError: Key or counter is of another type.
        ValueError: The key is an integer out of range.
    """
    return _drawn(RealRandomBits(shape=as_shape(shape)), key, counter)


def random_uniform(
    key: Tensor | int, counter: Tensor, shape: ShapeLike, low: float = 0.0, high: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return random numbers f32[shape] from ``low`` to ``high``, and the counter after them.

    Without bounds they are multiples of 2^-24 in [0, 1). With bounds each is multiplied and added
    in f32, and may be rounded to ``high``. Arguments as ``random_bits``.
    """
    numbers, following = _drawn(RealRandomUniform(shape=as_shape(shape)), key, counter)
    return _scale_and_shift(numbers, high - low, low), following


def random_normal(
    key: Tensor | int, counter: Tensor, shape: ShapeLike, mean: float = 0.0, deviation: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return normally distributed numbers f32[shape], and the counter after them.

    Arguments as ``random_bits``.
    """
    numbers, following = _drawn(RealRandomNormal(shape=as_shape(shape)), key, counter)
    return _scale_and_shift(numbers, deviation, mean), following


def _drawn(op: RealRandom, key: Tensor | int, counter: Tensor) -> tuple[Tensor, Tensor]:
    """Append an op and return its results."""
    builder = counter.builder.innermost
    if not isinstance(key, Tensor):
        if not 0 <= key < KEY_END:
            raise ValueError(f"expected a key in [0, 2^64), got {key}")
        words = np.array([key & 0xFFFFFFFF, key >> 32], np.uint32)
        key = builder.constant(words)
    numbers, following = builder.append(op, key, counter).results
    return Tensor(builder, numbers), Tensor(builder, following)


def _scale_and_shift(numbers: Tensor, factor: float, offset: float) -> Tensor:
    """Return ``numbers * factor + offset``, without ops that change nothing."""
    scaled = numbers if factor == 1.0 else numbers * float(factor)
    return scaled if offset == 0.0 else scaled + float(offset)
