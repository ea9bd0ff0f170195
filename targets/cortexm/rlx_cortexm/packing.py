"""Order of weights in flash.

The kernels compute four output channels at a time: each input is loaded and unpacked
once for four products. Their weights are adjacent: for each four inputs ``k .. k + 3``
the four weights of channel ``o``, then those of ``o + 1``, ``o + 2`` and ``o + 3``. The remaining
one to three inputs follow one by one, the remaining one to three channels channel by channel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BLOCK = 4
"""Output channels computed together."""

QUAD = 4
"""Inputs loaded together, one 32-bit word."""


def pack_rows(weights: npt.NDArray[np.generic]) -> npt.NDArray[np.int8]:
    """Return weights [O, S, K] as one stream: O channels, S rows of K values each."""
    wide = weights.astype(np.int8)
    outputs = wide.shape[0]
    blocked = outputs - outputs % BLOCK
    parts = [_pack_block(wide[o : o + BLOCK]) for o in range(0, blocked, BLOCK)]
    parts.append(wide[blocked:].reshape(-1))
    return np.concatenate(parts)


def _pack_block(block: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return the stream of four channels [4, S, K]."""
    _, rows, length = block.shape
    whole = length - length % QUAD
    quads = block[:, :, :whole].reshape(BLOCK, rows, whole // QUAD, QUAD)
    main = quads.transpose(1, 2, 0, 3).reshape(rows, -1)
    rest = block[:, :, whole:].transpose(1, 2, 0).reshape(rows, -1)
    return np.concatenate([main, rest], axis=1).reshape(-1)
