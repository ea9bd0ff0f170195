"""Order of weights in flash."""

import numpy as np

from rlx_cortexm.packing import pack_rows


def naive(weights):
    """The order that ``dot4`` and ``dot1`` read, spelled out."""
    outputs, rows, length = weights.shape
    blocked = outputs - outputs % 4
    stream = []
    for o in range(0, blocked, 4):
        for row in range(rows):
            for k in range(0, length - length % 4, 4):
                stream += [weights[o + j, row, k + i] for j in range(4) for i in range(4)]
            for k in range(length - length % 4, length):
                stream += [weights[o + j, row, k] for j in range(4)]
    for o in range(blocked, outputs):
        stream += list(weights[o].ravel())
    return stream


def test_channels_are_interleaved_by_four():
    random = np.random.default_rng(0)
    for shape in [(4, 1, 4), (5, 2, 7), (3, 2, 5), (8, 3, 4), (4, 2, 3), (9, 1, 1)]:
        weights = random.integers(-128, 128, shape).astype(np.int8)
        packed = pack_rows(weights)
        assert packed.dtype == np.int8
        assert packed.tolist() == naive(weights)
