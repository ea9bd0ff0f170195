"""Cases of ops on reals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, QuantParams
from rlx.ops import real
from rlx.ops.real.binary import RealBinary, RealBits
from rlx.ops.real.cast import integer_range
from rlx.ops.real.reduce import RealReduce
from rlx.ops.real.unary import RealUnary
from strategies.reals import (
    INTEGERS,
    axes_of,
    broadcast_pair,
    finish,
    float_type,
    given,
    image_of,
    indices,
    number_type,
    operand,
    order_of,
    windows,
)
from strategies.table import strategy

if TYPE_CHECKING:
    from rlx.ir import Op
    from strategies.case import Case, Maker


def _unary(op: type[RealUnary]) -> None:
    @strategy(op)
    def build(make: Maker) -> Case:
        dtype = number_type(make) if op.takes_integers else float_type(make)
        return finish(make, op(), operand(make, make.shape(), dtype))


def _binary(op: type[RealBinary]) -> None:
    @strategy(op)
    def build(make: Maker) -> Case:
        dtype = make.pick(*INTEGERS) if issubclass(op, RealBits) else number_type(make)
        first, second = broadcast_pair(make)
        return finish(make, op(), operand(make, first, dtype), operand(make, second, dtype))


def _reduce(op: type[RealReduce]) -> None:
    @strategy(op)
    def build(make: Maker) -> Case:
        dtype = float_type(make) if op is real.RealReduceMean else number_type(make)
        shape = make.shape()
        attributes = {"axes": axes_of(make, len(shape)), "keep_dims": make.pick(False, True)}
        return finish(make, op(**attributes), operand(make, shape, dtype))


for _op in real.REAL_OPS:
    if issubclass(_op, RealUnary):
        _unary(_op)
    elif issubclass(_op, RealBinary):
        _binary(_op)
    elif issubclass(_op, RealReduce):
        _reduce(_op)


@strategy(real.RealCompare)
def compare(make: Maker) -> Case:
    dtype = make.pick(DType.F32, DType.I32, DType.BOOL, DType.F16)
    first, second = broadcast_pair(make)
    op = real.RealCompare(relation=make.pick(*real.Comparison))
    return finish(make, op, operand(make, first, dtype), operand(make, second, dtype))


@strategy(real.RealWhere)
def where(make: Maker) -> Case:
    dtype = make.pick(DType.F32, DType.I32, DType.BOOL, DType.BF16)
    first, second = broadcast_pair(make)
    condition = operand(make, first, DType.BOOL)
    return finish(
        make, real.RealWhere(), condition, operand(make, first, dtype), operand(make, second, dtype)
    )


@strategy(real.RealCast)
def cast(make: Maker) -> Case:
    types = (*(d for d in DType if d is not DType.C64),)
    source = make.pick(*(d for d in types if d not in (DType.I4, DType.I2)))
    return finish(make, real.RealCast(dtype=make.pick(*types)), operand(make, make.shape(), source))


@strategy(real.RealBitcast)
def bitcast(make: Maker) -> Case:
    types = [d for d in DType if d not in (DType.BOOL, DType.C64) and d.bits >= 8]
    source = make.pick(*types)
    target = make.pick(*(d for d in types if d.bits == source.bits))
    x = operand(make, make.shape(), source)
    return finish(make, real.RealBitcast(dtype=target), x)


@strategy(real.RealMatmul)
def matmul(make: Maker) -> Case:
    dtype = number_type(make)
    first, second = broadcast_pair(make)
    rows, inner, columns = (make.integer(1, 5) for _ in range(3))
    x, y = (make.pick((), shape) for shape in (first[:2], second[: len(first[:2])]))
    if len(x) != len(y) or any(a != b and 1 not in (a, b) for a, b in zip(x, y, strict=True)):
        y = ()
    return finish(
        make, real.RealMatmul(),
        operand(make, (*x, rows, inner), dtype), operand(make, (*y, inner, columns), dtype),
    )  # fmt: skip


@strategy(real.RealConv)
def conv(make: Maker) -> Case:
    dtype = number_type(make)
    window, extent = windows(make, make.pick(2, 1, 2, 3))
    groups, inner, multiplier = make.integer(1, 3), make.pick(1, 2, 17), make.integer(1, 2)
    return finish(
        make,
        real.RealConv(window=window, groups=groups),
        operand(make, image_of(make, extent, groups * inner), dtype),
        operand(make, (groups * multiplier, *window.kernel, inner), dtype),
    )


@strategy(real.RealMaxPool)
def max_pool(make: Maker) -> Case:
    window, extent = windows(make, make.pick(2, 1, 3), pads_below_kernel=True)
    shape = image_of(make, extent, make.integer(1, 3))
    return finish(make, real.RealMaxPool(window=window), operand(make, shape, number_type(make)))


@strategy(real.RealAveragePool)
def average_pool(make: Maker) -> Case:
    window, extent = windows(make, make.pick(2, 1, 3), pads_below_kernel=True)
    op = real.RealAveragePool(window=window, count_padding=make.pick(False, True))
    shape = image_of(make, extent, make.integer(1, 3))
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(real.RealArgmax)
def argmax(make: Maker) -> Case:
    return _choice(make, real.RealArgmax)


@strategy(real.RealArgmin)
def argmin(make: Maker) -> Case:
    return _choice(make, real.RealArgmin)


def _choice(make: Maker, kind: type) -> Case:
    shape = make.shape()
    (axis, *_) = axes_of(make, len(shape))
    op = kind(axis=axis, last=make.pick(False, True))
    return finish(make, op, operand(make, shape, number_type(make)))


@strategy(real.RealCumsum)
def cumsum(make: Maker) -> Case:
    return _scan(make, real.RealCumsum)


@strategy(real.RealCumprod)
def cumprod(make: Maker) -> Case:
    return _scan(make, real.RealCumprod)


def _scan(make: Maker, kind: type) -> Case:
    shape = make.shape()
    (axis, *_) = axes_of(make, len(shape))
    op = kind(axis=axis, exclusive=make.pick(False, True))
    return finish(make, op, operand(make, shape, number_type(make)))


def _random(op: type[Op]) -> None:
    @strategy(op)
    def build(make: Maker) -> Case:
        generator = np.random.default_rng(make.integer(0, 2**16 - 1))
        key, counter = (given(make, generator.integers(0, 2**32, n, np.uint32)) for n in (2, 4))
        return finish(make, op(shape=make.shape()), key, counter)


for _op in (real.RealRandomBits, real.RealRandomNormal, real.RealRandomUniform):
    _random(_op)


@strategy(real.RealTopK)
def top_k(make: Maker) -> Case:
    shape = make.shape()
    (axis, *_) = axes_of(make, len(shape))
    count = make.integer(1, shape[axis])
    op = real.RealTopK(count=count, axis=axis, smallest=make.pick(False, True))
    return finish(make, op, operand(make, shape, number_type(make)))


@strategy(real.RealGather)
def gather(make: Maker) -> Case:
    shape = make.shape()
    (axis, *_) = axes_of(make, len(shape))
    x = operand(make, shape, number_type(make))
    where_to = tuple(make.integer(1, 3) for _ in range(make.integer(0, 2)))
    return finish(make, real.RealGather(axis=axis), x, indices(make, where_to, shape[axis]))


@strategy(real.RealTakeAlong)
def take_along(make: Maker) -> Case:
    shape = list(make.shape())
    (axis, *_) = axes_of(make, len(shape))
    x = operand(make, tuple(shape), number_type(make))
    size = shape[axis]
    shape[axis] = make.integer(1, 4)
    return finish(make, real.RealTakeAlong(axis=axis), x, indices(make, tuple(shape), size))


@strategy(real.RealScatter)
def scatter(make: Maker) -> Case:
    shape = make.shape()
    (axis, *_) = axes_of(make, len(shape))
    dtype = number_type(make)
    places = tuple(make.integer(1, 3) for _ in range(make.integer(0, 2)))
    front = axis % len(shape)
    updates = (*shape[:front], *places, *shape[front + 1 :])
    op = real.RealScatter(axis=axis, merge=make.pick(*real.Scatter))
    return finish(
        make, op, operand(make, shape, dtype),
        indices(make, places, shape[axis]), operand(make, updates, dtype),
    )  # fmt: skip


@strategy(real.RealReshape)
def reshape(make: Maker) -> Case:
    shape = make.shape()
    size = int(np.prod(shape))
    wanted = make.pick((size,), (1, size), (*shape[::-1],), (*shape, 1))
    x = operand(make, shape, make.pick(DType.F32, DType.BOOL, *INTEGERS))
    return finish(make, real.RealReshape(shape=wanted), x)


@strategy(real.RealTranspose)
def transpose(make: Maker) -> Case:
    shape = make.shape()
    op = real.RealTranspose(axes=order_of(make, len(shape)))
    return finish(make, op, operand(make, shape, number_type(make)))


@strategy(real.RealBroadcastTo)
def broadcast_to(make: Maker) -> Case:
    whole, part = sorted(broadcast_pair(make), key=lambda s: (len(s), int(np.prod(s))))[::-1]
    wanted = np.broadcast_shapes(whole, part)
    return finish(make, real.RealBroadcastTo(shape=wanted), operand(make, part, number_type(make)))


@strategy(real.RealSlice)
def slice_(make: Maker) -> Case:
    shape = make.shape()
    start = tuple(make.integer(0, n - 1) for n in shape)
    stop = tuple(make.pick(None, make.integer(s, n)) for s, n in zip(start, shape, strict=True))
    step = tuple(make.integer(1, 3) for _ in shape)
    op = real.RealSlice(start=start, stop=stop, step=step)
    return finish(make, op, operand(make, shape, number_type(make)))


@strategy(real.RealConcat)
def concat(make: Maker) -> Case:
    shape = make.shape()
    (axis, *_) = axes_of(make, len(shape))
    dtype = number_type(make)
    parts = []
    for _ in range(make.integer(1, 3)):
        part = list(shape)
        part[axis] = make.integer(1, 3)
        parts.append(operand(make, tuple(part), dtype))
    return finish(make, real.RealConcat(axis=axis), *parts)


@strategy(real.RealPad)
def pad(make: Maker) -> Case:
    shape = make.shape()
    before, after = (tuple(make.integer(0, 2) for _ in shape) for _ in range(2))
    interior = make.pick((), tuple(make.integer(0, 2) for _ in shape))
    op = real.RealPad(before=before, after=after, interior=interior, value=make.pick(0.0, 3.0))
    return finish(make, op, operand(make, shape, number_type(make)))


@strategy(real.RealReverse)
def reverse(make: Maker) -> Case:
    shape = make.shape()
    op = real.RealReverse(axes=axes_of(make, len(shape)))
    return finish(make, op, operand(make, shape, number_type(make)))


def _params(make: Maker, shape: tuple[int, ...], dtype: DType) -> QuantParams:
    """Return parameters for the tensor, or for each index of an axis."""
    axis = make.pick(None, *range(len(shape)))
    count = 1 if axis is None else shape[axis]
    low, _ = integer_range(dtype)
    scales = tuple(2.0 ** make.integer(-6, 1) * make.pick(1.0, 0.7) for _ in range(count))
    return QuantParams(scales, tuple(make.integer(max(low, -9), 1) for _ in range(count))
                       if low else (make.integer(0, 255),) * count, axis)  # fmt: skip


@strategy(real.RealQuantize)
def quantize(make: Maker) -> Case:
    shape = make.shape()
    dtype = make.pick(DType.I8, DType.U8, DType.I16, DType.I4, DType.I2, DType.I32)
    op = real.RealQuantize(
        quant=_params(make, shape, dtype), dtype=dtype, ties=make.pick(*real.Ties)
    )
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(real.RealDequantize)
def dequantize(make: Maker) -> Case:
    shape = make.shape()
    dtype = make.pick(DType.I8, DType.U8, DType.I16, DType.I32)
    op = real.RealDequantize(quant=_params(make, shape, dtype))
    return finish(make, op, operand(make, shape, dtype))
