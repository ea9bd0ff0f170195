"""Kernels for cores with the vector extension MVE (Helium), 16 codes of 8 bits to a register.

Each template holds a portable path beside the one for MVE, on the same tables.
"""

from __future__ import annotations

from rlx.ops.q import QAdd, QAveragePool2d, QConv2d, QDense, QMaxPool2d, QSub
from rlx_cortexm.kernels.add_mve import tactic as arith
from rlx_cortexm.kernels.conv2d_mve import tactic as conv
from rlx_cortexm.kernels.dense_mve import tactic as linear
from rlx_cortexm.kernels.depthwise_mve import tactic as depthwise
from rlx_cortexm.kernels.pool2d_mve import tactic as pool
from rlx_cortexm.lower.rules import VECTOR_RULES

VECTOR_RULES |= {
    QConv2d: lambda node: (*conv.candidates(node), *depthwise.candidates(node)),
    QDense: linear.candidates,
    QAdd: arith.candidates,
    QSub: arith.candidates,
    QAveragePool2d: pool.candidates,
    QMaxPool2d: pool.candidates,
}
