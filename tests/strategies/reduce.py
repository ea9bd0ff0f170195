"""Cases of ops that look along axes: mean, argmax, softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QArgmax, QL2Norm, QMean, QSoftmax
from strategies.table import strategy

if TYPE_CHECKING:
    from strategies.case import Case, Maker


@strategy(QMean)
def mean(make: Maker) -> Case:
    """Means over any axes but that of the batch."""
    shape = make.shape(2, 4)
    axes = make.draw(st.lists(st.integers(1, len(shape) - 1), unique=True, min_size=1).map(tuple))
    count = math.prod(shape[a] for a in axes)
    x_zero_point = make.zero_point()
    real = make.pick(1.0, 0.37, 2.9)
    usual = Rescale.of(real, rounding=make.rounding).divided(count)
    op = QMean(
        axes=tuple(make.pick(a, a - len(shape)) for a in axes),
        keep_dims=make.pick(True, False),
        x_zero_point=x_zero_point,
        rescale=make.pick(usual, usual, make.rescale(255 * count)),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.finish(op, make.input(shape, zero_point=x_zero_point))


@strategy(QArgmax)
def argmax(make: Maker) -> Case:
    """Indices of greatest codes; often with several equal ones."""
    shape = make.shape(2, 4)
    axis = make.pick(len(shape) - 1, make.integer(1, len(shape) - 1))
    x = make.input(shape)
    if make.pick(False, True):
        make.inputs["x"] = make.codes(shape, -1, 1)
    return make.finish(QArgmax(axis=make.pick(axis, axis - len(shape))), x)


@strategy(QSoftmax)
def softmax(make: Maker) -> Case:
    """Softmax with scales from tiny (all equal) to huge (one winner)."""
    scale = make.pick(0.1, 1 / 16, 1.0, 2.0**-20, 7.3, 20.0, 1e9)
    multiplier, left_shift, diff_min = softmax_scaling(scale)
    op = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    leading = make.pick((make.batch(),), (), (make.batch(), 2, 2))
    return make.finish(op, make.input((*leading, make.integer(1, 4 * make.knobs.size))))


@strategy(QL2Norm)
def l2_norm(make: Maker) -> Case:
    """Vectors divided by their lengths; those of code zero_point stay zeros."""
    zero_point = make.zero_point()
    leading = make.pick((make.batch(),), (), (make.batch(), 2, 2))
    shape = (*leading, make.integer(1, 4 * make.knobs.size))
    x = make.input(shape, zero_point=zero_point)
    if make.pick(False, False, True):
        make.inputs["x"] = make.codes(shape, max(zero_point - 1, -128), min(zero_point + 1, 127))
    return make.finish(QL2Norm(x_zero_point=zero_point), x)
