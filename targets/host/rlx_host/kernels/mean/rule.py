"""Means: sums over axes, scaled.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

from rlx.ir import Refusal
from rlx_c.layer import Kernel
from rlx_c.nest import nest, row_major
from rlx_host.kernels.rescaling import result_constants
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMean
    from rlx_host.instruction_set import InstructionSet

_MAX_COUNT: Final = (1 << 31) // 255 - 1
"""Values whose centred sum fits int32."""


def mean(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a mean."""
    del instructions
    op = cast("QMean", node.op)
    shape = node.operands[0].type.static_shape
    axes = {axis % len(shape) for axis in op.axes}
    count = math.prod(shape[axis] for axis in axes)
    if count > _MAX_COUNT:
        return Refusal("its sums may leave int32")
    strides = row_major(shape)
    outer_axes = [axis for axis in range(len(shape)) if axis not in axes]
    outer_shape = [shape[axis] for axis in outer_axes]
    outer = nest(outer_shape, [strides[axis] for axis in outer_axes], row_major(outer_shape))
    split = Split.of(outer[0].extent, node.operands[0].type.size) if outer else None
    constants = {
        "split": split is not None,
        "outer": outer,
        "inner": nest([shape[a] for a in sorted(axes)], [strides[a] for a in sorted(axes)]),
        "offset": -count * op.x_zero_point,
        **result_constants(op),
    }
    return NativeLayer(Kernel.of("mean", "mean/kernel", constants), (0,), split=split)
