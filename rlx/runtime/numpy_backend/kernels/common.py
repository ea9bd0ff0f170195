"""Helpers of kernels: calls bound to arrays, and computing in wider types than values have."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rlx.ir import DType
from rlx.ops.real.common import widen

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Array
    from rlx.runtime.numpy_backend.step import BoundStep, Run
    from rlx.runtime.numpy_backend.workspace import Workspace

    Numbers = npt.NDArray[Any]


def sequence(runs: Sequence[Run]) -> Run:
    """Return a function that calls all of ``runs`` in order."""
    if len(runs) == 1:
        return runs[0]
    if len(runs) == 2:
        first, second = runs

        def run_both() -> None:
            first()
            second()

        return run_both
    every = tuple(runs)

    def run() -> None:
        for each in every:
            each()

    return run


def copy(target: Array, source: Array) -> Run:
    """Return a function that copies, converting elements as ``astype`` does."""
    return partial(np.copyto, target, source, casting="unsafe")


def call(function: np.ufunc, *operands: Numbers, out: Numbers) -> Run:
    """Return a function that computes ``out``, which has the shape the operands broadcast to."""
    result, *views = flatten(out, *operands)
    if function.nin < 2 or function not in _NO_POSITIONAL_OUT:
        return partial(function, *views, result)
    return partial(function, *views, out=result)


_NO_POSITIONAL_OUT = (np.maximum, np.minimum)


def flatten(out: Numbers, *operands: Numbers) -> list[Numbers]:
    """Return views of a result and of operands that broadcast to it, with as few axes as possible.

    Axes of 1 are left out, and those joined that are contiguous in every array. NumPy computes
    arrays of one axis, and scalars, in a third of the time of others if they are small.
    """
    spread = [out, *(np.broadcast_to(o, out.shape) for o in operands)]
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in spread]
    for axis, size in enumerate(out.shape):
        if size == 1:
            continue
        steps = [array.strides[axis] for array in spread]
        if sizes and all(s[-1] == size * step for s, step in zip(strides, steps, strict=True)):
            sizes[-1] *= size
            for array_strides, step in zip(strides, steps, strict=True):
                array_strides[-1] = step
        else:
            sizes.append(size)
            for array_strides, step in zip(strides, steps, strict=True):
                array_strides.append(step)
    unique_views: dict[tuple[object, ...], Numbers] = {}
    views = []
    for array, array_strides in zip((out, *operands), strides, strict=True):
        # The same object for the same bytes: NumPy does not look for overlaps then.
        number = array is not out and not any(array_strides)
        key = (array.__array_interface__["data"][0], array.dtype, number, *array_strides)
        if key not in unique_views:
            unique_views[key] = _view(
                array, () if number else sizes, () if number else array_strides
            )
        views.append(unique_views[key])
    return views


def _view(array: Numbers, shape: Sequence[int], strides: Sequence[int]) -> Numbers:
    """Return a view; a view by strides holds a kilobyte more than a reshaped one."""
    if array.flags.c_contiguous and array.size == math.prod(shape):
        return array.reshape(shape)
    return as_strided(array, shape, strides)


def scalar(value: float, dtype: npt.DTypeLike) -> Numbers:
    """Return a scalar as an array, which NumPy need not convert in every call."""
    return np.array(value, dtype)


def share(a: Array, b: Array) -> bool:
    """Whether two arrays, each one run of bytes, have bytes in common."""
    return np.may_share_memory(a, b)


def is_wide(array: Array) -> bool:
    """Whether ops compute in the element type itself (see ``rlx.ops.real.common``)."""
    return array.dtype.kind in "iub" or array.dtype in _WIDE or not DType.of(array).is_float


_WIDE = (np.dtype(np.float32), np.dtype(np.float64))


def wide_operand(step: BoundStep, index: int, runs: list[Run]) -> Numbers:
    """Return an operand in the op's computation type; its conversion in each run is added."""
    x, constant = step.inputs[index], step.constants[index]
    if is_wide(x):
        return x
    if constant is not None:
        return widen(constant)
    buffer = step.workspace.take(x.shape, np.float32)
    runs.append(copy(buffer, x))
    return buffer


def wide_operands(step: BoundStep, runs: list[Run]) -> list[Numbers]:
    """Return ``wide_operand`` of every operand."""
    return [wide_operand(step, place, runs) for place in range(len(step.inputs))]


def wide_result(output: Array, workspace: Workspace) -> tuple[Numbers, list[Run]]:
    """Return the array in which a result is computed, and the calls that copy it to ``output``."""
    if is_wide(output):
        return output, []
    buffer = workspace.take(output.shape, np.float32)
    return buffer, [copy(output, buffer)]
