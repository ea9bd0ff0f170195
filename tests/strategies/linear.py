"""Cases of ops with weights: convolutions and dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Array, DType
from rlx.ops.q import QConv2d, QDense, QMatmul
from strategies.table import strategy
from strategies.window import window_and_size

if TYPE_CHECKING:
    from rlx.ops.numerics.fixed_point import Rescale
    from strategies.case import Case, Maker

_WEIGHT_RANGES = {DType.I8: (-128, 127), DType.I4: (-8, 7), DType.I2: (-2, 1)}


def weights(make: Maker, shape: tuple[int, ...]) -> Array:
    """Return codes of one of the types that the knobs allow."""
    type_ = make.pick(*make.knobs.weight_types)
    return make.codes(shape, *_WEIGHT_RANGES[type_]).astype(type_.numpy)


def bias_and_rescale(make: Maker, w: Array) -> tuple[Array, Rescale]:
    """Return int32 biases and factors for weights ``w``, output channels first.

    Every partial sum that a target may form, raw or centred, in any order, fits int32.
    """
    rows = w.astype(np.int64).reshape(len(w), -1)
    bound = 256 * int(np.abs(rows).sum(axis=1).max(initial=1))
    # The deviation of a sum of random codes.
    typical = int(74 * np.sqrt(np.median((rows**2).sum(axis=1)))) + 1
    most = make.pick(*[0, typical] * 3, min(bound, 2**29), 2**29)
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    bias = generator.integers(-most, most, len(w), np.int32, endpoint=True)
    bound += int(np.abs(bias.astype(np.int64)).max(initial=0))
    return bias, make.rescale(bound, typical=max(typical, most), channels=len(w))


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
    bias, rescale = bias_and_rescale(make, w)
    op = QConv2d(
        window=window,
        groups=groups,
        x_zero_point=x_zero_point,
        rescale=rescale,
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    constants = (make.graph.constant(w, name="weights"), make.graph.constant(bias, name="bias"))
    return make.finish(op, x, *constants)


@strategy(QDense)
def dense(make: Maker) -> Case:
    """Dense layers on vectors, rows and images."""
    leading = make.pick((make.batch(),), (make.batch(),), (), (make.batch(), 2, 3))
    inputs, outputs = make.integer(1, 8 * make.knobs.size), make.integer(1, make.knobs.size + 3)
    x_zero_point = make.zero_point()
    x = make.input((*leading, inputs), zero_point=x_zero_point)
    w = weights(make, (outputs, inputs))
    bias, rescale = bias_and_rescale(make, w)
    op = QDense(
        x_zero_point=x_zero_point,
        rescale=rescale,
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    constants = (make.graph.constant(w, name="weights"), make.graph.constant(bias, name="bias"))
    return make.finish(op, x, *constants)


@strategy(QMatmul)
def matmul(make: Maker) -> Case:
    """Products of matrices, of a stack of them and a matrix, and of stacks that broadcast."""
    rows, depth, columns = (make.integer(1, make.knobs.size + 2) for _ in range(3))
    batch, heads = make.batch(), make.integer(1, 3)
    x_stack, y_stack = make.pick(
        ((batch,), (batch,)), ((batch,), ()), ((batch, heads), (batch, heads)),
        ((batch, 1), (batch, heads)), ((batch, heads), (1,)),
    )  # fmt: skip
    zero_points = [make.zero_point() for _ in range(2)]
    x = make.input((*x_stack, rows, depth), zero_point=zero_points[0])
    y = make.input((*y_stack, depth, columns), name="y", zero_point=zero_points[1])
    op = QMatmul(
        x_zero_point=zero_points[0],
        y_zero_point=zero_points[1],
        rescale=make.rescale(depth * 256 * 256, typical=int(5500 * np.sqrt(depth))),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.finish(op, x, y)
