"""Ops that are run by their own prepared form, which returns new arrays.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from rlx.ops import FUSED_OPS, q, real
from rlx.runtime.numpy_backend.step import KERNELS

KERNELS.refuse(
    "it is run by its prepared form",
    q.QAdd,
    q.QAveragePool2d,
    q.QChain,
    q.QClamp,
    q.QConvert,
    q.QLstmCell,
    q.QLstmOutput,
    q.QDiv,
    q.QL2Norm,
    q.QMatmul,
    q.QMaxPool2d,
    q.QMaximum,
    q.QMean,
    q.QMinimum,
    q.QMul,
    q.QPrelu,
    q.QRequantize,
    q.QResizeBilinear,
    q.QResizeNearest,
    q.QSigmoid16,
    q.QSoftmax,
    q.QSoftmax16,
    q.QSquaredDifference,
    q.QSub,
    q.QSvdf,
    q.QSvdfState,
    q.QTable,
    q.QTanh16,
    real.RealRandomBits,
    real.RealRandomNormal,
    real.RealRandomUniform,
    real.RealShiftLeft,
    real.RealShiftRight,
    real.RealTakeAlong,
    real.RealTopK,
    *FUSED_OPS,
)
