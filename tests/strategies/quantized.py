"""Cases of layers on quantized values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, QuantParams
from rlx.ops import nn
from rlx.ops.nn import Layout
from strategies.reals import axes_of, finish, given, image_of, in_layout, windows
from strategies.table import strategy

if TYPE_CHECKING:
    from rlx.ir import Value
    from strategies.case import Case, Maker


def _quant(make: Maker, dtype: DType, count: int = 1) -> QuantParams:
    """Return a scale and a zero point of ``dtype``, or as many as ``count`` along axis 0."""
    low = 0 if dtype is DType.U8 else -128
    scales = tuple(make.pick(0.125, 0.5, 0.07, 1.3) for _ in range(count))
    points = tuple(low + make.pick(0, 128, 3, 255) for _ in range(count))
    return QuantParams(scales, points, 0 if count > 1 else None)


def _values(make: Maker, shape: tuple[int, ...], dtype: DType) -> Value:
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    return given(make, generator.integers(0, 256, shape).astype(np.uint8).view(dtype.numpy))


def _bytes(make: Maker) -> DType:
    return make.pick(DType.I8, DType.U8)


def _bias(make: Maker, outputs: int) -> tuple[Value, ...]:
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    bias = generator.integers(-9999, 10000, outputs).astype(np.int32)
    return (given(make, bias),) if make.pick(True, False) else ()


@strategy(nn.NnQuantizedConv)
def conv(make: Maker) -> Case:
    layout, (x_type, w_type, y_type) = make.pick(*Layout), [_bytes(make) for _ in range(3)]
    window, extent = windows(make, make.pick(2, 1))
    groups, inner, outputs = make.integer(1, 2), make.integer(1, 2), make.integer(1, 2)
    x = _values(make, in_layout(image_of(make, extent, groups * inner), layout), x_type)
    w = _values(make, in_layout((groups * outputs, *window.kernel, inner), layout), w_type)
    op = nn.NnQuantizedConv(
        quant=_quant(make, y_type), dtype=y_type, x_quant=_quant(make, x_type),
        w_quant=_quant(make, w_type, make.pick(1, groups * outputs)),
        window=window, groups=groups, layout=layout,
    )  # fmt: skip
    return finish(make, op, x, w, *_bias(make, groups * outputs))


@strategy(nn.NnQuantizedLinear)
def linear(make: Maker) -> Case:
    (x_type, w_type, y_type), shape = [_bytes(make) for _ in range(3)], make.shape()
    outputs = make.integer(1, 4)
    op = nn.NnQuantizedLinear(
        quant=_quant(make, y_type), dtype=y_type, x_quant=_quant(make, x_type),
        w_quant=_quant(make, w_type, make.pick(1, outputs)), alpha=make.pick(1.0, 0.5),
    )  # fmt: skip
    x, w = _values(make, shape, x_type), _values(make, (outputs, shape[-1]), w_type)
    return finish(make, op, x, w, *_bias(make, outputs))


def _binary(make: Maker, kind: type[nn.NnQuantizedAdd] | type[nn.NnQuantizedMul]) -> Case:
    (x_type, y_type, z_type), shape = [_bytes(make) for _ in range(3)], make.shape()
    op = kind(
        quant=_quant(make, z_type), dtype=z_type,
        x_quant=_quant(make, x_type), y_quant=_quant(make, y_type),
    )  # fmt: skip
    x, y = _values(make, shape, x_type), _values(make, make.pick(shape, shape[-1:], ()), y_type)
    return finish(make, op, x, y)


@strategy(nn.NnQuantizedAdd)
def add(make: Maker) -> Case:
    return _binary(make, nn.NnQuantizedAdd)


@strategy(nn.NnQuantizedMul)
def mul(make: Maker) -> Case:
    return _binary(make, nn.NnQuantizedMul)


@strategy(nn.NnQuantizedAveragePool)
def average_pool(make: Maker) -> Case:
    layout, x_type, y_type = make.pick(*Layout), _bytes(make), _bytes(make)
    window, extent = windows(make, make.pick(2, 1), pads_below_kernel=True)
    op = nn.NnQuantizedAveragePool(
        quant=_quant(make, y_type), dtype=y_type, x_quant=_quant(make, x_type),
        window=window, layout=layout, count_padding=make.pick(False, True),
    )  # fmt: skip
    return finish(make, op, _values(make, in_layout(image_of(make, extent, 2), layout), x_type))


@strategy(nn.NnQuantizedSoftmax)
def softmax(make: Maker) -> Case:
    x_type, y_type, shape = _bytes(make), _bytes(make), make.shape()
    (axis, *_) = axes_of(make, len(shape))
    op = nn.NnQuantizedSoftmax(
        quant=QuantParams.per_tensor(make.pick(1 / 256, 0.03), make.pick(0, 7)), dtype=y_type,
        x_quant=_quant(make, x_type), axis=axis,
    )  # fmt: skip
    return finish(make, op, _values(make, shape, x_type))


@strategy(nn.NnQuantizedSigmoid)
def sigmoid(make: Maker) -> Case:
    x_type, y_type, shape = _bytes(make), _bytes(make), make.shape()
    op = nn.NnQuantizedSigmoid(
        quant=_quant(make, y_type), dtype=y_type, x_quant=_quant(make, x_type)
    )
    return finish(make, op, _values(make, shape, x_type))
