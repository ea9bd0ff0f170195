"""Shared code of the cases of real and model-level ops: numbers of every element type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Array, DType, TensorType
from rlx.ops.nn import Layout
from rlx.ops.real import SpatialWindow
from strategies.case import Case

if TYPE_CHECKING:
    from rlx.ir import Op, Value
    from strategies.case import Maker

FLOATS = (DType.F32, DType.F64, DType.F16, DType.BF16, DType.F8E4M3, DType.F8E5M2)
INTEGERS = (DType.I32, DType.I8, DType.I64, DType.I16, DType.U8, DType.U32, DType.U16,
            DType.U64)  # fmt: skip


def float_type(make: Maker) -> DType:
    """Return a floating-point type, most often f32."""
    return make.pick(DType.F32, DType.F32, *FLOATS)


def number_type(make: Maker) -> DType:
    """Return any type of numbers, most often f32."""
    return make.pick(DType.F32, DType.F32, *FLOATS, *INTEGERS)


def numbers(make: Maker, shape: tuple[int, ...], dtype: DType = DType.F32) -> Array:
    """Return numbers of both signs near 1, zeros and integers among them."""
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    if dtype is DType.BOOL:
        return np.asarray(generator.integers(0, 2, shape), np.bool_)
    reals = generator.standard_normal(shape) * 2.0
    if dtype.is_integer:
        whole = (reals * 20).astype(np.int64)
        return np.asarray(np.abs(whole) if dtype.value[0] == "u" else whole, dtype.numpy)
    mixed = np.where(generator.random(shape) < 0.2, np.rint(reals), reals)
    return np.asarray(mixed, dtype.numpy)


def operand(make: Maker, shape: tuple[int, ...], dtype: DType = DType.F32) -> Value:
    """Append an input of numbers; the name is the next letter."""
    return given(make, numbers(make, shape, dtype))


def given(make: Maker, array: Array) -> Value:
    """Append an input with this value, or a constant in its place."""
    if make.inputs and make.pick(False, False, True):
        return make.graph.constant(array)
    name = "xyzuvwabc"[len(make.inputs)]
    make.inputs[name] = array
    return make.graph.input(name, TensorType(array.shape, DType.of(array)))


def indices(make: Maker, shape: tuple[int, ...], size: int) -> Value:
    """Append an input of places in an axis of ``size``, some counted from the end."""
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    dtype = make.pick(np.int32, np.int64)
    return given(make, np.asarray(generator.integers(-size, size, shape), dtype))


def finish(make: Maker, op: Op, *operands: Value) -> Case:
    """Append ``op`` with all its results as outputs and return the case."""
    node = make.graph.append(op, *operands, name="op")
    make.graph.output(*node.results, names=[f"result{i}" for i in range(len(node.types))])
    return Case(make.graph, make.inputs)


def axes_of(make: Maker, rank: int) -> tuple[int, ...]:
    """Return some distinct axes, positive or negative, at least one."""
    chosen = [a for a in range(rank) if make.pick(True, False)] or [make.integer(0, rank - 1)]
    return tuple(a - rank if make.pick(False, True) else a for a in chosen)


def broadcast_pair(make: Maker) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two shapes that broadcast."""
    shape = make.shape()
    other = tuple(make.pick(n, n, 1) for n in shape)[make.integer(0, len(shape) - 1) :]
    return (shape, other) if make.pick(True, False) else (other, shape)


def order_of(make: Maker, rank: int) -> tuple[int, ...]:
    """Return a permutation of axes."""
    generator = np.random.default_rng(make.integer(0, 2**16 - 1))
    return tuple(int(a) for a in generator.permutation(rank))


def windows(
    make: Maker, rank: int, *, pads_below_kernel: bool = False
) -> tuple[SpatialWindow, tuple[int, ...]]:
    """Return a window for images of ``rank`` spatial axes, and the least size it needs."""
    kernel = tuple(make.integer(1, 3) for _ in range(rank))
    dilation = tuple(make.pick(1, 1, 2) for _ in range(rank))
    extent = SpatialWindow(kernel, dilation=dilation).extent
    most = [e - 1 if pads_below_kernel else 2 for e in extent]
    window = SpatialWindow(
        kernel,
        tuple(make.integer(1, 2) for _ in range(rank)),
        dilation,
        tuple((make.integer(0, m), make.integer(0, m)) for m in most),
    )
    return window, extent


def image_of(make: Maker, extent: tuple[int, ...], channels: int) -> tuple[int, ...]:
    """Return a shape [N, spatial..., C] that a window of ``extent`` fits."""
    sizes = (e + make.integer(0, 3) for e in extent)
    return (make.integer(1, 2), *sizes, channels)


def in_layout(shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Return a channels-last shape in another layout."""
    return shape if layout is Layout.CHANNELS_LAST else (shape[0], shape[-1], *shape[1:-1])
