"""Cases of elementwise ops that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Graph
from rlx.ops.q import QChain, QMaximum, QMinimum, QMul, QPrelu
from strategies.table import strategy

if TYPE_CHECKING:
    from rlx.ir import Value
    from strategies.case import Case, Maker


def _operands(make: Maker) -> tuple[Value, Value]:
    """Return operands of one shape, broadcast, with a constant, or the same value twice."""
    shape = make.shape()
    x = make.input(shape)
    kind = make.pick("equal", "equal", "broadcast", "constant", "same")
    if kind == "same":
        y = x
    elif kind == "constant":
        y = make.graph.constant(make.codes(make.pick(shape[-1:], ())), name="constant")
    else:
        if kind == "broadcast":
            shape = tuple(make.pick(n, 1) for n in shape)
        y = make.input(shape, name="y")
    return (x, y) if make.pick(True, False) else (y, x)


@strategy(QMaximum)
def maximum(make: Maker) -> Case:
    """The larger of two values."""
    return make.finish(QMaximum(), *_operands(make))


@strategy(QMinimum)
def minimum(make: Maker) -> Case:
    """The smaller of two values."""
    return make.finish(QMinimum(), *_operands(make))


@strategy(QPrelu)
def prelu(make: Maker) -> Case:
    """PReLU with slopes of both signs, often one for all channels."""
    x = make.input(make.shape(), zero_point=make.zero_point())
    channels = x.type.static_shape[-1:]
    slopes = make.codes(channels) if make.pick(True, False) else np.full(channels, make.codes(()))
    op = QPrelu(
        x_zero_point=make.zero_point_of(x),
        y_zero_point=make.zero_point(),
        rescale=make.rescale(255),
        slope_rescale=make.rescale(255 * 255, typical=5000),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.finish(op, x, make.graph.constant(np.asarray(slopes, np.int8), name="slopes"))


@strategy(QChain)
def chain(make: Maker) -> Case:
    """The larger of a value and its product with a slope, some with a slope for each channel."""
    x = make.input(make.shape(), zero_point=make.zero_point())
    slopes = make.graph.constant(make.codes(make.pick(x.type.static_shape[-1:], (1,))))
    body = Graph("chain")
    step, slope = body.input("x", x.type), body.input("slopes", slopes.type)
    scaled = QMul(
        x_zero_point=make.zero_point_of(x),
        y_zero_point=make.zero_point(),
        rescale=make.rescale(255 * 255, typical=5000),
        zero_point=make.zero_point_of(x),
        **make.clamp(),
    )
    body.output(body.apply(QMaximum(), step, body.apply(scaled, step, slope)))
    return make.finish(QChain(body=body), x, slopes)
