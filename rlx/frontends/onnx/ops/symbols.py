"""Integers that are known but for symbols: arithmetic on shapes that the file leaves open.

Tests: tests/unit/frontends/test_open_shapes.py
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.elements import DTYPES
from rlx.frontends.onnx.ops.registry import symbolic
from rlx.frontends.onnx.ops.scope import Real
from rlx.frontends.onnx.ops.shape import axes_of, unsqueezed
from rlx.ir.dims import minimum, product, quotient

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Symbolic
    from rlx.ir import Dim


def _array(call: Call, index: int) -> Symbolic:
    """Return an operand, which is known, with elements of int and Dim."""
    operand = call.operand(index)
    array: Any = operand.array if isinstance(operand, Real) else operand
    return np.asarray(array.astype(object), object)


def _divided(x: int | Dim, y: int | Dim) -> int | Dim:
    if isinstance(x, int) and isinstance(y, int):
        return int(x / y) if y else 0
    found = quotient(x, y)
    if found is None:
        raise ValueError(f"{x} is not a multiple of {y} for every size")
    return found


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _divided,
}


@symbolic(*_BINARY)
def fold_binary(call: Call) -> Symbolic:
    """Compute sums, differences, products and quotients."""
    function = np.frompyfunc(_BINARY[call.node.type], 2, 1)
    return np.asarray(function(_array(call, 0), _array(call, 1)), object)


@symbolic("Equal")
def fold_equal(call: Call) -> npt.NDArray[np.bool_] | None:
    """Compare, where that is the same for every size."""
    pairs = np.broadcast(_array(call, 0), _array(call, 1))
    found = [_is_zero(x - y) for x, y in pairs]
    if None in found:
        return None
    return np.array(found, np.bool_).reshape(pairs.shape)


def _is_zero(difference: int | Dim) -> bool | None:
    """Whether a difference is 0; None if that depends on its symbols."""
    if isinstance(difference, int):
        return difference == 0
    for side in (difference, -difference):
        lowest = minimum(side)
        if lowest is not None and lowest > 0:
            return False
    return None


@symbolic("Where")
def fold_where(call: Call) -> Symbolic | None:
    """Choose by a known condition."""
    condition = call.known(0)
    if condition is None:
        return None
    return np.asarray(np.where(condition, _array(call, 1), _array(call, 2)), object)


@symbolic("Identity")
def fold_identity(call: Call) -> Symbolic:
    """Pass on."""
    return _array(call, 0)


@symbolic("Cast")
def fold_cast(call: Call) -> Symbolic | None:
    """Pass on integers as integers."""
    dtype = DTYPES.get(call.integer("to"))
    return _array(call, 0) if dtype is not None and dtype.is_integer else None


@symbolic("Gather")
def fold_gather(call: Call) -> Symbolic:
    """Pick elements along an axis."""
    indices = call.array(1).astype(np.int64)
    return np.asarray(np.take(_array(call, 0), indices, axis=call.integer("axis")), object)


@symbolic("Concat")
def fold_concat(call: Call) -> Symbolic:
    """Join."""
    arrays = [_array(call, i) for i in range(call.count)]
    return np.concatenate(arrays, axis=call.integer("axis"))


@symbolic("Slice")
def fold_slice(call: Call) -> Symbolic | None:
    """Take a part; bounds must be integers."""
    x = _array(call, 0)
    if call.version < 10:
        starts, ends = call.integers("starts") or (), call.integers("ends") or ()
        axes, steps = call.integers("axes"), None
    else:
        starts, ends = call.ints(1), call.ints(2)
        axes = call.ints(3) if call.has(3) else None
        steps = call.ints(4) if call.has(4) else None
    slices = [slice(None)] * x.ndim
    for i, axis in enumerate(axes if axes is not None else range(len(starts))):
        step = steps[i] if steps else 1
        end: int | None = ends[i]
        if step < 0 and ends[i] < -x.shape[axis]:
            end = None
        slices[axis] = slice(starts[i], end, step)
    return x[tuple(slices)]


@symbolic("Squeeze")
def fold_squeeze(call: Call) -> Symbolic:
    """Drop axes of 1."""
    axes = axes_of(call, 1)
    return np.asarray(np.squeeze(_array(call, 0), axis=axes), object)


@symbolic("Unsqueeze")
def fold_unsqueeze(call: Call) -> Symbolic:
    """Insert axes of 1."""
    x = _array(call, 0)
    wanted = unsqueezed(call, x.shape, axes_of(call, 1) or ())
    return x.reshape([d for d in wanted if isinstance(d, int)])


@symbolic("Reshape")
def fold_reshape(call: Call) -> Symbolic:
    """Reshape, by integers."""
    return _array(call, 0).reshape(call.ints(1))


@symbolic("ReduceProd")
def fold_product(call: Call) -> Symbolic | None:
    """Multiply all elements of a list."""
    x = _array(call, 0)
    axes = axes_of(call, 1) if call.version >= 18 or call.version < 13 else call.integers("axes")
    if x.ndim != 1 or (axes is not None and tuple(a % 1 for a in axes) != (0,)):
        return None
    found = np.empty((1,) if call.integer("keepdims", 1) else (), object)
    found[...] = product(x.tolist())
    return found


def plain(array: Symbolic) -> npt.NDArray[Any]:
    """Return integers without symbols as int64, others unchanged."""
    if all(isinstance(v, int) for v in array.reshape(-1).tolist()):
        return array.astype(np.int64)
    return array
