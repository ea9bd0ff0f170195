"""Pooling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.parts import activation_bounds, window
from rlx.frontends.tflite.ops.reals import finish_activated, require_float, spatial_window
from rlx.ops.nn import NnAveragePool, NnMaxPool
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAveragePool2d, QConv2d, QMaxPool2d, QMean
from rlx.ops.real import RealMul, RealSqrt

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.quantization import Bounds
    from rlx.frontends.tflite.file import Tensor
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ops.q import Window

_MIN_ZERO_POINT = -128
"""Minimum of a zero point: no code is below it."""
_MAX_COUNT = 1 << 20
"""Values of a window up to which the error of a factor is below the distance to a half."""


@importer("AVERAGE_POOL_2D", "MAX_POOL_2D")
def import_pool(call: Call) -> None:
    """``AVERAGE_POOL_2D`` and ``MAX_POOL_2D``; the result has the input's scale and zero point."""
    call.arity(1)
    call.same_quant()
    low, high = activation_bounds(call, call.result_quant)
    pool_window = window(call, call.input(0), _kernel(call))
    if call.operator.name == "MAX_POOL_2D":
        call.finish(QMaxPool2d(window=pool_window, low=low, high=high), call.value(0))
    elif call.is_uint8 and _has_halves(call.input(0), pool_window):
        _average_uint8(call, pool_window, (low, high))
    else:
        call.finish(QAveragePool2d(window=pool_window, low=low, high=high), call.value(0))


@real_importer("AVERAGE_POOL_2D", "MAX_POOL_2D")
def import_real_pool(call: Call) -> None:
    """``AVERAGE_POOL_2D`` and ``MAX_POOL_2D`` on float32; padding is never counted."""
    call.arity(1)
    require_float(call.input(0), call.output)
    make = NnAveragePool if call.operator.name == "AVERAGE_POOL_2D" else NnMaxPool
    op = make(window=spatial_window(call, call.input(0), _kernel(call)))
    finish_activated(call, op, call.value(0))


@real_importer("L2_POOL_2D")
def import_l2_pool(call: Call) -> None:
    """``L2_POOL_2D`` on float32: the square root of the mean of squares."""
    call.arity(1)
    require_float(call.input(0), call.output)
    square = call.emit(RealMul(), call.value(0), call.value(0))
    window = spatial_window(call, call.input(0), _kernel(call))
    finish_activated(call, RealSqrt(), call.emit(NnAveragePool(window=window), square))


def _has_halves(image: Tensor, pool_window: Window) -> bool:
    """Return whether a mean may be at a half; that of an odd number of values is not.

    There uint8 rounds up, where ``q.avg_pool2d`` rounds away from 0.
    """
    return bool((_counts(image, pool_window) % 2 == 0).any())


def _counts(image: Tensor, pool_window: Window) -> npt.NDArray[np.int64]:
    """Return the number of values that each window averages."""
    return np.outer(*pool_window.taps_inside((image.shape[1], image.shape[2])))


def _average_uint8(call: Call, pool_window: Window, bounds: Bounds) -> None:
    """Append averages whose halves round up."""
    counts = _counts(call.input(0), pool_window)
    count, quant = int(counts.max()), call.quant(0)
    if counts.min() != count or count > _MAX_COUNT:
        raise UnsupportedError(
            f"averages uint8 in windows of {counts.min()} to {count} values, which round in "
            "another way than int8",
            hint="convert the model with int8, as converters do by default, or pool without "
            "padding",
        )
    _, rows, columns, channels = call.input(0).shape
    points: dict[str, Any] = {"x_zero_point": quant.zero_point, "zero_point": quant.zero_point}
    points["low"], points["high"] = bounds
    rounds_up = count & (count - 1) == 0 or quant.zero_point == _MIN_ZERO_POINT
    if rounds_up and counts.size == 1 and count == rows * columns:
        mean = QMean(axes=(1, 2), keep_dims=True, rescale=_factor_of(count), **points)
        call.finish(mean, call.value(0))
        return
    # Twice the sum, plus 1: a half is as far from the next integer as its neighbour below.
    op = QConv2d(
        window=pool_window,
        groups=channels,
        rescale=rescale_of(0.5 / count, rounding=Rounding.SINGLE),
        **points,
    )
    graph, origin = call.scope.graph, call.origin
    twos = graph.constant(np.full((channels, *pool_window.kernel, 1), 2, np.int8), origin=origin)
    call.finish(op, call.value(0), twos, graph.constant(np.ones(channels, np.int32), origin=origin))


def _factor_of(count: int) -> Rescale:
    """Return the first factor from 1 / count on, with which halves of positive sums round up.

    Those of negative sums do too where it is exact.
    """
    shift = math.frexp(1 / count)[1]
    return Rescale((-((-1 << (31 - shift)) // count),), (shift,), Rounding.SINGLE)


def _kernel(call: Call) -> tuple[int, int]:
    return call.options["filter_h"], call.options["filter_w"]
