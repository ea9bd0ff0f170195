"""ONNX Runtime's QOperator form: layers whose inputs and results are quantized values.

``nn.quantized_*`` ops where its kernels round otherwise than dequantize, layer and quantize do;
elsewhere these three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.conv import conv_window
from rlx.frontends.onnx.ops.linear import matmul
from rlx.frontends.onnx.ops.pool import grown
from rlx.frontends.onnx.ops.quantize import (
    MICROSOFT,
    coded,
    meant_operand,
    params,
    saturated,
    with_meaning,
)
from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.onnx.ops.windows import ceiling, kernel_of, sizes, window_of
from rlx.ir import DType, QuantParams
from rlx.ir.dims import product
from rlx.ops import nn
from rlx.ops.nn import Layout
from rlx.ops.nn.layout import to_channels_first, to_channels_last
from rlx.ops.quantized_values import centred, meant, spread
from rlx.ops.real import RealQuantize, SpatialWindow, Ties

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

_BYTES = (DType.I8, DType.U8)


def _known_quant(call: Call, index: int, axis: int | None = None) -> QuantParams | None:
    """Return the quantization of the scale and zero point at two places; None if computed.

    Args:
        call: The node.
        index: Place of the scale; the zero point is the next one.
        axis: Axis of scales; None if there must be one.
    """
    scale = call.known(index)
    point = call.known(index + 1) if call.has(index + 1) else np.zeros((), np.uint8)
    if scale is None or point is None or scale.dtype != np.float32:
        return None
    # One zero point for many scales, and the reverse, run in ONNX Runtime.
    count = max(scale.size, point.size)
    if axis is None and count != 1:
        raise call.refuse(f"input {index} has {count} scales, expected one for the tensor")
    if count > 1:
        scale, point = (np.broadcast_to(a.reshape(-1), count) for a in (scale, point))
    return params(call, call.type(0 if axis is None else index - 1), scale, point, axis or 0)


def _quant(call: Call, index: int, axis: int | None = None) -> QuantParams:
    """Return the quantization of the scale and zero point at two places, which must be known."""
    quant = _known_quant(call, index, axis)
    if quant is None:
        raise call.refuse(
            f"input {index} is a scale that is computed at run time, or no float32",
            "quantize the model with scales that are constant (quantize_static)",
        )
    return quant


def _operand(call: Call, index: int, axis: int | None = None) -> tuple[Real, QuantParams]:
    """Return an input of quantized values, and the quantization in the two inputs after it."""
    quant = _quant(call, index + 1, axis)
    x = call.value(index)
    if x.dtype not in _BYTES:
        raise call.refuse(f"input {index} is {x.type}, expected int8 or uint8 values")
    return with_meaning(call, x, quant), quant


def _type_of(call: Call, point: int) -> DType:
    """Return the element type of a result, which is that of its zero point."""
    return call.type(point).dtype if call.has(point) else call.type(0).dtype


def _through_numbers(call: Call, y: Real, scale: int) -> Real:
    """Return floats quantized by the scale at a place; ties round to even."""
    op = RealQuantize(quant=_quant(call, scale), dtype=_type_of(call, scale + 1), ties=Ties.EVEN)
    return y.apply(op)


def _exact(call: Call, point: int) -> bool:
    """Return whether a standard layer has constant scales and bytes on both sides."""
    bytes_ = all(call.type(place).dtype in _BYTES for place in (0, 3, point))
    return bytes_ and all(_known_quant(call, place, 0) is not None for place in (1, 4, point - 1))


@importer("QLinearConv")
@importer("QLinearConv", domain=MICROSOFT)
def import_qlinear_conv(call: Call) -> Real:
    """``QLinearConv``: the exact sum of products, scaled once."""
    if not _exact(call, 7):
        return _conv_of_numbers(call)
    last = bool(call.integer("channels_last", 0)) if call.node.domain else False
    (x, x_quant), (w, w_quant) = _operand(call, 0), _operand(call, 3, 0)
    x = x.transpose(*to_channels_first(x.ndim)) if last else x
    window, groups = conv_window(call, x, w)
    op = nn.NnQuantizedConv(
        quant=_quant(call, 6), dtype=_type_of(call, 7), x_quant=x_quant, w_quant=w_quant,
        window=window, groups=groups, layout=Layout.CHANNELS_FIRST,
    )  # fmt: skip
    y = x.apply(op, w, *([call.value(8)] if call.has(8) else []))
    return y.transpose(*to_channels_last(y.ndim)) if last else y


def _conv_of_numbers(call: Call) -> Real:
    """Return a convolution whose scales are computed."""
    x, w = meant_operand(call, (0, 1, 2), 1), meant_operand(call, (3, 4, 5), 0)
    window, groups = conv_window(call, x, w)
    operands = [w]
    if call.has(8):
        scales = (call.value(1) * call.value(4)).cast(DType.F32)
        operands.append(call.value(8).cast(DType.F32) * scales)
    op = nn.NnConv(window=window, groups=groups, layout=Layout.CHANNELS_FIRST)
    return coded(call, x.apply(op, *operands), 6, 7)


@importer("QLinearMatMul")
def import_qlinear_matmul(call: Call) -> Real:
    """``QLinearMatMul``: the exact product, scaled once."""
    a, b = call.type(0), call.type(3)
    if not _exact(call, 7) or call.array(1).size != 1:
        x = meant_operand(call, (0, 1, 2), max(a.rank - 2, 0))
        return coded(call, matmul(x, meant_operand(call, (3, 4, 5), max(b.rank - 1, 0))), 6, 7)
    (x, x_quant), (w, w_quant) = _operand(call, 0), _operand(call, 3, max(b.rank - 1, 0))
    if b.rank == 2 and a.rank > 0:
        return _linear(call, (x, x_quant), (w.mT, _transposed_quant(w_quant)), (_quant(call, 6), 7))
    total = matmul(centred(x, x_quant, DType.I32), centred(w, w_quant, DType.I32))
    return _scaled(call, total, (x_quant, w_quant), (_quant(call, 6), 7))


def _scaled(
    call: Call, total: Real, of: tuple[QuantParams, QuantParams], to: tuple[QuantParams, int],
    alpha: float = 1.0,
) -> Real:  # fmt: skip
    """Return integer sums as quantized values of a result."""
    factor = factor_of(*of, alpha) / np.float32(to[0].scale[0])
    steps = total.cast(DType.F32) * total.lift(spread(factor, of[1].axis, total.ndim))
    return saturated(steps, steps.lift(np.float32(to[0].zero_point[0])), _type_of(call, to[1]))


def factor_of(x: QuantParams, w: QuantParams, alpha: float = 1.0) -> npt.NDArray[np.float32]:
    """Return the float32 scale, or scales, of products, multiplied as ONNX Runtime does."""
    left = np.float32(alpha) * np.float32(x.scale[0])
    scales: npt.NDArray[np.float32] = left * np.array(w.scale, np.float32)
    return scales


def _transposed_quant(quant: QuantParams) -> QuantParams:
    """Return the quantization of weights [K, N] after they became [N, K]."""
    return quant if quant.axis is None else replace(quant, axis=0)


def _linear(
    call: Call, x: tuple[Real, QuantParams], w: tuple[Real, QuantParams],
    to: tuple[QuantParams, int], bias: Real | None = None, alpha: float = 1.0,
) -> Real:  # fmt: skip
    """Return a dense layer on quantized values."""
    op = nn.NnQuantizedLinear(
        quant=to[0], dtype=_type_of(call, to[1]), x_quant=x[1], w_quant=w[1], alpha=alpha
    )
    return x[0].apply(op, w[0], *([] if bias is None else [bias]))


@importer("QGemm", domain=MICROSOFT)
def import_qgemm(call: Call) -> Real:
    """``QGemm``: quantized values, or floats if scale and zero point of the result are left out.

    ``alpha`` scales the bias too.
    """
    alpha, across = call.number("alpha", 1.0), call.flag("transB")
    (a, a_quant), (b, b_quant) = _operand(call, 0), _operand(call, 3, 0 if across else 1)
    if a.ndim != 2 or b.ndim != 2:
        raise call.malformed(f"A and B must be matrices, got {a.type} and {b.type}")
    a = a.mT if call.flag("transA") else a
    w, w_quant = (b, b_quant) if across else (b.mT, _transposed_quant(b_quant))
    bias = call.value(6) if call.has(6) else None
    if bias is not None and product(bias.shape) == w.shape[0]:
        bias = bias.reshape(w.shape[0])
    to = (_quant(call, 7) if call.has(7) else _unit(call, 8)), 8
    if call.has(8) and (bias is None or bias.ndim == 1):
        return _linear(call, (a, a_quant), (w, w_quant), to, bias, alpha)
    total = centred(a, a_quant, DType.I32) @ centred(w, w_quant, DType.I32).mT
    total = total if bias is None else total + bias
    columns = replace(w_quant, axis=None if w_quant.axis is None else 1)
    if call.has(8):
        return _scaled(call, total, (a_quant, columns), to, alpha)
    factor = spread(factor_of(a_quant, columns, alpha), columns.axis, 2)
    return total.cast(DType.F32) * total.lift(factor)


def _unit(call: Call, point: int) -> QuantParams:
    """Return a scale of 1 with the zero point at a place, if there is one."""
    return QuantParams.per_tensor(1.0, int(call.array(point)) if call.has(point) else 0)


@importer("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def import_qlinear_binary(call: Call) -> Real:
    """``QLinearAdd`` and ``QLinearMul``."""
    (x, x_quant), (y, y_quant) = _operand(call, 0), _operand(call, 3)
    kind = nn.NnQuantizedAdd if call.node.type == "QLinearAdd" else nn.NnQuantizedMul
    op = kind(quant=_quant(call, 6), dtype=x.dtype, x_quant=x_quant, y_quant=y_quant)
    return x.apply(op, y)


@importer("QLinearAveragePool", domain=MICROSOFT)
def import_qlinear_average_pool(call: Call) -> Real:
    """``QLinearAveragePool``."""
    image, quant, last = _image(call)
    size = sizes(call, image.shape)
    window = window_of(call, size, kernel_of(call))
    extra, counted = ceiling(call, window, size), bool(call.integer("count_include_pad", 0))
    if any(extra) and counted and window.is_padded:
        raise call.refuse("has both ceil_mode and count_include_pad", "export it without one")
    return _average(call, image, quant, grown(window, extra), last=last, counted=counted)


@importer("QLinearGlobalAveragePool", domain=MICROSOFT)
def import_qlinear_global_average_pool(call: Call) -> Real:
    """``QLinearGlobalAveragePool``: the mean over all spatial axes."""
    image, quant, last = _image(call)
    window = SpatialWindow(sizes(call, image.shape))
    return _average(call, image, quant, window, last=last, counted=False)


def _image(call: Call) -> tuple[Real, QuantParams, bool]:
    """Return an image with channels first, its quantization, and whether they were last."""
    (x, quant), last = _operand(call, 0), bool(call.integer("channels_last", 0))
    return x.transpose(*to_channels_first(x.ndim)) if last else x, quant, last


def _average(
    call: Call, image: Real, quant: QuantParams, window: SpatialWindow, *, last: bool, counted: bool
) -> Real:
    op = nn.NnQuantizedAveragePool(
        quant=_quant(call, 3), dtype=image.dtype, x_quant=quant, window=window,
        layout=Layout.CHANNELS_FIRST, count_padding=counted,
    )  # fmt: skip
    y = image.apply(op)
    return y.transpose(*to_channels_last(y.ndim)) if last else y


@importer("QLinearSoftmax", domain=MICROSOFT)
def import_qlinear_softmax(call: Call) -> Real:
    """``QLinearSoftmax``; before version 13 of ``opset`` over all axes from ``axis`` on."""
    x, quant = _operand(call, 0)
    axis = call.axis(call.integer("axis", -1), x.ndim)
    shape = x.shape
    together = call.integer("opset") < 13 and axis != x.ndim - 1
    if together:
        x, axis = x.reshape(product(shape[:axis]), product(shape[axis:])), 1
    op = nn.NnQuantizedSoftmax(quant=_quant(call, 3), dtype=x.dtype, x_quant=quant, axis=axis)
    y = x.apply(op)
    return y.reshape(*shape) if together else y


def _dequantized_operand(call: Call, index: int) -> Real:
    """Return the numbers of an input of quantized values."""
    return meant(*_operand(call, index))


@importer("QLinearSigmoid", domain=MICROSOFT)
def import_qlinear_sigmoid(call: Call) -> Real:
    """``QLinearSigmoid``."""
    x, quant = _operand(call, 0)
    op = nn.NnQuantizedSigmoid(quant=_quant(call, 3), dtype=_type_of(call, 4), x_quant=quant)
    return x.apply(op)


@importer("QLinearLeakyRelu", domain=MICROSOFT)
def import_qlinear_leaky_relu(call: Call) -> Real:
    """``QLinearLeakyRelu``: of floats, quantized again."""
    return _through_numbers(
        call, _dequantized_operand(call, 0).leaky_relu(call.number("alpha", 0.01)), 3
    )


@importer("QLinearConcat", domain=MICROSOFT)
def import_qlinear_concat(call: Call) -> Real:
    """``QLinearConcat``: scale and zero point of the result, then values with theirs."""
    if call.count < 5 or (call.count - 2) % 3:
        raise call.malformed(f"has {call.count} inputs, expected 2 and 3 for each value")
    first, *rest = (_dequantized_operand(call, place) for place in range(2, call.count, 3))
    joined = first.concat(*rest, axis=call.axis(call.integer("axis"), first.ndim))
    return _through_numbers(call, joined, 0)


@importer("QLinearWhere", domain=MICROSOFT)
def import_qlinear_where(call: Call) -> Real:
    """``QLinearWhere``."""
    return _through_numbers(
        call, _dequantized_operand(call, 1).where(call.value(0), _dequantized_operand(call, 4)), 7
    )
