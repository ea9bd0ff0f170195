"""Reductions of float32 along any axes: vectors run along the last axis, kept or reduced.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rlx.ir import DType, Refusal
from rlx.ops.real import RealReduceMax, RealReduceMean, RealReduceMin, RealReduceProd, RealReduceSum
from rlx.ops.real.reduce import RealReduce
from rlx_c.layer import Kernel
from rlx_c.nest import reduction
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node, Op
    from rlx_host.instruction_set import InstructionSet

_FORMS: Final[Mapping[type[Op], tuple[str, str, str]]] = {
    RealReduceMax: ("-INFINITY", "maximum_f32(sum, {})", "highest_f32(sum)"),
    RealReduceMean: ("0.0F", "sum + {}", "sum_f32(sum)"),
    RealReduceMin: ("INFINITY", "minimum_f32(sum, {})", "lowest_f32(sum)"),
    RealReduceProd: ("1.0F", "sum * {}", "product_f32(sum)"),
    RealReduceSum: ("0.0F", "sum + {}", "sum_f32(sum)"),
}
"""First value, combination with the next one, and combination of the lanes."""


def reduce(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a reduction."""
    op = node.op
    assert isinstance(op, RealReduce)
    x = node.operands[0].type
    if x.dtype is not DType.F32:
        return Refusal("its operand is not f32")
    outer, inner = reduction(x.static_shape, op.axes)
    along = bool(inner) and inner[-1].strides == (1,)
    count = math.prod(loop.extent for loop in inner)
    initial, combine, lanes = _FORMS[type(op)]
    loops = inner[:-1] if along else inner
    if not along and not outer:
        return Refusal("it copies its operand")
    outer_loops = outer if along else outer[:-1]
    split = Split.of(outer_loops[0].extent, x.size // instructions.lanes) if outer_loops else None
    constants = {
        "split": split is not None,
        "along": along,
        "outer": outer_loops,
        "inner": loops,
        "run": inner[-1].extent if along else outer[-1].extent,
        "initial": initial,
        "combine": combine,
        "lanes": lanes,
        "divisor": count if isinstance(op, RealReduceMean) else 0,
    }
    kernel = Kernel.of("reduce", "reduce/kernel", constants, ("floats",))
    return NativeLayer(kernel, (0,), split=split)
