"""MIR on integers: exact int8 ops, the ones that emitters see."""

from rlx.ops.q.arith import QAdd, QClamp, QDiv, QMul, QRequantize, QSquaredDifference, QSub
from rlx.ops.q.chain import QChain
from rlx.ops.q.common import CODE_RANGE
from rlx.ops.q.compare import QMaximum, QMinimum, QPrelu
from rlx.ops.q.conv import QConv2d
from rlx.ops.q.convert import QConvert
from rlx.ops.q.functions16 import QSigmoid16, QSoftmax16, QTanh16
from rlx.ops.q.linear import QDense, QMatmul
from rlx.ops.q.linear_view import Linear
from rlx.ops.q.norm import QL2Norm
from rlx.ops.q.pool import QAveragePool2d, QMaxPool2d
from rlx.ops.q.recurrent import LSTM_POWERS, QLstmCell, QLstmOutput, QSvdf, QSvdfState
from rlx.ops.q.reduce import QArgmax, QMean
from rlx.ops.q.resize import QResizeBilinear, QResizeNearest
from rlx.ops.q.shape import QConcat, QPad, QReshape, QSlice, QTranspose
from rlx.ops.q.softmax import QSoftmax
from rlx.ops.q.table import QTable
from rlx.ops.q.widths import OF_BOTH_WIDTHS, computes_int16
from rlx.ops.q.window import Window

Q_OPS = (
    QAdd, QArgmax, QAveragePool2d, QChain, QClamp, QConcat, QConv2d, QConvert, QDense, QDiv,
    QL2Norm, QLstmCell, QLstmOutput, QMatmul, QMaxPool2d, QMaximum, QMean, QMinimum, QMul, QPad,
    QPrelu, QRequantize, QReshape, QResizeBilinear, QResizeNearest, QSigmoid16, QSlice,
    QSoftmax, QSoftmax16, QSquaredDifference, QSub, QSvdf, QSvdfState, QTable, QTanh16, QTranspose,
)  # fmt: skip
"""Every integer op, in alphabetical order."""

__all__ = [
    "CODE_RANGE",
    "LSTM_POWERS",
    "OF_BOTH_WIDTHS",
    "Q_OPS",
    "Linear",
    "QAdd",
    "QArgmax",
    "QAveragePool2d",
    "QChain",
    "QClamp",
    "QConcat",
    "QConv2d",
    "QConvert",
    "QDense",
    "QDiv",
    "QL2Norm",
    "QLstmCell",
    "QLstmOutput",
    "QMatmul",
    "QMaxPool2d",
    "QMaximum",
    "QMean",
    "QMinimum",
    "QMul",
    "QPad",
    "QPrelu",
    "QRequantize",
    "QReshape",
    "QResizeBilinear",
    "QResizeNearest",
    "QSigmoid16",
    "QSlice",
    "QSoftmax",
    "QSoftmax16",
    "QSquaredDifference",
    "QSub",
    "QSvdf",
    "QSvdfState",
    "QTable",
    "QTanh16",
    "QTranspose",
    "Window",
    "computes_int16",
]
