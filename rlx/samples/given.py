"""Samples as callers give them: a path, numbers, or numbers by the name of an input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from rlx.ir.inspect import printable
from rlx.samples.files import FORMS, is_array_file, read
from rlx.samples.integers import in_type
from rlx.samples.shapes import sample_shape
from rlx.support.errors import UsageError
from rlx.support.files.arrays import stored_arrays
from rlx.support.files.missing import missing_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Value
    from rlx.support.files.arrays import StoredArray

    Numbers = npt.NDArray[Any]

Inputs: TypeAlias = "str | PathLike[str] | npt.ArrayLike | Mapping[str, npt.ArrayLike]"
"""A file or folder of samples, numbers for the only input, or numbers for each input by name."""


def path_of(data: object) -> Path | None:
    """Return data that is a path, or None."""
    return Path(data) if isinstance(data, str | PathLike) else None


def arrays_by_name(
    data: Inputs, inputs: Sequence[Value], *, what: str
) -> dict[str, npt.NDArray[Any] | StoredArray]:
    """Return samples as arrays by name; those of a NumPy file stay on the disk.

    Integers of Python get the element type of their input. Axes of one element may be missing, and
    so may the axis of the samples, for one sample.

    Args:
        data: A path, numbers for the only input, or numbers by name: each input's own, or ``x``
            where there is one input; ``y`` or ``labels`` for labels.
        inputs: The network's inputs.
        what: Name in messages, such as ``calibration data``.

    Raises:
        UsageError: A file does not exist or does not fit the inputs; or numbers do not form an
            array.
        FrontendError: A file is damaged.
    """
    path = path_of(data)
    if path is None:
        return dict(_in_memory(data, inputs, what))
    if not path.exists():
        raise missing_file(path, f"give a {FORMS} file", where=what)
    if is_array_file(path):
        return {name or "x": array for name, array in stored_arrays(path).items()}
    return dict(read([path], inputs).arrays)


def loaded_arrays(data: Inputs, inputs: Sequence[Value], *, what: str) -> dict[str, Numbers]:
    """Return samples as arrays in memory, otherwise as :func:`arrays_by_name`."""
    path = path_of(data)
    if path is not None and is_array_file(path):
        return dict(read([path], inputs).arrays)
    arrays = arrays_by_name(data, inputs, what=what)
    return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _in_memory(data: Inputs, inputs: Sequence[Value], what: str) -> dict[str, Numbers]:
    if not isinstance(data, Mapping):
        if len(inputs) != 1:
            names = ", ".join(repr(printable(value.name)) for value in inputs)
            raise UsageError(
                f"the network has the inputs {names}, but there is one array",
                where=what,
                hint="give a mapping from the name of each input to its numbers",
            )
        data = {inputs[0].name: cast("npt.ArrayLike", data)}
    by_name = {value.name: value for value in inputs}
    arrays = {}
    for name, numbers in data.items():
        value = by_name.get(name) or (inputs[0] if name == "x" else None)
        arrays[name] = np.asarray(numbers) if value is None else _array(value, numbers, what)
    return arrays


def _array(value: Value, numbers: npt.ArrayLike, what: str) -> Numbers:
    """Return the numbers for an input as ``[samples, *shape of a sample]``."""
    where = f"{what}, input {printable(value.name)!r}"
    try:
        array = np.asarray(numbers)
    except ValueError:
        raise UsageError(
            "its rows have different lengths", where=where, hint="give rows of equal length"
        ) from None
    if array.dtype.kind not in "biufV":
        raise UsageError(
            f"expected numbers, got {_kind(numbers)}",
            where=where,
            hint="give an array, numbers by the name of each input, or the path of a file",
        )
    if not isinstance(numbers, np.ndarray | np.generic) and array.dtype.kind == "i":
        hint = "give floats, scaled as in training: rlx quantizes them"
        array = in_type(array, value.type, where, hint=hint)
    shape = sample_shape(value.type)
    if array.ndim and _long_axes(array.shape[1:]) == _long_axes(shape):
        return array.reshape(len(array), *shape)
    if _long_axes(array.shape) == _long_axes(shape) or array.shape == (math.prod(shape),):
        return array.reshape(1, *shape)
    return array  # the reader says what is wrong, unless it takes such an array


def _kind(numbers: object) -> str:
    return "None" if numbers is None else f"an object of type {type(numbers).__name__}"


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without the axes of one element."""
    return tuple(size for size in shape if size != 1)
