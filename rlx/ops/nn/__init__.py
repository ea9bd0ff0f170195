"""HIR: the layers that model authors name. Each is defined by its decomposition."""

from rlx.ops.nn.activation import (
    NnClamp,
    NnElu,
    NnGelu,
    NnHardSigmoid,
    NnHardSwish,
    NnLeakyRelu,
    NnMish,
    NnPrelu,
    NnRelu,
    NnSelu,
    NnSilu,
    NnSoftplus,
    NnSoftsign,
)
from rlx.ops.nn.attention import NnAttention
from rlx.ops.nn.base import NnOp
from rlx.ops.nn.cell import CellActivation, CellFunction
from rlx.ops.nn.conv import NnConv, NnConvTranspose
from rlx.ops.nn.embedding import NnEmbedding
from rlx.ops.nn.layout import Layout
from rlx.ops.nn.linear import NnDot, NnLinear
from rlx.ops.nn.norm import NnBatchNorm, NnGroupNorm, NnL2Norm, NnLayerNorm, NnRmsNorm
from rlx.ops.nn.pool import NnAveragePool, NnMaxPool
from rlx.ops.nn.quantized import (
    NnQuantized,
    NnQuantizedAdd,
    NnQuantizedConv,
    NnQuantizedLinear,
    NnQuantizedMul,
)
from rlx.ops.nn.quantized_more import (
    NnQuantizedAveragePool,
    NnQuantizedSigmoid,
    NnQuantizedSoftmax,
)
from rlx.ops.nn.recurrent import NnGru, NnLstm, NnRecurrent, NnRnn
from rlx.ops.nn.reduce import NnVariance
from rlx.ops.nn.resample import Border, Coordinates, Interpolation, NnPad, NnResize, between
from rlx.ops.nn.shape import NnDepthToSpace, NnFlatten, NnSpaceToDepth, NnSplit, NnTile
from rlx.ops.nn.softmax import NnLogSoftmax, NnLogSumExp, NnSoftmax
from rlx.ops.nn.stop_gradient import NnStopGradient

NN_OPS = (
    NnAttention, NnAveragePool, NnBatchNorm, NnClamp, NnConv, NnConvTranspose, NnDepthToSpace,
    NnDot, NnElu, NnEmbedding, NnFlatten, NnGelu, NnGroupNorm, NnGru, NnHardSigmoid, NnHardSwish,
    NnL2Norm, NnLayerNorm, NnLeakyRelu, NnLinear, NnLogSoftmax, NnLogSumExp, NnLstm, NnMaxPool,
    NnMish, NnPad, NnPrelu, NnQuantizedAdd, NnQuantizedAveragePool, NnQuantizedConv,
    NnQuantizedLinear, NnQuantizedMul, NnQuantizedSigmoid, NnQuantizedSoftmax, NnRelu, NnResize,
    NnRmsNorm, NnRnn, NnSelu, NnSilu, NnSoftmax, NnSoftplus, NnSoftsign, NnSpaceToDepth, NnSplit,
    NnStopGradient, NnTile, NnVariance,
)  # fmt: skip
"""Every model-level op, in alphabetical order."""

__all__ = [
    "NN_OPS",
    "Border",
    "CellActivation",
    "CellFunction",
    "Coordinates",
    "Interpolation",
    "Layout",
    "NnAttention",
    "NnAveragePool",
    "NnBatchNorm",
    "NnClamp",
    "NnConv",
    "NnConvTranspose",
    "NnDepthToSpace",
    "NnDot",
    "NnElu",
    "NnEmbedding",
    "NnFlatten",
    "NnGelu",
    "NnGroupNorm",
    "NnGru",
    "NnHardSigmoid",
    "NnHardSwish",
    "NnL2Norm",
    "NnLayerNorm",
    "NnLeakyRelu",
    "NnLinear",
    "NnLogSoftmax",
    "NnLogSumExp",
    "NnLstm",
    "NnMaxPool",
    "NnMish",
    "NnOp",
    "NnPad",
    "NnPrelu",
    "NnQuantized",
    "NnQuantizedAdd",
    "NnQuantizedAveragePool",
    "NnQuantizedConv",
    "NnQuantizedLinear",
    "NnQuantizedMul",
    "NnQuantizedSigmoid",
    "NnQuantizedSoftmax",
    "NnRecurrent",
    "NnRelu",
    "NnResize",
    "NnRmsNorm",
    "NnRnn",
    "NnSelu",
    "NnSilu",
    "NnSoftmax",
    "NnSoftplus",
    "NnSoftsign",
    "NnSpaceToDepth",
    "NnSplit",
    "NnStopGradient",
    "NnTile",
    "NnVariance",
    "between",
]
