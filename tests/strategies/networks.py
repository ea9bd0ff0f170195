"""Small random networks of several ops: chains with shortcuts, as real ones are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMul,
    QPad,
    QRequantize,
    QReshape,
    QSoftmax,
    QTable,
    Window,
)
from strategies.case import Case, Maker
from strategies.linear import bias_and_rescale, weights
from strategies.table import cases_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Value

_MAX_LAYERS = 6
_MAX_CHANNELS = 12


def _network(make: Maker) -> Case:
    """A chain of layers on an image, with shortcuts; then often a classifier."""
    size = make.integer(2, make.knobs.size + 3), make.integer(1, make.knobs.size + 3)
    values = [make.input(make.image(*size), zero_point=make.zero_point())]
    for _ in range(make.integer(1, _MAX_LAYERS)):
        values.append(make.pick(*_LAYERS)(make, values))
    tail = make.pick(None, _flatten, _mean)
    if tail is not None:
        values.append(tail(make, values[-1]))
        if make.pick(True, False):
            values.append(_dense(make, values[-1]))
        if make.pick(False, True):
            values.append(_softmax(make, values[-1]))
    make.graph.output(values[-1], names=["result"])
    return Case(make.graph, make.inputs)


random_graphs = cases_of(_network)
"""``random_graphs(**knobs)``: a strategy of networks of 1 to 9 ops with one input and output."""


def _apply_weights(make: Maker, x: Value, op: str, shape: tuple[int, ...], **own: object) -> Value:
    """Append a convolution or dense layer with drawn weights and scaling."""
    w = weights(make, shape)
    bias, rescale = bias_and_rescale(make, w)
    common = {
        "x_zero_point": make.zero_point_of(x),
        "rescale": rescale,
        "zero_point": make.zero_point(),
        **make.clamp(),
    }
    kind = QConv2d if op == "conv" else QDense
    constants = (make.graph.constant(w, name="weights"), make.graph.constant(bias, name="bias"))
    return make.graph.apply(kind(**common, **own), x, *constants, name=op)


def _window(make: Maker, x: Value) -> Window:
    """Return a window with SAME padding, or without padding where that fits."""
    _, height, width, _ = x.type.static_shape
    kernel = (make.integer(1, 3), make.integer(1, 3))
    stride = (make.integer(1, 2), make.integer(1, 2))
    if make.pick(True, False) or kernel[0] > height or kernel[1] > width:
        return Window.same((height, width), kernel, stride)
    return Window(kernel, stride)


def _conv(make: Maker, values: list[Value]) -> Value:
    x = values[-1]
    window = _window(make, x)
    outputs = make.integer(1, make.knobs.size + 1)
    shape = (outputs, *window.kernel, x.type.static_shape[3])
    return _apply_weights(make, x, "conv", shape, window=window)


def _depthwise(make: Maker, values: list[Value]) -> Value:
    x = values[-1]
    window = _window(make, x)
    channels = x.type.static_shape[3]
    shape = (channels, *window.kernel, 1)
    return _apply_weights(make, x, "conv", shape, window=window, groups=channels)


def _shortcut(make: Maker, values: list[Value]) -> Value:
    """Return the last value but the newest of equal shape, or the newest itself."""
    equal = [v for v in values[:-1] if v.type.shape == values[-1].type.shape]
    return make.pick(*reversed(equal)) if equal else values[-1]


def _add(make: Maker, values: list[Value]) -> Value:
    x, y = values[-1], _shortcut(make, values)
    op = QAdd(
        x_zero_point=make.zero_point_of(x),
        y_zero_point=make.zero_point_of(y),
        x_rescale=Rescale.of(0.5, rounding=make.rounding),
        y_rescale=Rescale.of(make.pick(0.5, 0.31), rounding=make.rounding),
        rescale=Rescale.of(make.pick(2.0, 1.1, 0.6) / 2**20, rounding=make.rounding),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.graph.apply(op, x, y, name="add")


def _mul(make: Maker, values: list[Value]) -> Value:
    x, y = values[-1], _shortcut(make, values)
    op = QMul(
        x_zero_point=make.zero_point_of(x),
        y_zero_point=make.zero_point_of(y),
        rescale=make.rescale(255 * 255, typical=5000),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.graph.apply(op, x, y, name="mul")


def _concat(make: Maker, values: list[Value]) -> Value:
    """Join the newest value and one that differs in channels at most."""
    last = values[-1]
    partners = [
        v
        for v in reversed(values)
        if v.type.shape[:3] == last.type.shape[:3] and v.type.static_shape[3] <= _MAX_CHANNELS
    ]
    partner = make.pick(*partners) if partners else last
    return make.graph.apply(QConcat(axis=3), last, partner, name="concat")


def _pool(make: Maker, values: list[Value]) -> Value:
    kind = make.pick(QMaxPool2d, QAveragePool2d)
    op = kind(window=_window(make, values[-1]), **make.clamp())
    return make.graph.apply(op, values[-1], name="pool")


def _pad(make: Maker, values: list[Value]) -> Value:
    before = (0, make.integer(0, 2), make.integer(0, 2), 0)
    after = (0, make.integer(0, 2), make.integer(0, 2), 0)
    op = QPad(before=before, after=after, value=make.zero_point())
    return make.graph.apply(op, values[-1], name="pad")


def _elementwise(make: Maker, values: list[Value]) -> Value:
    op = make.pick(
        QClamp(**make.clamp()),
        QTable(table=tuple(127 - abs(i) for i in range(-128, 128))),
        QRequantize(
            x_zero_point=make.zero_point_of(values[-1]),
            rescale=make.rescale(255),
            zero_point=make.zero_point(),
            **make.clamp(),
        ),
    )
    return make.graph.apply(op, values[-1], name="elementwise")


def _flatten(make: Maker, x: Value) -> Value:
    first, *rest = x.type.static_shape
    return make.graph.apply(QReshape(shape=(first, math.prod(rest))), x, name="flatten")


def _mean(make: Maker, x: Value) -> Value:
    _, height, width, _ = x.type.static_shape
    op = QMean(
        axes=(1, 2),
        x_zero_point=make.zero_point_of(x),
        rescale=Rescale.of(make.pick(1.0, 1.7), rounding=make.rounding).divided(height * width),
        zero_point=make.zero_point(),
    )
    return make.graph.apply(op, x, name="mean")


def _dense(make: Maker, x: Value) -> Value:
    return _apply_weights(make, x, "dense", (make.integer(1, 6), x.type.static_shape[-1]))


def _softmax(make: Maker, x: Value) -> Value:
    multiplier, left_shift, diff_min = softmax_scaling(make.pick(0.1, 0.02))
    op = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    return make.graph.apply(op, x, name="softmax")


_LAYERS: tuple[Callable[[Maker, list[Value]], Value], ...] = (
    _conv, _depthwise, _add, _pool, _concat, _elementwise, _mul, _pad,
)  # fmt: skip
