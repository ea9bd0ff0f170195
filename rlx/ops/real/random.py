"""Random numbers as a function of a key and a counter: Philox4x32-10.

No state is hidden: the same key and counter result in the same numbers, on every machine. Each op
also returns the counter after the blocks that it used, for the next op or, as a state, the next
run.

Elements in row-major order use the words of the blocks at ``counter``, ``counter + 1``, ... in
order, one word each: element ``i`` uses word ``i % 4`` of block ``i // 4``. The rest of the last
block is not used.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Dim, DType, Op, TensorType, Traits
from rlx.ops.numerics.philox import advance, blocks_of, normal, random_words, uniform

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.ops.numerics.philox import Words

KEY = TensorType((2,), DType.U32)
COUNTER = TensorType((4,), DType.U32)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRandom(Op):
    """Random numbers.

    Operands: ``key`` u32[2] and ``counter`` u32[4], each with the lowest word first. Results: the
    numbers, [shape]; and the counter of the first block that was not used, u32[4].

    Attributes:
        shape: Dimensions of the numbers.
    """

    traits: ClassVar[Traits] = Traits()
    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    dtype: ClassVar[DType]
    shape: tuple[int | Dim, ...]

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the numbers and of the counter."""
        for what, found, wanted in zip(("key", "counter"), operands, (KEY, COUNTER), strict=True):
            if found != wanted:
                raise self.refuse(f"the {what} must be {wanted}, got {found}")
        if any(isinstance(d, int) and d < 0 for d in self.shape):
            raise self.refuse(f"dimensions must not be negative, got {list(self.shape)}")
        return TensorType(self.shape, self.dtype), COUNTER

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the numbers and the next counter."""
        key, counter = (np.asarray(one, np.uint32) for one in operands)
        shape = TensorType(self.shape, self.dtype).static_shape
        count = math.prod(shape)
        words = random_words(counter, key, self.words(count))
        numbers = self.numbers(words)[:count].reshape(shape)
        return numbers, advance(counter, blocks_of(count))

    @staticmethod
    def words(count: int) -> int:
        """Return the number of words that ``count`` numbers are made of."""
        return count

    @staticmethod
    @abstractmethod
    def numbers(words: Words) -> Array:
        """Return the numbers that are made of words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRandomBits(RealRandom):
    """Random bits: the words themselves, u32. Attributes: as ``RealRandom``."""

    name: ClassVar[str] = "real.random_bits"
    dtype: ClassVar[DType] = DType.U32

    @staticmethod
    def numbers(words: Words) -> Array:
        """Return the words."""
        return words


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRandomNormal(RealRandom):
    """Numbers of the standard normal distribution, f32. Attributes: as ``RealRandom``.

    Box and Muller, on the words of elements ``2 i`` and ``2 i + 1``: computed in float64 and
    rounded once, so that two machines differ by a unit in the last place at most, and seldom.
    """

    name: ClassVar[str] = "real.random_normal"
    dtype: ClassVar[DType] = DType.F32

    @staticmethod
    def words(count: int) -> int:
        """Return the number of words that ``count`` numbers are made of: whole pairs."""
        return count + count % 2

    @staticmethod
    def numbers(words: Words) -> Array:
        """Return the numbers that are made of pairs of words."""
        return normal(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealRandomUniform(RealRandom):
    """Numbers in [0, 1), f32: the upper 24 bits of a word, divided by 2^24.

    Exact on every machine. Attributes: as ``RealRandom``.
    """

    name: ClassVar[str] = "real.random_uniform"
    dtype: ClassVar[DType] = DType.F32

    @staticmethod
    def numbers(words: Words) -> Array:
        """Return the numbers that are made of words."""
        return uniform(words)
