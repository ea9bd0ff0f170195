"""Operators that move elements, and those that make constants.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.onnx.ops.registry import importer
from rlx.ir.dims import product

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real
    from rlx.ir import Dim


@importer("Constant")
def import_constant(call: Call) -> npt.NDArray[Any]:
    """``Constant``: a tensor, a number or a list of numbers."""
    value_names = [name for name in call.node.attributes if name != "value" or call.tensor("value")]
    if len(value_names) != 1:
        raise call.malformed(f"has {len(value_names)} values, expected one")
    if value_names[0] == "value":
        tensor = call.tensor("value")
        if tensor is not None:
            if tensor.bits:
                call.scope.bounds[call.node.outputs[0]] = 0, (1 << tensor.bits) - 1
            return tensor.array
    if value_names[0] in ("value_float", "value_floats"):
        return np.array(call.attribute(value_names[0]), np.float32)
    if value_names[0] in ("value_int", "value_ints"):
        return np.array(call.attribute(value_names[0]), np.int64)
    raise call.refuse(f"holds {value_names[0].removeprefix('value_')}, which rlx does not model")


@importer("Reshape")
def import_reshape(call: Call) -> Real:
    """``Reshape``; 0 keeps a dimension, -1 is inferred."""
    x, new_shape = call.value(0), list(call.dims(1))
    if not (call.version >= 14 and call.flag("allowzero")):
        for dimension, size in enumerate(new_shape):
            if size == 0 and dimension >= x.ndim:
                raise call.malformed(f"dimension {dimension} is kept, but there are {x.ndim}")
            if size == 0:
                new_shape[dimension] = x.shape[dimension]
    if any(isinstance(d, int) and d < -1 for d in new_shape):
        raise call.malformed(f"the shape is {new_shape}, expected numbers of at least -1")
    return x.reshape(*new_shape)


@importer("Flatten")
def import_flatten(call: Call) -> Real:
    """``Flatten``: a matrix of the axes before ``axis`` and those from it on."""
    x, axis = call.value(0), call.integer("axis")
    if not -x.ndim <= axis <= x.ndim:
        raise call.malformed(f"the axis is {axis}, but there are {x.ndim} dimensions")
    place = axis if axis >= 0 else axis + x.ndim
    return x.reshape(product(x.shape[:place]), product(x.shape[place:]))


@importer("Transpose")
def import_transpose(call: Call) -> Real:
    """``Transpose``; in reverse order without ``perm``."""
    x, order = call.value(0), call.integers("perm")
    if order is None:
        order = tuple(range(x.ndim))[::-1]
    if sorted(order) != list(range(x.ndim)):
        raise call.malformed(f"expected an order of {x.ndim} axes as perm, got {list(order)}")
    return x if order == tuple(range(x.ndim)) else x.transpose(*order)


@importer("Squeeze")
def import_squeeze(call: Call) -> Real:
    """``Squeeze``; without axes all dimensions of 1."""
    x = call.value(0)
    axes = axes_of(call, 1)
    squeezed_axes = {call.axis(a, x.ndim) for a in axes} if axes is not None else {
        i for i, d in enumerate(x.shape) if d == 1
    }  # fmt: skip
    if any(x.shape[a] != 1 for a in squeezed_axes):
        raise call.malformed(f"axes {sorted(squeezed_axes)} of {x.type} are not all of dimension 1")
    return x.reshape(*(d for i, d in enumerate(x.shape) if i not in squeezed_axes))


@importer("Unsqueeze")
def import_unsqueeze(call: Call) -> Real:
    """``Unsqueeze``: axes of dimension 1 at places of the result."""
    x, axes = call.value(0), axes_of(call, 1)
    return x.reshape(*unsqueezed(call, x.shape, axes or ()))


def unsqueezed(call: Call, shape: tuple[int | Dim, ...], axes: tuple[int, ...]) -> list[int | Dim]:
    """Return a shape with dimensions of 1 at ``axes`` of the result."""
    rank = len(shape) + len(axes)
    places = {call.axis(a, rank) for a in axes}
    if len(places) != len(axes):
        raise call.malformed(f"axes {list(axes)} name a place twice")
    rest = iter(shape)
    return [1 if i in places else next(rest) for i in range(rank)]


def axes_of(call: Call, index: int) -> tuple[int, ...] | None:
    """Return axes, which are an input since version 13 and an attribute before; None without."""
    if call.version >= 13:
        return call.ints(index) if call.has(index) else None
    return call.integers("axes")


@importer("Shape")
def import_shape(call: Call) -> npt.NDArray[Any]:
    """``Shape``, or a part of it since version 15; symbols stay symbols."""
    shape = call.shape(0)
    start, end = call.integer("start", 0), call.attribute("end")
    if end is not None and not isinstance(end, int):
        raise call.malformed("expected an integer as attribute 'end'")
    return _whole(shape[slice(start, end)])


@importer("Size")
def import_size(call: Call) -> npt.NDArray[Any]:
    """``Size``: the number of elements."""
    count = product(call.shape(0))
    found = np.empty((), object)
    found[()] = count
    return found


def _whole(dims: tuple[int | Dim, ...]) -> npt.NDArray[Any]:
    found = np.empty(len(dims), object)
    found[:] = dims
    return found


@importer("Concat")
def import_concat(call: Call) -> Real:
    """``Concat``."""
    first, *rest = call.values()
    axis = call.axis(call.integer("axis"), first.ndim)
    return first.concat(*rest, axis=axis) if rest else first
