"""A small model of each operator on int16 activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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


def _unary(code: str) -> Callable[[], bytes]:
    def layer(model: Int16Builder, x: int) -> int:
        result = model.activation(model.shapes[x], 1e-3)
        model.operator(code, [x], [result])
        return result

    return _one(layer)


INT16_SAMPLES: Final[dict[str, Callable[[], bytes]]] = {
    "ADD": _pair("ADD"),
    "AVERAGE_POOL_2D": _one(lambda model, x: model.pool("AVERAGE_POOL_2D", x, 2)),
    "CONCATENATION": _concatenation,
    "CONV_2D": _one(lambda model, x: model.conv(x, 4, 3, 0.01)),
    "DEPTHWISE_CONV_2D": _one(lambda model, x: model.conv(x, 1, 3, 0.01, depthwise=True)),
    "FULLY_CONNECTED": _one(lambda model, x: model.dense(x, 4, 0.01), (1, 6)),
    "MAX_POOL_2D": _one(lambda model, x: model.pool("MAX_POOL_2D", x, 2)),
    "MUL": _pair("MUL"),
    "PAD": _one(_pad),
    "RELU": _unary("RELU"),
    "RELU6": _unary("RELU6"),
    "RESHAPE": _one(lambda model, x: model.reshape(x, (1, 48))),
    "SUB": _pair("SUB"),
}
"""The model of each operator of ``ON_INT16``."""
