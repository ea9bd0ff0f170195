"""Layers whose weights, counted from their zero point, do not fit int8.

uint8 weights with a zero point of 100 are -100 to 155 steps from it. Such a weight is a sum of
int8 weights, and ``x * (v + w)`` is ``x * v + x * w``: the layer reads the channels with wide
weights again, with the rest of each weight. The accumulators are the same, so that results are too.
Only the extreme weights of a tensor are wide, in few channels
(docs/design/0024-weights-of-nine-bits.md).

Tests: tests/unit/frontends/tflite/test_uint8_layers.py
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.tflite.ops import moves
from rlx.ops.q import QConcat, QReshape

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from rlx.frontends.tflite.ops.call import Call
    from rlx.ir import Value
    from rlx.ops.q import QConv2d

    Weights = npt.NDArray[np.int16]
    Narrow = npt.NDArray[np.int8]
    from rlx.frontends.tflite.ops.parts import Bias

_MAX_RUNS = 32
"""Runs of channels that a layer reads apart from others."""


def finish_wide(call: Call, op: QConv2d, x: Value, array: Weights, bias: Bias) -> None:
    """Append a convolution with weights OHWI of 9 bits, which makes the output.

    Groups with wide weights are convolutions of their own.
    """
    if op.groups == 1:
        x, narrow = widened(call, x, array)
        call.finish(op, x, *wide_constants(call, narrow, bias))
        return
    inputs, outputs = array.shape[-1], len(array) // op.groups
    parts = []
    wide = np.any(array != array.astype(np.int8), axis=(1, 2, 3)).reshape(op.groups, -1).any(axis=1)
    for start, stop in _runs(wide, whole=True):
        rows = slice(start * outputs, stop * outputs)
        image = _channels(call, x, start * inputs, stop * inputs)
        image, narrow = _widened_groups(call, image, array[rows], stop - start)
        part = replace(op, groups=stop - start)
        parts.append((part, image, *wide_constants(call, narrow, bias[rows])))
    if len(parts) == 1:
        call.finish(*parts[0])
        return
    results = [call.emit(*part, quant=call.result_quant) for part in parts]
    call.finish(QConcat(axis=-1), *results)


def wide_constants(call: Call, array: Narrow, bias: Bias) -> tuple[Value, Value]:
    """Append the operands of a layer: int8 weights and a bias."""
    graph, origin = call.scope.graph, call.origin
    return graph.constant(array, origin=origin), graph.constant(bias, origin=origin)


def widened(call: Call, x: Value, array: Weights) -> tuple[Value, Narrow]:
    """Return an input that repeats channels, and int8 weights for all its channels."""
    parts, values = [*_parts(array)], [x]
    arrays = [parts[0]]
    for part in parts[1:]:
        for start, stop in _runs(np.any(part, axis=tuple(range(part.ndim - 1)))):
            values.append(_channels(call, x, start, stop))
            arrays.append(part[..., start:stop])
    return call.emit(QConcat(axis=-1), *values), np.concatenate(arrays, axis=-1)


def _widened_groups(call: Call, x: Value, array: Weights, groups: int) -> tuple[Value, Narrow]:
    """Return the same for a convolution of groups, which are all wide or all narrow."""
    parts = [*_parts(array)]
    if groups == 1 and len(parts) > 1:
        return widened(call, x, array)
    if len(parts) > 1:
        shape = x.type.static_shape
        split = call.emit(QReshape(shape=(*shape[:-1], groups, shape[-1] // groups)), x)
        repeated = call.emit(QConcat(axis=-1), *[split] * len(parts))
        x = call.emit(QReshape(shape=(*shape[:-1], shape[-1] * len(parts))), repeated)
    return x, np.concatenate(parts, axis=-1)


def _parts(array: Weights) -> Iterator[Narrow]:
    """Yield int8 arrays whose sum is ``array``."""
    rest = array
    while True:
        part = np.clip(rest, -128, 127)
        yield part.astype(np.int8)
        rest = rest - part
        if not rest.any():
            return


def _runs(marks: npt.ArrayLike, *, whole: bool = False) -> list[tuple[int, int]]:
    """Return the ends of runs of true marks, with ``whole`` also those of false ones.

    If there are many, they become one run.
    """
    flags = np.asarray(marks, np.bool_)
    ends = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), len(flags)]
    runs = [(a, b) for a, b in pairwise(ends) if whole or flags[a]]
    return runs if len(runs) <= _MAX_RUNS else [(runs[0][0], runs[-1][1])]


def _channels(call: Call, x: Value, start: int, stop: int) -> Value:
    """Return channels of an input."""
    shape = x.type.static_shape
    if (start, stop) == (0, shape[-1]):
        return x
    first = (*(0 for _ in shape[:-1]), start)
    return call.emit(moves.part(call, first, (*shape[:-1], stop)), x)
