"""A small model of each operator on int16 activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from support.networks.int16_layers import Int16Builder

if TYPE_CHECKING:
    from collections.abc import Callable

    Layer = Callable[[Int16Builder, int], int]


def _one(layer: Layer, shape: tuple[int, ...] = (1, 4, 4, 3)) -> Callable[[], bytes]:
    """Return a function that makes a model of one layer."""

    def build() -> bytes:
        model = Int16Builder()
        x = model.activation(shape, 1e-3)
        return model.build([x], [layer(model, x)])

    return build


def _pair(code: str) -> Callable[[], bytes]:
    """Return a function that makes a model of an operator on two inputs."""

    def build() -> bytes:
        model = Int16Builder()
        x, y = (model.activation((1, 6), 1e-3) for _ in range(2))
        return model.build([x, y], [model.binary(code, x, y, 2e-3)])

    return build


def _concatenation() -> bytes:
    model = Int16Builder()
    x, y = (model.activation((1, 6), 1e-3) for _ in range(2))
    result = model.activation((1, 12), 1e-3)
    model.operator("CONCATENATION", [x, y], [result], axis=1)
    return model.build([x, y], [result])


def _pad(model: Int16Builder, x: int) -> int:
    result = model.activation((1, 6, 4, 3), 1e-3)
    widths = model.constant(np.array([[0, 0], [1, 1], [0, 0], [0, 0]], np.int32))
    model.operator("PAD", [x, widths], [result])
    return result


def _unary(code: str, scale: float = 1e-3, **options: Any) -> Callable[[], bytes]:
    """Return a function that makes a model of an operator that keeps the shape."""

    def layer(model: Int16Builder, x: int) -> int:
        result = model.activation(model.shapes[x], scale)
        model.operator(code, [x], [result], **options)
        return result

    return _one(layer)


def _moved(
    code: str, result: tuple[int, ...], *numbers: list[int], scale: float = 1e-3, **options: Any
) -> Callable[[], bytes]:
    """Return a function that makes a model of an operator with constant operands."""

    def layer(model: Int16Builder, x: int) -> int:
        y = model.activation(result, scale)
        operands = [model.constant(np.array(n, np.int32)) for n in numbers]
        model.operator(code, [x, *operands], [y], **options)
        return y

    return _one(layer)


def _split(model: Int16Builder, x: int) -> int:
    parts = [model.activation((1, 2, 4, 3), 1e-3) for _ in range(2)]
    axis = model.constant(np.array(1, np.int32))
    model.operator("SPLIT", [axis, x], parts, numSplits=2)
    return parts[0]


def _transpose_conv(model: Int16Builder, x: int) -> int:
    weights = model.random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    w = model.constant(weights, scale=np.full(4, 0.005), axis=0)
    y = model.activation((1, 8, 8, 4), 0.01)
    shape = model.constant(np.array([1, 8, 8, 4], np.int32))
    model.operator("TRANSPOSE_CONV", [shape, w, x], [y], padding="SAME", strideW=2, strideH=2)
    return y


INT16_SAMPLES: Final[dict[str, Callable[[], bytes]]] = {
    "ADD": _pair("ADD"),
    "AVERAGE_POOL_2D": _one(lambda model, x: model.pool("AVERAGE_POOL_2D", x, 2)),
    "BROADCAST_TO": _moved("BROADCAST_TO", (2, 4, 4, 3), [2, 4, 4, 3]),
    "CONCATENATION": _concatenation,
    "CONV_2D": _one(lambda model, x: model.conv(x, 4, 3, 0.01)),
    "DEPTHWISE_CONV_2D": _one(lambda model, x: model.conv(x, 1, 3, 0.01, depthwise=True)),
    "EXPAND_DIMS": _moved("EXPAND_DIMS", (1, 1, 4, 4, 3), [1]),
    "FULLY_CONNECTED": _one(lambda model, x: model.dense(x, 4, 0.01), (1, 6)),
    "LOGISTIC": _unary("LOGISTIC", 1 / 32768),
    "MAX_POOL_2D": _one(lambda model, x: model.pool("MAX_POOL_2D", x, 2)),
    "MEAN": _moved("MEAN", (1, 1, 1, 3), [1, 2], keepDims=True),
    "MUL": _pair("MUL"),
    "PAD": _one(_pad),
    "RELU": _unary("RELU"),
    "RELU6": _unary("RELU6"),
    "RESHAPE": _one(lambda model, x: model.reshape(x, (1, 48))),
    "REVERSE_V2": _moved("REVERSE_V2", (1, 4, 4, 3), [1]),
    "SLICE": _moved("SLICE", (1, 2, 2, 3), [0, 1, 1, 0], [1, 2, 2, 3]),
    "SOFTMAX": _unary("SOFTMAX", 1 / 32768, beta=1.0),
    "SPLIT": _one(_split),
    "SQUEEZE": _moved("SQUEEZE", (4, 4, 3), squeezeDims=[0]),
    "STRIDED_SLICE": _moved(
        "STRIDED_SLICE", (1, 2, 4, 3), [0, 0, 0, 0], [1, 4, 4, 3], [1, 2, 1, 1]
    ),
    "SUB": _pair("SUB"),
    "SUM": _moved("SUM", (1, 1, 1, 3), [1, 2], scale=1e-2, keepDims=True),
    "TANH": _unary("TANH", 1 / 32768),
    "TRANSPOSE": _moved("TRANSPOSE", (1, 4, 3, 4), [0, 1, 3, 2]),
    "TRANSPOSE_CONV": _one(_transpose_conv),
}
"""The model of each operator of ``ON_INT16``."""
