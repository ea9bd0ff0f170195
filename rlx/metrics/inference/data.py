"""Samples for the inputs of a network, from the sample or the batch of a user.

Tests: tests/unit/samples/test_layout.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.ir.inspect import printable
from rlx.ops.real.cast import integer_range
from rlx.passes.transforms.bind import check_bound
from rlx.samples.batches import read_samples
from rlx.samples.shapes import sample_shape
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Graph, TensorType, Value
    from rlx.samples.batches import Samples

    Numbers = npt.NDArray[Any]

Inputs: TypeAlias = "Path | str | npt.ArrayLike | Mapping[str, npt.ArrayLike]"
"""A file of samples, an array for the only input, or an array for each input by name."""

_WHAT = "data"


def samples_of(graph: Graph, data: Inputs, *, labels: npt.NDArray[Any] | None = None) -> Samples:
    """Return the data of a user as samples for the inputs of ``graph``.

    Values of an input's own element type are used unchanged. Floats for a quantized input are
    quantized by its scale. Axes of one element may be missing, and so may the axis of the samples,
    for one sample.

    Args:
        graph: The graph.
        data: Numbers, or a file.
        labels: A class for each sample, if they are not in ``data``.

    Raises:
        UsageError: An input is missing, or its values are of a wrong shape or type.
        FrontendError: A file is damaged.
    """
    check_bound(graph)
    if isinstance(data, str | Path):
        return read_samples(graph, data, what=_WHAT, labels=labels)
    if not isinstance(data, Mapping):
        if len(graph.inputs) != 1:
            names = ", ".join(repr(printable(v.name)) for v in graph.inputs)
            raise UsageError(
                f"the network has the inputs {names}, but there is one array",
                where=_WHAT,
                hint="give a mapping from the name of each input to its numbers",
            )
        data = {graph.inputs[0].name: data}
    arrays: dict[str, Numbers] = {}
    types = {v.name: v for v in graph.inputs}
    for name, numbers in data.items():
        value = types.get(name) or (graph.inputs[0] if name == "x" else None)
        arrays[name] = np.asarray(numbers) if value is None else _array(value, numbers)
    return read_samples(graph, arrays, what=_WHAT, labels=labels)


def _array(value: Value, numbers: npt.ArrayLike) -> Numbers:
    """Return the array for an input as ``[samples, *shape of a sample]``."""
    where = f"{_WHAT}, input {printable(value.name)!r}"
    try:
        array = np.asarray(numbers)
    except ValueError:
        raise UsageError(
            "its rows have different lengths", where=where, hint="give rows of equal length"
        ) from None
    if not isinstance(numbers, np.ndarray | np.generic) and array.dtype.kind == "i":
        array = _typed(array, value.type, where)
    shape = sample_shape(value.type)
    if array.ndim and _long_axes(array.shape[1:]) == _long_axes(shape):
        return array.reshape(len(array), *shape)
    if _long_axes(array.shape) == _long_axes(shape) or array.shape == (math.prod(shape),):
        return array.reshape(1, *shape)
    return array  # the reader raises the error, unless it accepts such an array


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without the axes of one element."""
    return tuple(size for size in shape if size != 1)


def _typed(array: Numbers, type_: TensorType, where: str) -> Numbers:
    """Return Python's integers, which have no element type, in that of an input.

    Raises:
        UsageError: The element type has no such value.
    """
    if type_.dtype.is_integer and array.size:
        low, high = integer_range(type_.dtype)
        if array.min() < low or array.max() > high:
            raise UsageError(
                f"expected integers in the range of {type_}, got {array.min()} to {array.max()}",
                where=where,
                hint="give floats, scaled as in training: rlx quantizes them",
            )
    return array.astype(type_.dtype.numpy)
