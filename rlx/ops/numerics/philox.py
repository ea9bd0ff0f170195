"""Philox4x32-10: random bits as a function of a counter and a key.

The generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(2011). Counters are 128 bits wide, keys 64; both are little-endian words of 32 bits. A block of
four words depends on its counter and the key alone, so blocks can be computed in any order, and the
numbers of a program follow from the counter it begins with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Words: TypeAlias = npt.NDArray[np.uint32]
_Wide: TypeAlias = npt.NDArray[np.uint64]

ROUNDS: Final = 10
"""Rounds of a block: the 10 of Philox4x32-10."""
WORDS: Final = 4
"""Words in a block."""

# Constants of the paper. Keys grow by the golden ratio and by sqrt(3) - 1, in 32 bits.
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_FRACTION_BITS: Final = 24


def philox(counters: Words, key: Words) -> Words:
    """Return a block of random bits for each counter.

    Args:
        counters: uint32[..., 4], the lowest word first.
        key: uint32[2].

    Returns:
        uint32[..., 4].
    """
    words: Sequence[_Wide] = [counters[..., i].astype(np.uint64) for i in range(WORDS)]
    keys = [int(k) for k in key]
    for _ in range(ROUNDS):
        first, second = (m * w for m, w in zip(_MULTIPLIERS, words[::2], strict=True))
        words = [
            (second >> _SHIFT) ^ words[1] ^ np.uint64(keys[0]),
            second & _LOW,
            (first >> _SHIFT) ^ words[3] ^ np.uint64(keys[1]),
            first & _LOW,
        ]
        keys = [(k + step) & 0xFFFFFFFF for k, step in zip(keys, _KEY_STEPS, strict=True)]
    return np.stack(words, axis=-1).astype(np.uint32)


def advance(counter: Words, blocks: int | _Wide) -> Words:
    """Return a counter advanced by ``blocks``, modulo 2^128.

    Args:
        counter: uint32[4], the lowest word first.
        blocks: Less than 2^64; an array results in a counter for each element.

    Returns:
        uint32[..., 4].
    """
    wide = counter.astype(np.uint64)
    steps = np.asarray(blocks, np.uint64)
    first, second = wide[0] | wide[1] << _SHIFT, wide[2] | wide[3] << _SHIFT
    with np.errstate(over="ignore"):
        low = first + steps
        high = second + (low < first)
    words = np.stack([low & _LOW, low >> _SHIFT, high & _LOW, high >> _SHIFT], axis=-1)
    return words.astype(np.uint32)


def random_words(counter: Words, key: Words, count: int) -> Words:
    """Return ``count`` words: those of the block at ``counter``, of the next one, and so on."""
    blocks = np.arange(blocks_of(count), dtype=np.uint64)
    return philox(advance(counter, blocks), key).reshape(-1)[:count]


def blocks_of(count: int) -> int:
    """Return the number of blocks of ``count`` words."""
    return -(-count // WORDS)


def uniform(words: Words) -> npt.NDArray[np.float32]:
    """Return a float in [0, 1) for each word: its upper 24 bits, divided by 2^24. Exact."""
    scale = np.float32(2.0**-_FRACTION_BITS)
    return (words >> np.uint32(32 - _FRACTION_BITS)).astype(np.float32) * scale


def normal(words: Words) -> npt.NDArray[np.float32]:
    """Return a number of the standard normal distribution for each word of an even number of them.

    Box and Muller: words ``a`` and ``b`` of a pair become ``r cos t`` and ``r sin t``, where
    ``r = sqrt(-2 ln(1 - uniform(a)))`` and ``t = 2 pi uniform(b)``, computed in float64 and rounded
    once. The largest magnitude is about 5.77.
    """
    first, second = (uniform(half).astype(np.float64) for half in (words[::2], words[1::2]))
    radius, angle = np.sqrt(-2.0 * np.log1p(-first)), 2.0 * np.pi * second
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(-1).astype(np.float32)
