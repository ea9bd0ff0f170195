"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer, real_importer
from rlx.frontends.tflite.ops.parts import activation_bounds, window
from rlx.frontends.tflite.ops.reals import finish_activated, require_float, spatial_window
from rlx.ops.nn import NnAveragePool, NnMaxPool
from rlx.ops.q import QAveragePool2d, QMaxPool2d
from rlx.ops.real import RealMul, RealSqrt

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ops.q import Window


@importer("AVERAGE_POOL_2D", "MAX_POOL_2D")
def import_pool(call: Call) -> None:
    """``AVERAGE_POOL_2D`` and ``MAX_POOL_2D``; the result has the input's scale and zero point."""
    call.arity(1)
    call.same_quant()
    low, high = activation_bounds(call, call.result_quant)
    make = QAveragePool2d if call.operator.name == "AVERAGE_POOL_2D" else QMaxPool2d
    pool_window = window(call, call.input(0), _kernel(call))
    if make is QAveragePool2d and call.scope.from_uint8.intersection(call.operator.inputs):
        _check_uint8(pool_window)
    call.finish(make(window=pool_window, low=low, high=high), call.value(0))


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


def _check_uint8(pool_window: Window) -> None:
    """Refuse means of uint8 values that may be at a half: uint8 rounds up, int8 away from 0.

    The mean of an odd number of values is never there.
    """
    if pool_window.taps % 2 == 0 or pool_window.is_padded:
        raise UnsupportedError(
            "averages uint8 in windows of an even number of values, which round in another way "
            "than int8",
            hint="convert the model with int8, as converters do by default, or pool over windows "
            "of an odd size without padding",
        )


def _kernel(call: Call) -> tuple[int, int]:
    return call.options["filter_h"], call.options["filter_w"]
