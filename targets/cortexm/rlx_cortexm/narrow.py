"""Weights of 4 and 2 bits, two or four to a byte; the order is that of ``packing``.

Four channels computed together: for each four codes of input, words whose byte ``k`` holds the
weights of code ``k``, channel by channel from the lowest bits on. Then, for each code that is left,
the four weights in as few bytes. What the number of channels leaves over follows code by code, each
run from a byte of its own on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rlx_cortexm.packing import BLOCK, QUAD

WHOLE = 8
"""Bits of weights that are not packed."""

SUM_LIMIT = 1 << 31
"""The kernels' sums are scaled by up to 2^6 and must stay below this."""


def can_pack(weights: npt.NDArray[np.generic], bits: int) -> bool:
    """Whether weights [O, ...] of ``bits`` bits may be packed: no scaled sum leaves int32."""
    sums = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(axis=1)
    return bits < WHOLE and 128 * int(sums.max(initial=0)) << (WHOLE - bits) < SUM_LIMIT


def run_bytes(length: int, bits: int) -> int:
    """Return the bytes of a run of one channel."""
    return -(-length * bits // WHOLE)


def pack_narrow(weights: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int8]:
    """Return weights [O, S, K] as one stream of bytes: O channels, S rows of K codes each."""
    codes = weights.astype(np.int8).view(np.uint8) & np.uint8((1 << bits) - 1)
    blocked = len(codes) - len(codes) % BLOCK
    parts = [_pack_rows(codes[o : o + BLOCK], bits) for o in range(0, blocked, BLOCK)]
    parts += [_join(row, bits) for channel in codes[blocked:] for row in channel]
    return np.concatenate(parts).view(np.int8)


def pack_codes(codes: npt.NDArray[np.generic], bits: int) -> npt.NDArray[np.int8]:
    """Return codes [n] one after the other, the first in the lowest bits of the first byte."""
    return _join(codes.astype(np.int8).view(np.uint8) & np.uint8((1 << bits) - 1), bits).view(
        np.int8
    )


def _pack_rows(block: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Return the stream of four channels [4, S, K]."""
    whole = block.shape[2] - block.shape[2] % QUAD
    parts = []
    for row in block.transpose(1, 2, 0):
        fields = WHOLE // bits
        # [quads, codes, words, fields] -> [quads, words, codes, fields]
        quads = row[:whole].reshape(-1, QUAD, BLOCK // fields, fields).transpose(0, 2, 1, 3)
        parts += [_join(quads.reshape(-1), bits), _join(row[whole:].reshape(-1), bits)]
    return np.concatenate(parts)


def _join(codes: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Return codes as bytes, the first in the lowest bits; the last byte is filled with zeros."""
    fields = WHOLE // bits
    filled = np.pad(codes, (0, -len(codes) % fields)).reshape(-1, fields)
    shifted = filled.astype(np.uint16) << (bits * np.arange(fields, dtype=np.uint16))
    joined: npt.NDArray[np.uint8] = shifted.sum(axis=1).astype(np.uint8)
    return joined
