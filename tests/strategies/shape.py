"""Cases of ops that move codes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from rlx.ops.q import QConcat, QPad, QReshape, QSlice, QTranspose
from strategies.table import strategy

if TYPE_CHECKING:
    from strategies.case import Case, Maker


@strategy(QReshape)
def reshape(make: Maker) -> Case:
    """The batch stays; the rest is flattened, reversed or split by single dimensions."""
    first, *rest = make.shape(2, 4)
    shapes = ((math.prod(rest),), tuple(reversed(rest)), (*rest, 1), (1, *rest))
    op = QReshape(shape=(first, *make.pick(*shapes)))
    return make.finish(op, make.input((first, *rest)))


@strategy(QConcat)
def concat(make: Maker) -> Case:
    """One to three tensors, some of them constants; any axis but that of the batch."""
    shape = make.shape(2, 4)
    axis = make.pick(len(shape) - 1, make.integer(1, len(shape) - 1))
    sizes = [make.integer(1, make.knobs.size + 1) for _ in range(make.integer(1, 3))]
    shapes = [(*shape[:axis], n, *shape[axis + 1 :]) for n in sizes]
    known = make.pick(0, 0, *range(1 << (len(sizes) - 1))) << make.pick(0, 1)
    values = [
        make.graph.constant(make.codes(s)) if known >> i & 1 else make.input(s, name=f"x{i}")
        for i, s in enumerate(shapes)
    ]
    return make.finish(QConcat(axis=make.pick(axis, axis - len(shape))), *values)


@strategy(QTranspose)
def transpose(make: Maker) -> Case:
    """Any order of the axes behind the batch."""
    shape = make.shape(2, 4)
    axes = make.draw(st.permutations(range(1, len(shape))))
    return make.finish(QTranspose(axes=(0, *axes)), make.input(shape))


@strategy(QSlice)
def slice_(make: Maker) -> Case:
    """Parts, often with steps, of every axis but that of the batch."""
    first, *rest = make.shape(2, 4)
    parts = [(0, first, 1)]
    for n in rest:
        start = make.integer(0, n - 1)
        parts.append((start, make.integer(start + 1, n), make.integer(1, 3)))
    start, stop, step = zip(*parts, strict=True)
    return make.finish(QSlice(start=start, stop=stop, step=step), make.input((first, *rest)))


@strategy(QPad)
def pad(make: Maker) -> Case:
    """Codes added around every axis but that of the batch."""
    shape = make.shape(2, 4)
    before = (0, *(make.integer(0, 3) for _ in shape[1:]))
    after = (0, *(make.integer(0, 3) for _ in shape[1:]))
    value = make.zero_point()
    return make.finish(QPad(before=before, after=after, value=value), make.input(shape))
