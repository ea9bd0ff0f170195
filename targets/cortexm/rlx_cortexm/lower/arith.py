"""Elementwise arithmetic in C."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.q import QAdd, QClamp, QMul, QSub
from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, Layer
from rlx_c.nest import broadcast_strides, nest, row_major
from rlx_cortexm import costs
from rlx_cortexm.kernels.add_table import tactic as sums
from rlx_cortexm.lower.rules import RULES
from rlx_cortexm.scaling import output_constants, scaling

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.numerics.fixed_point import Rescale


@RULES.rule(QClamp)
def lower_clamp(node: Node) -> Layer:
    """Clamp each code: ``clamp_s8.c.j2``."""
    op = cast("QClamp", node.op)
    length = node.types[0].size
    constants = {"length": length, "low": op.low, "high": op.high}
    kernel = Kernel.of("clamp", "clamp/kernel", constants)
    return Layer(kernel, operands=node.operands, instructions=length * costs.CLAMP)


@RULES.rule(QAdd, QSub)
def lower_add(node: Node) -> tuple[Candidate, ...]:
    """Add or subtract: ``add_table_s8.c.j2``, or ``add_s8.c.j2`` without tables."""
    op = cast("QAdd", node.op)
    scaled = op.scaled_operands((sums.CODES, sums.CODES))
    bound = sum(int(np.abs(values).max()) for values in scaled)
    constants = {
        "sign": "-" if isinstance(op, QSub) else "+",
        **_result(op.rescale, bound, op),
        **_loops(node),
    }
    return (*sums.candidates(node), Candidate.of(_computed_add(node, constants)))


def _computed_add(node: Node, constants: dict[str, Hashable]) -> Layer:
    """Scale both operands of each element."""
    op = cast("QAdd", node.op)
    scales = []
    for rescale in (op.x_rescale, op.y_rescale):
        chosen = scaling(rescale, 255 << op.left_shift)
        function = chosen.function.replace("requantize", "scale")
        scales.append((function, chosen.multiplier[0], chosen.shift[0]))
    own = {
        "left_shift": op.left_shift,
        "zero_points": (op.x_zero_point, op.y_zero_point),
        "scales": tuple(scales),
    }
    support = (str(constants["requantize"]), *(function for function, _, _ in scales))
    kernel = Kernel.of(
        "sub" if isinstance(op, QSub) else "add", "add/kernel", {**constants, **own}, support
    )
    instructions = node.types[0].size * costs.ADD
    return Layer(kernel, operands=node.operands, instructions=instructions)


@RULES.rule(QMul)
def lower_mul(node: Node) -> Layer:
    """Multiply: ``mul_s8.c.j2``."""
    op = cast("QMul", node.op)
    result = _result(op.rescale, 255 * 255, op)
    zero_points = (op.x_zero_point, op.y_zero_point)
    constants = {"zero_points": zero_points, **result, **_loops(node)}
    kernel = Kernel.of("mul", "mul/kernel", constants, (str(result["requantize"]),))
    instructions = node.types[0].size * costs.MUL
    return Layer(kernel, operands=node.operands, instructions=instructions)


def _result(rescale: Rescale, bound: int, op: QAdd | QMul) -> dict[str, Hashable]:
    """Return what the templates need to turn numbers up to ``bound`` into codes."""
    chosen = scaling(rescale, bound)
    return {
        "requantize": chosen.function,
        "multiplier": chosen.multiplier[0],
        "shift": chosen.shift[0],
        **output_constants(op.low, op.high, op.zero_point),
    }


def _loops(node: Node) -> dict[str, Hashable]:
    """Return the loops over the result, with strides of both operands and of the result."""
    shape = node.types[0].static_shape
    operands = (broadcast_strides(o.type.static_shape, shape) for o in node.operands)
    return {"loops": nest(shape, *operands, row_major(shape))}
