"""Cases of elementwise ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    CODE_RANGE,
    QAdd,
    QClamp,
    QConvert,
    QDiv,
    QMul,
    QRequantize,
    QSquaredDifference,
    QSub,
    QTable,
)
from strategies.table import strategy

if TYPE_CHECKING:
    from rlx.ir import Value
    from strategies.case import Case, Maker


def _operands(make: Maker) -> tuple[dict[str, int], tuple[Value, Value]]:
    """Return zero points and operands: of one shape, broadcast, a constant, or the same value."""
    shape = make.shape()
    x = make.input(shape, zero_point=make.zero_point())
    kind = make.pick("equal", "broadcast", "constant", "same")
    if kind == "same":
        y = x
    elif kind == "constant":
        y = make.graph.constant(make.codes(shape[-1:]), name="constant")
    else:
        if kind == "broadcast":
            shape = tuple(make.pick(n, 1) for n in shape)
        y = make.input(shape, name="y", zero_point=make.zero_point())
    operands = (x, y) if make.pick(True, False) else (y, x)
    names = ("x_zero_point", "y_zero_point")
    points = {n: make.zero_point_of(v) for n, v in zip(names, operands, strict=True)}
    return points, operands


def _at_most_one(make: Maker) -> Rescale:
    """Return a factor of at most 1, as those into the common scale of an addition."""
    real = make.pick(0.5, 0.5, 2.0**-1.5, 1.0 - 2.0**-31, 2.0**-12) * make.pick(1.0, 0.999, 0.7)
    return Rescale.of(real, rounding=make.rounding)


def _add_attributes(make: Maker) -> dict[str, Any]:
    left_shift = make.pick(20, 20, make.integer(0, 20))
    return {
        "x_rescale": _at_most_one(make),
        "y_rescale": _at_most_one(make),
        "left_shift": left_shift,
        "rescale": make.rescale(2 * 255 << left_shift, typical=50 << left_shift),
        "zero_point": make.zero_point(),
        **make.clamp(),
    }


@strategy(QAdd)
def add(make: Maker) -> Case:
    """Sums."""
    points, operands = _operands(make)
    return make.finish(QAdd(**points, **_add_attributes(make)), *operands)


@strategy(QSub)
def sub(make: Maker) -> Case:
    """Differences."""
    points, operands = _operands(make)
    return make.finish(QSub(**points, **_add_attributes(make)), *operands)


@strategy(QSquaredDifference)
def squared_difference(make: Maker) -> Case:
    """Squares of differences, which fit int32."""
    points, operands = _operands(make)
    factors = {name: Rescale.of(make.pick(0.5, 0.4999, 0.37, 2.0**-9), rounding=make.rounding)
               for name in ("x_rescale", "y_rescale")}  # fmt: skip
    left_shift = make.pick(7, 7, make.integer(0, 7))
    op = QSquaredDifference(
        **points,
        **factors,
        left_shift=left_shift,
        rescale=make.rescale((255 << left_shift) ** 2, typical=(50 << left_shift) ** 2),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.finish(op, *operands)


@strategy(QMul)
def mul(make: Maker) -> Case:
    """Products."""
    points, operands = _operands(make)
    rescale = make.rescale(255 * 255, typical=5000)
    op = QMul(**points, rescale=rescale, zero_point=make.zero_point(), **make.clamp())
    return make.finish(op, *operands)


@strategy(QDiv)
def div(make: Maker) -> Case:
    """Quotients; some divisors are zeros."""
    points, operands = _operands(make)
    rescale = Rescale.of(make.pick(1.0, 37.3, 0.5, 2.0**-20, 2.0**20))
    op = QDiv(**points, rescale=rescale, zero_point=make.zero_point(), **make.clamp())
    return make.finish(op, *operands)


@strategy(QRequantize)
def requantize(make: Maker) -> Case:
    """Changes of scale."""
    x_zero_point = make.zero_point()
    op = QRequantize(
        x_zero_point=x_zero_point,
        rescale=make.rescale(255),
        zero_point=make.zero_point(),
        **make.clamp(),
    )
    return make.finish(op, make.input(make.shape(), zero_point=x_zero_point))


@strategy(QConvert)
def convert(make: Maker) -> Case:
    """Chains from int8 by way of uint8 or int16 back to int8, some by way of both."""
    types = [make.pick(DType.U8, DType.I16) for _ in range(make.integer(1, 2))]
    zero_point = make.zero_point()
    value = make.input(make.shape(), zero_point=zero_point)
    bound = 255
    for dtype in (*types, DType.I8):
        low, high = CODE_RANGE[dtype]
        following = make.pick(low, 0, high, make.integer(low, high))
        op = QConvert(
            x_zero_point=zero_point,
            rescale=make.pick(make.rescale(bound), Rescale.of(1.0)),
            zero_point=following,
            dtype=dtype,
        )
        if dtype is DType.I8:
            return make.finish(op, value)
        value = make.graph.apply(op, value)
        zero_point, bound = following, 2 * (high - low)
    raise AssertionError("the chain ends with int8")


@strategy(QClamp)
def clamp(make: Maker) -> Case:
    """Clamps, most often of both sides."""
    low, high = sorted((make.integer(-128, 127), make.integer(-128, 127)))
    low, high = make.pick((low, high), (low, high), (low, 127), (-128, high), (-128, 127))
    return make.finish(QClamp(low=low, high=high), make.input(make.shape()))


@strategy(QTable)
def table(make: Maker) -> Case:
    """Tables of any content."""
    entries = make.pick(np.arange(-128, 128), np.arange(127, -129, -1), make.codes((256,)))
    op = QTable(table=tuple(int(e) for e in entries), function=make.pick("", "sigmoid"))
    return make.finish(op, make.input(make.shape()))
