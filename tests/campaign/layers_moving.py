"""Random layers that move codes: other shapes, parts, joins and padding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from campaign.layers import layer, quantized, ranks

if TYPE_CHECKING:
    from campaign.draft import Draft, Shape, Tensor


def _axis(draft: Draft, axis: int, rank: int) -> int:
    """Return an axis, sometimes counted from behind."""
    return axis - rank if draft.chance(0.3) else axis


# Other shapes of the same elements.


def _factored(draft: Draft, size: int, rank: int) -> Shape:
    """Return a random shape of ``size`` elements."""
    sizes = [1] * rank
    rest = size
    for prime in (2, 3, 5, 7, 11, 13, 17, 19, 31):
        while rest % prime == 0:
            sizes[draft.integer(0, rank - 1)] *= prime
            rest //= prime
    sizes[draft.integer(0, rank - 1)] *= rest
    return tuple(sizes)


@layer(weight=1.0)
def _reshape(draft: Draft, x: Tensor) -> bool:
    """Append RESHAPE; the shape comes as a constant, as an option, or with -1 in it."""
    size, rank = math.prod(x.shape), draft.pick([4, 4, 4, 4, 3, 2, 2, 1, 5])
    shape = () if size == 1 and draft.chance(0.3) else _factored(draft, size, rank)
    wanted = list(shape)
    if shape and draft.chance(0.3):
        wanted[draft.integer(0, len(wanted) - 1)] = -1
    if wanted and draft.chance(0.8):
        draft.apply("RESHAPE", [x, draft.integers(wanted)], shape, x.codes)
    else:
        draft.apply("RESHAPE", [x], shape, x.codes, newShape=np.array(wanted, np.int32))
    return True


@layer(weight=0.7, ranks=ranks(2, 5))
def _reshape_by_shape(draft: Draft, x: Tensor) -> bool:
    """Append what converters write to flatten: SHAPE, STRIDED_SLICE, PACK, RESHAPE."""
    shape = draft.apply_numbers("SHAPE", [x], (x.rank,), outType=2)
    bounds = [draft.integers([n]) for n in (0, 1, 1)]
    batch = draft.apply_numbers("STRIDED_SLICE", [shape, *bounds], (), shrinkAxisMask=1)
    operands = [batch, draft.integers(-1)]
    wanted = draft.apply_numbers("PACK", operands, (2,), axis=0, valuesCount=2)
    result = (x.shape[0], math.prod(x.shape[1:]))
    draft.apply("RESHAPE", [x, wanted], result, x.codes)
    return True


@layer(weight=1.0, ranks=ranks(1, 5))
def _squeeze(draft: Draft, x: Tensor) -> bool:
    """Append SQUEEZE of all or of some dimensions of 1."""
    ones = [a for a, n in enumerate(x.shape) if n == 1]
    if not ones:
        return False
    given: list[int] = []
    if draft.chance(0.6):
        ones = [a for a in ones if draft.chance(0.6)] or ones[:1]
        given = [_axis(draft, a, x.rank) for a in ones]
    shape = [n for a, n in enumerate(x.shape) if a not in ones]
    draft.apply("SQUEEZE", [x], shape, x.codes, squeezeDims=np.array(given, np.int32))
    return True


@layer(weight=1.0, ranks=ranks(0, 4))
def _expand_dims(draft: Draft, x: Tensor) -> bool:
    """Append EXPAND_DIMS."""
    axis = draft.integer(0, x.rank)
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    operand = draft.integers([_axis(draft, axis, x.rank + 1)])
    draft.apply("EXPAND_DIMS", [x, operand], shape, x.codes)
    return True


@layer(weight=1.0, ranks=ranks(2, 5))
def _transpose(draft: Draft, x: Tensor) -> bool:
    """Append TRANSPOSE."""
    axes = [int(a) for a in draft.random.permutation(x.rank)]
    operand = draft.integers(axes)
    draft.apply("TRANSPOSE", [x, operand], [x.shape[a] for a in axes], x.codes)
    return True


# Joins.


def _replaced(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _sliced(draft: Draft, x: Tensor, axis: int) -> Tensor:
    """Append SLICE of some indices along an axis."""
    start = draft.integer(0, x.shape[axis] - 1)
    size = draft.integer(1, x.shape[axis] - start)
    begin, shape = _replaced((0,) * x.rank, axis, start), _replaced(x.shape, axis, size)
    to_the_end = start + size == x.shape[axis] and draft.chance(0.5)
    sizes = _replaced(shape, axis, -1) if to_the_end else shape
    operands = [x, draft.integers(begin), draft.integers(sizes)]
    return draft.apply("SLICE", operands, shape, x.codes)


def _branch(draft: Draft, x: Tensor, axis: int) -> Tensor:
    """Return a value that differs from ``x`` in its codes and its size along ``axis`` at most."""
    kind = draft.integer(0, 4)
    if kind == 0:
        return _sliced(draft, x, axis)
    if kind == 1:
        return draft.apply("RELU", [x], x.shape, x.codes)
    if kind == 2:
        return draft.constant(_replaced(x.shape, axis, draft.integer(1, 3)), x.codes)
    others = [v for v in draft.values if v.rank == x.rank]
    return draft.pick([v for v in others if _replaced(v.shape, axis, x.shape[axis]) == x.shape])


@layer(weight=3.0, ranks=ranks(1, 5))
def _concatenation(draft: Draft, x: Tensor) -> bool:
    """Append CONCATENATION of branches and constants in any order."""
    axis = draft.integer(0, x.rank - 1)
    parts = [x, *(_branch(draft, x, axis) for _ in range(draft.integer(0, 3)))]
    size = sum(p.shape[axis] for p in parts)
    shape = _replaced(x.shape, axis, size)
    if not draft.fits(shape):
        return False
    parts = [quantized(draft, p, x.codes) for p in parts]
    ordered = [parts[i] for i in draft.random.permutation(len(parts))]
    draft.apply("CONCATENATION", ordered, shape, x.codes, axis=_axis(draft, axis, x.rank))
    return True


@layer(weight=1.0, ranks=ranks(0, 4))
def _pack(draft: Draft, x: Tensor) -> bool:
    """Append PACK of values and constants of one shape."""
    count = draft.integer(1, 3)
    axis = draft.integer(0, x.rank)
    shape = (*x.shape[:axis], count, *x.shape[axis:])
    if not draft.fits(shape):
        return False
    parts = [x]
    for _ in range(count - 1):
        equal = draft.pick([v for v in draft.values if v.shape == x.shape])
        parts.append(draft.constant(x.shape, x.codes) if draft.chance(0.3) else equal)
    parts = [quantized(draft, p, x.codes) for p in parts]
    ordered = [parts[i] for i in draft.random.permutation(count)]
    given = _axis(draft, axis, x.rank + 1)
    draft.apply("PACK", ordered, shape, x.codes, axis=given, valuesCount=count)
    return True


@layer(weight=2.0, ranks=ranks(1, 5))
def _pad(draft: Draft, x: Tensor) -> bool:
    """Append PAD or PADV2."""
    widths = np.array([[draft.pick([0, 0, 1, 2]) for _ in "ab"] for _ in x.shape], np.int32)
    shape = tuple(n + int(b + a) for n, (b, a) in zip(x.shape, widths, strict=True))
    if not draft.fits(shape):
        return False
    operands: list[Tensor | int] = [x, draft.model.constant(widths)]
    kind = draft.pick(["PAD", "PADV2"])
    if kind == "PADV2":
        operands.append(draft.constant((1,), x.codes))
    draft.apply(kind, operands, shape, x.codes)
    return True


# Parts.


@layer(weight=1.0, ranks=ranks(1, 5))
def _slice(draft: Draft, x: Tensor) -> bool:
    """Append SLICE along one axis."""
    _sliced(draft, x, draft.integer(0, x.rank - 1))
    return True


@layer(weight=1.2, ranks=ranks(1, 4))
def _strided_slice(draft: Draft, x: Tensor) -> bool:
    """Append STRIDED_SLICE; bounds from both ends, masked, too far, or with the axis removed."""
    bounds: list[tuple[int, int, int]] = []
    shape: list[int] = []
    masks = {"beginMask": 0, "endMask": 0, "shrinkAxisMask": 0}
    for axis, n in enumerate(x.shape):
        first, step = draft.integer(0, n - 1), draft.pick([1, 1, 1, 2, 3])
        last = draft.integer(first + 1, n)
        kind = draft.integer(0, 5)
        if kind == 0 and (shape or axis < x.rank - 1):
            masks["shrinkAxisMask"] |= 1 << axis
            bounds.append((_axis(draft, first, n), first + 1, 1))
            continue
        if kind == 1:
            masks["beginMask"] |= 1 << axis
            first = 0
        if kind == 2:
            masks["endMask"] |= 1 << axis
            last = n
        shape.append(-(-(last - first) // step))
        beyond = last + draft.pick([0, 0, 7]) if last == n else _axis(draft, last, n)
        bounds.append((_axis(draft, first, n), beyond, step))
    operands = [x, *(draft.integers(column) for column in zip(*bounds, strict=True))]
    draft.apply("STRIDED_SLICE", operands, shape, x.codes, **masks)
    return True


@layer(weight=0.8, ranks=ranks(1, 5))
def _split(draft: Draft, x: Tensor) -> bool:
    """Append SPLIT into equal parts."""
    axis = draft.integer(0, x.rank - 1)
    count = draft.pick([n for n in range(1, 5) if x.shape[axis] % n == 0])
    shapes = [_replaced(x.shape, axis, x.shape[axis] // count)] * count
    operands = [draft.integers([_axis(draft, axis, x.rank)]), x]
    draft.apply_several("SPLIT", operands, shapes, x.codes, numSplits=count)
    return True


@layer(weight=0.8, ranks=ranks(1, 5))
def _split_v(draft: Draft, x: Tensor) -> bool:
    """Append SPLIT_V into unequal parts; one size may be -1."""
    axis = draft.integer(0, x.rank - 1)
    size, sizes = x.shape[axis], []
    while size:
        sizes.append(size if len(sizes) == 3 else draft.integer(1, size))
        size -= sizes[-1]
    shapes = [_replaced(x.shape, axis, n) for n in sizes]
    given = list(sizes)
    if draft.chance(0.3):
        given[draft.integer(0, len(given) - 1)] = -1
    operands = [x, draft.integers(given), draft.integers([_axis(draft, axis, x.rank)])]
    draft.apply_several("SPLIT_V", operands, shapes, x.codes, numSplits=len(sizes))
    return True


@layer(weight=1.0, ranks=ranks(1, 5))
def _unpack(draft: Draft, x: Tensor) -> bool:
    """Append UNPACK along an axis of a few indices."""
    axes = [a for a, n in enumerate(x.shape) if n <= 4]
    if not axes:
        return False
    axis = draft.pick(axes)
    shape = [n for a, n in enumerate(x.shape) if a != axis]
    count = x.shape[axis]
    given = _axis(draft, axis, x.rank)
    draft.apply_several("UNPACK", [x], [shape] * count, x.codes, axis=given, num=count)
    return True
