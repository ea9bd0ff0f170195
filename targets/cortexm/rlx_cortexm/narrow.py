"""Weights of 4 and 2 bits, two or four to a byte, in three orders.

:func:`pack_narrow` is for dot products, in the order of ``packing``. Four channels computed
together: for each four inputs, words whose byte ``k`` holds the weights of input ``k``, channel by
channel from the lowest bits on; then, for each remaining input, the four weights in as few bytes as
possible. Remaining channels follow input by input, each run starting at a byte of its own.

:func:`pack_words` is for kernels that read words of bytes: a shift and a mask turn a packed word
into each of these, all weights multiplied. :func:`pack_lanes` is for kernels that read pairs of 16
bits: a shift and a mask select both values of a pair.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rlx_cortexm.packing import BLOCK, QUAD

WHOLE_BITS = 8
"""Bits of weights that are not packed."""

WORD_BITS = 32

SUM_LIMIT = 1 << 31
"""The kernels' sums are scaled by up to 2^6 and must stay below this."""


def can_pack(weights: npt.NDArray[np.generic], bits: int) -> bool:
    """Whether weights [O, ...] of ``bits`` bits may be packed: no scaled sum leaves int32."""
    sums = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(axis=1)
    return bits < WHOLE_BITS and 128 * int(sums.max(initial=0)) << (WHOLE_BITS - bits) < SUM_LIMIT


def word_values(bits: int) -> int:
    """Return the values of a word."""
    return WORD_BITS // bits


def suffix(bits: int) -> str:
    """Return the end of the names of functions that read weights of ``bits``; empty for int8."""
    return "" if bits == WHOLE_BITS else f"_i{bits}"


def note(bits: int) -> str:
    """Return the end of the names of candidates with weights of ``bits``; empty for int8."""
    return "" if bits == WHOLE_BITS else f", {bits}-bit weights"


def run_bytes(length: int, bits: int) -> int:
    """Return the bytes of a run of one channel."""
    return -(-length * bits // WHOLE_BITS)


def pack_narrow(weights: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int8]:
    """Return weights [O, S, K] as one stream of bytes: O channels, S rows of K values each."""
    values = weights.astype(np.int8).view(np.uint8) & np.uint8((1 << bits) - 1)
    blocked = len(values) - len(values) % BLOCK
    parts = [_pack_rows(values[o : o + BLOCK], bits) for o in range(0, blocked, BLOCK)]
    parts += [_join(row, bits) for channel in values[blocked:] for row in channel]
    return np.concatenate(parts).view(np.int8)


def pack_values(values: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int8]:
    """Return values [n] one after the other, the first in the lowest bits of the first byte."""
    return _join(values.astype(np.int8).view(np.uint8) & np.uint8((1 << bits) - 1), bits).view(
        np.int8
    )


def pack_words(values: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int8]:
    """Return rows of values [R, n], n a multiple of those of a word, in bytes of whole quads.

    A word holds a few quads: byte ``k`` holds value ``k`` of each, the first in its high bits.
    """
    # [words, quads, values] -> [words, values, quads], the last in the lowest bits
    words = values.reshape(-1, WHOLE_BITS // bits, QUAD).swapaxes(1, 2)[..., ::-1]
    return pack_values(words.reshape(-1), bits)


def pack_lanes(values: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int8]:
    """Return rows of values [R, n], n a multiple of four, as bytes for pairs of 16 bits.

    Values 0 and 2 of a quad, then 1 and 3, are the pairs of a word, the first in its lowest bits:
    the second value of a pair is 16 bits above the first. Values are stored plus half their range,
    so that they are not negative. The quads that are left of a row are stored value by value, in
    ``bits / 2`` bytes each.
    """
    unsigned = (values.astype(np.int64) + (1 << (bits - 1))).astype(np.uint8)
    rows, length = unsigned.shape
    whole = length - length % word_values(bits)
    # [row, words, quads, upper value, odd pair] -> [row, words, upper value, quads, odd pair]
    quads = unsigned[:, :whole].reshape(rows, -1, WHOLE_BITS // bits, 2, 2).swapaxes(2, 3)
    ordered = np.concatenate([quads.reshape(rows, whole), unsigned[:, whole:]], axis=1)
    return _join(ordered.reshape(-1), bits).view(np.int8)


def _pack_rows(block: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Return the stream of four channels [4, S, K]."""
    whole = block.shape[2] - block.shape[2] % QUAD
    parts = []
    for row in block.transpose(1, 2, 0):
        fields = WHOLE_BITS // bits
        # [quads, inputs, words, fields] -> [quads, words, inputs, fields]
        quads = row[:whole].reshape(-1, QUAD, BLOCK // fields, fields).transpose(0, 2, 1, 3)
        parts += [_join(quads.reshape(-1), bits), _join(row[whole:].reshape(-1), bits)]
    return np.concatenate(parts)


def _join(values: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Return values as bytes, the first in the lowest bits; the last byte is filled with zeros."""
    fields = WHOLE_BITS // bits
    filled = np.pad(values, (0, -len(values) % fields)).reshape(-1, fields)
    shifted = filled.astype(np.uint16) << (bits * np.arange(fields, dtype=np.uint16))
    joined: npt.NDArray[np.uint8] = shifted.sum(axis=1).astype(np.uint8)
    return joined
