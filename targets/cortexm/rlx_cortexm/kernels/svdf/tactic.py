"""SVDF layers: the newest result of each filter, and weighted sums over the last ones.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.numerics.products import magnitudes
from rlx.targets.operands import constant_operand, unsupported
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.kernels.dense.dot import dot_products, dot_size, instructions
from rlx_cortexm.packing import BLOCK, pack_rows
from rlx_cortexm.scaling import INT32_BOUND, WIDE, output_constants, scaling
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QSvdf, QSvdfState

PRODUCT: Final = 5
RESULT: Final = 25
MOVE: Final = 4
"""Instructions for each product over time, for each result, and for each value that is moved."""


def state_candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for a state, or raise UnsupportedOpError."""
    op = cast("QSvdfState", node.op)
    weights = constant_operand(node, 2, "weights").astype(np.int8)
    filters, inputs = weights.shape
    batch, size = node.types[0].static_shape
    offsets = -op.x_zero_point * weights.astype(np.int64).sum(axis=1)
    bound = int((128 * magnitudes(weights) + np.abs(offsets)).max())
    if bound >= INT32_BOUND:
        raise unsupported(node, f"a sum may reach {bound}, beyond the int32 accumulator")
    sum_scaling = scaling(op.rescale, bound)
    function = sum_scaling.function.replace("requantize", "scale")
    constants = {
        "batch": batch,
        "inputs": inputs,
        "filters": filters,
        "blocked": filters - filters % BLOCK,
        "memory": size // filters,
        "scale": function,
        "wide": "int64_t" if function in WIDE else "int32_t",
    }
    support = (*dot_products(filters), function)
    kernel = Kernel.of(
        "svdf_state", "svdf/state", constants, support, CodeSize(inlined=dot_size(support))
    )
    note = f"weights of {filters} filters by {inputs} inputs, four filters interleaved"
    layer = LoweredLayer(
        kernel,
        operands=node.operands[:2],
        tables=(
            ConstantTable("weights", "int8_t", pack_rows(weights[:, np.newaxis]), note),
            ConstantTable("bias", "int32_t", offsets, "share of the zero point in each filter"),
        ),
        arguments=(sum_scaling.multiplier[0], sum_scaling.shift[0]),
        macs=batch * weights.size,
        instructions=batch * (instructions(1, inputs, filters) + MOVE * size),
        weight_bits=8,
    )
    return (Candidate.of(layer, "svdf_state"),)


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate for the output of an SVDF layer."""
    op = cast("QSvdf", node.op)
    weights, bias = constant_operand(node, 1, "weights"), constant_operand(node, 2, "bias")
    batch, units = node.types[0].static_shape
    sums = (magnitudes(weights.reshape(units, -1)) << 15) + np.abs(bias.astype(np.int64))
    # Larger sums wrap around to any int32.
    bound = min(int(sums.max()), INT32_BOUND)
    sum_scaling = scaling(op.rescale, bound)
    constants = {
        "batch": batch,
        "units": units,
        "taps": weights.size // units,
        "requantize": sum_scaling.function,
        **output_constants(op.low, op.high, op.zero_point),
    }
    note = f"weights of {units} units by {weights.size // units} results of filters"
    layer = LoweredLayer(
        Kernel.of("svdf", "svdf/kernel", constants, (sum_scaling.function,)),
        operands=node.operands[:1],
        tables=(
            ConstantTable("weights", "int16_t", weights.reshape(-1), note),
            ConstantTable("bias", "int32_t", bias, "bias of each unit"),
        ),
        arguments=(sum_scaling.multiplier[0], sum_scaling.shift[0]),
        macs=batch * weights.size,
        instructions=batch * (PRODUCT * weights.size + RESULT * units),
        weight_bits=16,
    )
    return (Candidate.of(layer, "svdf"),)


SVDF_STATE: Final = Tactic(
    state_candidates,
    "`svdf_state`: older results moved, new ones by four filters at a time.",
    portable=1.8,
    baseline=2.35,
)
SVDF: Final = Tactic(candidates, "`svdf`: a sum of 16-bit products for each unit.", baseline=2.1)
