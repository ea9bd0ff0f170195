"""Running sums on int8: dense layers whose weights are 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.quantization import fitted_rescale, rescale_of
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer
from rlx.frontends.tflite.ops.reduce import only_axis
from rlx.ir import QuantParams
from rlx.ops.numerics.fixed_point import rounding_divide_by_power_of_two
from rlx.ops.q import QDense, QTranspose

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.call import Call
    from rlx.ops.numerics.fixed_point import Int64, Rescale

_MAX_ELEMENTS: Final = 256
"""Elements of an axis that is summed over: 64 KiB of weights."""

_HEADROOM: Final = 19
"""Bits by which the reference shifts the elements before it adds them."""


@importer("CUMSUM")
def import_cumsum(call: Call) -> None:
    """``CUMSUM`` less zero points; TensorFlow Lite Micro begins the sum at minus the zero point.

    It begins each sum at minus the zero point. From 17 elements on its sums may overflow.
    """
    call.arity(2)
    x, result, axis = call.quant(0), call.result_quant, only_axis(call)
    value = call.value(0)
    shape = value.type.static_shape
    count = shape[axis]
    if count > _MAX_ELEMENTS:
        raise UnsupportedError(
            f"sums {count} elements, expected at most {_MAX_ELEMENTS}",
            hint="sum parts of the axis, and add the results in the model",
        )
    op = QDense(
        x_zero_point=x.zero_point,
        rescale=_rescale(call, count * (128 + abs(x.zero_point))),
        zero_point=result.zero_point,
    )
    summed = np.tri(count, k=-1 if call.options["exclusive"] else 0, dtype=np.int8)
    weights = np.ascontiguousarray(summed.T) if call.options["reverse"] else summed
    graph, origin = call.scope.graph, call.origin
    constants = (
        graph.constant(weights, quant=QuantParams.per_tensor(1.0), origin=origin),
        graph.constant(np.zeros(count, np.int32), origin=origin),
    )
    order = [a for a in range(len(shape)) if a != axis] + [axis]
    if order == sorted(order):
        call.finish(op, value, *constants)
        return
    rows = call.emit(QTranspose(axes=tuple(order)), value)
    sums = call.emit(op, rows, *constants, quant=result)
    call.finish(QTranspose(axes=tuple(int(a) for a in np.argsort(order))), sums)


def _rescale(call: Call, bound: int) -> Rescale:
    """Return the factor of sums of magnitudes up to ``bound``, with the reference's rounding."""
    x, result = call.quant(0), call.result_quant
    sums = np.arange(-bound, bound + 1)
    low, high = -128 - result.zero_point, 127 - result.zero_point
    factor = x.real / result.real
    scaled = _rounded(sums, 2 * x.real / (2.0 ** (_HEADROOM + 1) * result.real))
    return fitted_rescale(factor, sums, np.clip(scaled, low, high), low, high)


def _rounded(sums: Int64, factor: float) -> Int64:
    """Return sums times ``2^19 * factor``, rounded twice.

    Source: tflite-micro ``CalculateOpData`` and ``CumSum`` for int8.
    """
    rescale = rescale_of(factor)
    (multiplier,), (shift,) = rescale.multiplier, rescale.shift
    if shift > 0:
        raise UnsupportedError(
            f"has a factor of {factor * 2.0**_HEADROOM!r}, outside of the fixed point",
            hint="quantize the model again; a scale is out of proportion",
        )
    # (sum * 2^19 * multiplier + 2^30) / 2^31, without the product's 19 zeros at the end.
    bits = 31 - _HEADROOM
    high = (sums * multiplier + (1 << (bits - 1))) >> bits
    return rounding_divide_by_power_of_two(high, -shift)
