"""Convolutions."""

from __future__ import annotations

from rlx.ops.q import QConv2d
from rlx_cortexm.kernels.conv2d.tactic import CONV2D
from rlx_cortexm.kernels.conv2d_blocks.tactic import BLOCKS, POINTWISE_BLOCKS
from rlx_cortexm.kernels.conv2d_mve.tactic import CONV2D_MVE
from rlx_cortexm.kernels.conv2d_winograd.tactic import WINOGRAD
from rlx_cortexm.kernels.dense.tactic import DENSE
from rlx_cortexm.kernels.dense_ternary.tactic import TERNARY
from rlx_cortexm.kernels.depthwise.tactic import DEPTHWISE
from rlx_cortexm.kernels.depthwise_large.tactic import DEPTHWISE_LARGE
from rlx_cortexm.kernels.depthwise_mve.tactic import DEPTHWISE_MVE
from rlx_cortexm.kernels.depthwise_planes.tactic import DEPTHWISE_PLANES
from rlx_cortexm.lower.rules import RULES

RULES.rule(QConv2d)(
    (
        CONV2D_MVE, DEPTHWISE_MVE, WINOGRAD, DEPTHWISE_PLANES, POINTWISE_BLOCKS, BLOCKS, TERNARY,
        DENSE, DEPTHWISE, DEPTHWISE_LARGE, CONV2D,
    )
)  # fmt: skip
