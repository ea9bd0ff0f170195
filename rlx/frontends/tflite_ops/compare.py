"""Elementwise operators that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.quantization import rescale_of
from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite_ops.importers import importer
from rlx.frontends.tflite_ops.tensors import quant_of, require_type
from rlx.frontends.tflite_schema import TensorType
from rlx.ops.q import QMaximum, QMinimum, QPrelu

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.tflite_file import Tensor
    from rlx.frontends.tflite_ops.call import Call


@importer("MAXIMUM")
def import_maximum(call: Call) -> None:
    """``MAXIMUM``."""
    _extreme(call, QMaximum())


@importer("MINIMUM")
def import_minimum(call: Call) -> None:
    """``MINIMUM``."""
    _extreme(call, QMinimum())


def _extreme(call: Call, op: QMaximum | QMinimum) -> None:
    """Append a comparison; the interpreter compares int8 values whatever they stand for."""
    call.arity(2)
    call.same_quant(0)
    call.same_quant(1)
    call.finish(op, call.value(0), call.value(1))


@importer("PRELU")
def import_prelu(call: Call) -> None:
    """``PRELU`` with one slope for each channel, or one for all.

    Source: tflite-micro ``CalculatePreluParams``, which widens each scale to double first.
    """
    call.arity(2)
    x, result = call.quant(0), call.result_quant
    tensor = call.constant(1)
    require_type(tensor, TensorType.INT8)
    slopes = quant_of(tensor)
    op = QPrelu(
        x_zero_point=x.zero_point,
        y_zero_point=slopes.zero_point,
        rescale=rescale_of(x.real / result.real),
        slope_rescale=rescale_of(x.real * slopes.real / result.real),
        zero_point=result.zero_point,
    )
    array = _slope_of_each_channel(tensor, call.input(0))
    call.finish(op, call.value(0), call.scope.constant(tensor, array))


def _slope_of_each_channel(tensor: Tensor, image: Tensor) -> npt.NDArray[np.int8]:
    """Return the slopes as int8[C].

    Raises:
        UnsupportedError: They differ along another axis than the last.
    """
    slopes, channels = tensor.array().reshape(-1), image.shape[-1:]
    if not channels or (slopes.size > 1 and tensor.shape[-1:] != (slopes.size,)):
        raise UnsupportedError(
            f"{tensor.label} is {tensor.described}, want one slope for each channel of "
            f"{image.label}, which is {image.described}",
            hint="share the slopes over the image, such as PReLU(shared_axes=[1, 2]) in Keras",
        )
    return np.broadcast_to(slopes, channels) if slopes.size == 1 else slopes
