"""Rules of the kernels on floats.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ops.fused import (
    FusedAttention,
    FusedConv,
    FusedElementwise,
    FusedGated,
    FusedMatmul,
    FusedNorm,
    FusedResidualNorm,
    FusedSoftmax,
)
from rlx.ops.real import (
    RealAveragePool,
    RealBroadcastTo,
    RealConcat,
    RealConv,
    RealGather,
    RealMatmul,
    RealMaxPool,
    RealReduceMax,
    RealReduceMean,
    RealReduceMin,
    RealReduceProd,
    RealReduceSum,
    RealReshape,
    RealReverse,
    RealScatter,
    RealSlice,
    RealTranspose,
)
from rlx_host.kernels.attention.rule import attention
from rlx_host.kernels.conv.rule import conv, fused_conv
from rlx_host.kernels.copy.rule import (
    broadcast,
    concat,
    reshape,
    reverse,
    slice_,
    transpose,
)
from rlx_host.kernels.elementwise.rule import elementwise, fused_elementwise
from rlx_host.kernels.expressions import ELEMENTWISE
from rlx_host.kernels.float_softmax.rule import softmax
from rlx_host.kernels.index.rule import gather, scatter
from rlx_host.kernels.norm.rule import norm
from rlx_host.kernels.pool.rule import pool
from rlx_host.kernels.product.rule import fused_matmul, gated, matmul
from rlx_host.kernels.reduce.rule import reduce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Op
    from rlx_host.layer import Rule

FLOAT_RULES: Final[Mapping[type[Op], Rule]] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    FusedAttention: attention,
    FusedConv: fused_conv,
    FusedElementwise: fused_elementwise,
    FusedGated: gated,
    FusedMatmul: fused_matmul,
    FusedNorm: norm,
    FusedResidualNorm: norm,
    FusedSoftmax: softmax,
    RealAveragePool: pool,
    RealBroadcastTo: broadcast,
    RealConcat: concat,
    RealConv: conv,
    RealGather: gather,
    RealMatmul: matmul,
    RealMaxPool: pool,
    RealReduceMax: reduce,
    RealReduceMean: reduce,
    RealReduceMin: reduce,
    RealReduceProd: reduce,
    RealReduceSum: reduce,
    RealReshape: reshape,
    RealReverse: reverse,
    RealScatter: scatter,
    RealSlice: slice_,
    RealTranspose: transpose,
}
"""Rule of each op on floats."""
