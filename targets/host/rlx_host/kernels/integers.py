"""Rules of the kernels on integers.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QConvert,
    QDense,
    QDiv,
    QL2Norm,
    QMatmul,
    QMaximum,
    QMaxPool2d,
    QMean,
    QMinimum,
    QMul,
    QPad,
    QPrelu,
    QRequantize,
    QReshape,
    QResizeBilinear,
    QResizeNearest,
    QSlice,
    QSoftmax,
    QSquaredDifference,
    QSub,
    QSvdf,
    QSvdfState,
    QTable,
    QTranspose,
)
from rlx.ops.real import RealDequantize, RealQuantize
from rlx_host.kernels.argmax.rule import argmax
from rlx_host.kernels.copy.rule import concat, pad, reshape, slice_, transpose
from rlx_host.kernels.l2_norm.rule import l2_norm
from rlx_host.kernels.linear.rule import conv2d, dense
from rlx_host.kernels.lookup.rule import lookup, lookup_by_channel
from rlx_host.kernels.matmul.rule import matmul
from rlx_host.kernels.mean.rule import mean
from rlx_host.kernels.pairs.rule import pairs
from rlx_host.kernels.pool2d.rule import pool2d
from rlx_host.kernels.quantize.rule import quantize
from rlx_host.kernels.resize.rule import resize_bilinear, resize_nearest
from rlx_host.kernels.softmax.rule import softmax
from rlx_host.kernels.sum.rule import add
from rlx_host.kernels.svdf.rule import svdf, svdf_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Op
    from rlx_host.layer import Rule

INTEGER_RULES: Final[Mapping[type[Op], Rule]] = {
    QAdd: add,
    QArgmax: argmax,
    QAveragePool2d: pool2d,
    QClamp: lookup,
    QConcat: concat,
    QConv2d: conv2d,
    QConvert: lookup,
    QDense: dense,
    QDiv: pairs,
    QL2Norm: l2_norm,
    QMatmul: matmul,
    QMaximum: pairs,
    QMaxPool2d: pool2d,
    QMean: mean,
    QMinimum: pairs,
    QMul: pairs,
    QPad: pad,
    QPrelu: lookup_by_channel,
    QRequantize: lookup,
    QReshape: reshape,
    QResizeBilinear: resize_bilinear,
    QResizeNearest: resize_nearest,
    QSlice: slice_,
    QSoftmax: softmax,
    QSquaredDifference: pairs,
    QSub: add,
    QSvdf: svdf,
    QSvdfState: svdf_state,
    QTable: lookup,
    QTranspose: transpose,
    RealDequantize: lookup,
    RealQuantize: quantize,
}
"""Rule of each op that computes with integers, and of conversions from and to them."""
