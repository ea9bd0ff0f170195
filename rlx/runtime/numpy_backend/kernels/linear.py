"""Matrix products.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ops import real
from rlx.runtime.numpy_backend.kernels.common import sequence, wide_operands, wide_result
from rlx.runtime.numpy_backend.step import KERNELS

if TYPE_CHECKING:
    from rlx.runtime.numpy_backend.kernels.common import Numbers
    from rlx.runtime.numpy_backend.step import BoundStep, Run

_MAX_COPIED_BYTES: Final = 1 << 20
"""Bytes of weights up to which a copy of them in a faster order is kept."""


@KERNELS.rule(real.RealMatmul)
def _matmul(step: BoundStep) -> Run:
    runs: list[Run] = []
    x, y = wide_operands(step, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    fixed = step.constants[1] is not None
    return sequence([*runs, product(x, y, result, fixed=fixed), *after])


def product(x: Numbers, y: Numbers, out: Numbers, *, fixed: bool = False) -> Run:
    """Return a function that computes the matrix product of the last two axes into ``out``.

    Args:
        x: [..., M, K], strided as it may be.
        y: [..., K, N], likewise; a matrix with rows and columns exchanged costs nothing.
        out: [..., M, N], one run of bytes, none of them an operand's.
        fixed: Whether ``y`` never changes.
    """
    if math.prod(y.shape[:-2]) == 1 and x.flags.c_contiguous:
        # One long product, not one for each matrix of the stack.
        x, y = x.reshape(-1, x.shape[-1]), y.reshape(y.shape[-2:])
        out = out.reshape(-1, out.shape[-1])
    if x.ndim != 2 or y.ndim != 2 or x.dtype.kind != "f" or not x.size or not y.size:
        return partial(np.matmul, x, y, out)
    # Half of matmul's own time, which counts in small products.
    if len(x) > 1:
        return partial(np.dot, x, y, out)
    if fixed and y.nbytes <= _MAX_COPIED_BYTES:
        # A row times columns that are runs of bytes: a few tenths less.
        y = np.asfortranarray(y)
    return partial(np.dot, x.reshape(-1), y, out.reshape(-1))
