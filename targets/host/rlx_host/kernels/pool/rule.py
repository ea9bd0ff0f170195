"""Pooling of float32: maximum and mean of each window, channels in vectors.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Refusal
from rlx.ops.real import RealAveragePool, RealMaxPool
from rlx_c.layer import Kernel
from rlx_host.kernels.conv.rule import geometry, split_of
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Node
    from rlx.ops.real.window import SpatialWindow
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import Pack


def pool(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a pooling; the numbers that means divide by are a table."""
    op = node.op
    assert isinstance(op, RealMaxPool | RealAveragePool)
    x = node.operands[0].type
    if x.dtype is not DType.F32:
        return Refusal("its operand is not f32")
    if not op.window.rank:
        return Refusal("it has no spatial axis")
    image = x.static_shape
    constants = geometry(op.window, image, image[-1]) | {
        "depth": 1,
        "is_max": isinstance(op, RealMaxPool),
        "fill": "-INFINITY" if isinstance(op, RealMaxPool) else "0.0F",
    }
    scratch = 4 * math.prod(constants["padded"]) * image[-1] if op.window.is_padded else 0
    tables: tuple[Pack, ...] = ()
    if isinstance(op, RealAveragePool):
        tables = (partial(_counts, op.window, image[1:-1], op.count_padding),)
    split = split_of(constants, constants["out"][0], image[-1], instructions.lanes)
    kernel = Kernel.of("pool", "pool/kernel", constants, ("floats",))
    return NativeLayer(kernel, (0,), tables, scratch, split=split)


def _counts(
    window: SpatialWindow, size: tuple[int, ...], whole: bool, values: Sequence[Array]
) -> Array:
    """Return the number of elements that the mean of each window is of."""
    del values
    ones = np.ones((1, *size, 1), np.float32)
    padded = window.pad(ones, 1.0 if whole else 0.0)
    total = sum((view for _, view in window.taps(padded)), np.zeros((), np.float32))
    return np.ascontiguousarray(total)
