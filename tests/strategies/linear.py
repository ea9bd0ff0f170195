"""Cases of ops with weights: convolutions and dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Array, DType
from rlx.ops.q import QConv2d, QDense
from strategies.table import strategy
from strategies.window import window_and_size

if TYPE_CHECKING:
    from strategies.case import Case, Maker

_WEIGHT_RANGES = {DType.I8: (-128, 127), DType.I4: (-8, 7), DType.I2: (-2, 1)}


def weights(make: Maker, shape: tuple[int, ...]) -> Array:
    """Return codes of one of the types that the knobs allow."""
    type_ = make.pick(*make.knobs.weight_types)
    return make.codes(shape, *_WEIGHT_RANGES[type_]).astype(type_.numpy)


def accumulator_bound(w: Array) -> int:
    """Return a bound on every partial sum that a target may form: raw or centred, any order."""
    sums = np.abs(w.astype(np.int64)).reshape(w.shape[0], -1).sum(axis=1)
    return 256 * int(sums.max(initial=1))


def bias(make: Maker, channels: int, bound: int) -> tuple[Array, int]:
    """Return int32 biases that fit beside sums up to ``bound``, and the bound with them."""
    most = make.pick(0, min(bound, 2**29), 2**29)
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    values = generator.integers(-most, most, channels, np.int32, endpoint=True)
    return values, bound + int(np.abs(values.astype(np.int64)).max(initial=0))


def channels_and_groups(make: Maker) -> tuple[int, int, int]:
    """Return channels of the input, channels of the result, and groups: plain, grouped, deep."""
    size = make.knobs.size
    kind = make.pick("plain", "depthwise", "grouped")
    if kind == "plain":
        return make.integer(1, size + 2), make.integer(1, size + 2), 1
    if kind == "depthwise":
        channels = make.integer(1, size + 2)
        return channels, channels * make.integer(1, 2), channels
    groups = make.integer(2, 3)
    return groups * make.integer(1, 3), groups * make.integer(1, 3), groups


@strategy(QConv2d)
def conv2d(make: Maker) -> Case:
    """Plain, grouped and depthwise convolutions."""
    window, size = window_and_size(make)
    inputs, outputs, groups = channels_and_groups(make)
    x_zero_point = make.zero_point()
    x = make.input((make.batch(), *size, inputs), zero_point=x_zero_point)
    w = weights(make, (outputs, *window.kernel, inputs // groups))
    b, bound = bias(make, outputs, accumulator_bound(w))
    op = QConv2d(
        window=window,
        groups=groups,
        x_zero_point=x_zero_point,
        rescale=make.rescale(bound, channels=outputs),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    constants = (make.graph.constant(w, name="weights"), make.graph.constant(b, name="bias"))
    return make.finish(op, x, *constants)


@strategy(QDense)
def dense(make: Maker) -> Case:
    """Dense layers on vectors, rows and images."""
    leading = make.pick((make.batch(),), (make.batch(),), (), (make.batch(), 2, 3))
    inputs, outputs = make.integer(1, 8 * make.knobs.size), make.integer(1, make.knobs.size + 3)
    x_zero_point = make.zero_point()
    x = make.input((*leading, inputs), zero_point=x_zero_point)
    w = weights(make, (outputs, inputs))
    b, bound = bias(make, outputs, accumulator_bound(w))
    op = QDense(
        x_zero_point=x_zero_point,
        rescale=make.rescale(bound, channels=outputs),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    constants = (make.graph.constant(w, name="weights"), make.graph.constant(b, name="bias"))
    return make.finish(op, x, *constants)
