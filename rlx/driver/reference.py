"""Results of the reference for given or random inputs: the golden vectors of a folder.

Tests: tests/unit/driver/test_driver.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.driver.differences import difference_of
from rlx.ir.evaluate import evaluate
from rlx.ir.inspect import printable
from rlx.ir.types import DType
from rlx.ops.real.cast import integer_range
from rlx.passes.boundaries import only_quantizer
from rlx.passes.transforms.bind import check_bound
from rlx.samples.layout import channels_last, fits_as_in_file, order_hint
from rlx.support.errors import DifferenceError, QuantizationError, UsageError
from rlx.support.files.golden import Golden, check_frames
from rlx.targets import quantize_hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph, Value

MAX_RANDOM_FRAMES = 16
"""Random frames, where nothing else is asked for."""
MAX_RANDOM_ELEMENTS = 1 << 25
"""Elements of all tensors that the reference may compute for random frames."""

_BLOCK_VALUES = 1 << 18
"""Random values generated at a time, 64 bits each. The block size does not change the values.."""

_PARTS_PER_STEP = 4
"""Parts of a step between two quantized values, for random floats: some are halfway."""


_FLOAT_LIMIT = 4.0
"""Largest magnitude of random values of a float input without a scale."""

_FLOAT_STEPS = 1 << 20
"""Different random values of such an input between 0 and the limit."""


def reference_outputs(graph: Graph, inputs: tuple[Array, ...]) -> Golden:
    """Return the inputs of runs (each [frames, *shape]) with the reference's results for them.

    The runs follow one another: states begin with their initial values and are kept.
    """
    states = graph.initial_states
    results: list[list[Array]] = []
    for i in range(len(inputs[0])):
        feed = {v.name: a[i] for v, a in zip(graph.run_inputs, inputs, strict=True)}
        values = list(zip(graph.output_names, evaluate(graph, {**feed, **states}), strict=True))
        results.append([array for name, array in values if name not in states])
        states = {name: array for name, array in values if name in states}
    return Golden(inputs, tuple(np.stack(arrays) for arrays in zip(*results, strict=True)))


def random_frames(graph: Graph) -> int:
    """Return the number of random frames for a graph: fewer where the reference is slow."""
    elements = sum(t.size for node in graph.op_nodes for t in node.types)
    return max(1, min(MAX_RANDOM_FRAMES, MAX_RANDOM_ELEMENTS // max(elements, 1)))


def random_inputs(
    graph: Graph, frames: int | None = None, seed: int = 0, *, has_floats: bool = False
) -> tuple[Array, ...]:
    """Return uniformly random values for each input of a run, [frames, *shape]; the same each time.

    A float input that is quantized at once gets numbers of that range, a little beyond
    its ends and halfway between quantized values too.

    Args:
        graph: Whose inputs.
        frames: Number of frames; None for ``random_frames``.
        seed: Seed of the random values.
        has_floats: Other float inputs get numbers from -4 to 4, in place of an error.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
        QuantizationError: An input is neither an integer nor quantized at once.
    """
    check_bound(graph)
    count = random_frames(graph) if frames is None else frames
    random = np.random.default_rng(seed)
    return tuple(_random(random, graph, v, count, has_floats=has_floats) for v in graph.run_inputs)


def _random(
    random: np.random.Generator, graph: Graph, value: Value, frames: int, *, has_floats: bool
) -> Array:
    type_ = value.type
    shape = (frames, *type_.static_shape)
    if type_.dtype.is_integer:
        return _random_integers(random, *integer_range(type_.dtype), shape, type_.dtype)
    if type_.dtype is DType.BOOL:
        return _random_integers(random, 0, 1, shape, DType.I8).astype(np.bool_)
    quantizer = only_quantizer(graph, value)
    if quantizer is None and has_floats:
        steps = _random_integers(random, -_FLOAT_STEPS, _FLOAT_STEPS, shape, DType.F64)
        numbers = steps.astype(np.float64) * (_FLOAT_LIMIT / _FLOAT_STEPS)
        return np.asarray(numbers, type_.dtype.numpy)
    if quantizer is None or len(quantizer.quant.scale) != 1:
        raise QuantizationError(
            f"{type_} is not quantized",
            where=f"input {printable(value.name)!r}",
            hint=quantize_hint(graph),
        )
    low, high = integer_range(quantizer.dtype)
    zero_point, scale = quantizer.quant.zero_point[0], quantizer.quant.scale[0]
    beyond = max((high - low) // 32, 1)
    low, high = (_PARTS_PER_STEP * (end - zero_point) for end in (low - beyond, high + beyond))
    parts = _random_integers(random, low, high, shape, DType.F64).astype(np.float64)
    return np.asarray(parts / _PARTS_PER_STEP * scale, type_.dtype.numpy)


def _random_integers(
    random: np.random.Generator, low: int, high: int, shape: tuple[int, ...], dtype: DType
) -> Array:
    """Return uniformly random integers in [low, high]."""
    # 64 bits a value: of narrower types NumPy draws several at once, and blocks would change them.
    drawn = np.uint64 if dtype is DType.U64 else np.int64
    values = np.empty(math.prod(shape), dtype.numpy)
    for start in range(0, values.size, _BLOCK_VALUES):
        part = values[start : start + _BLOCK_VALUES]
        part[:] = random.integers(low, high, part.size, drawn, endpoint=True)
    return values.reshape(shape)


def given_inputs(graph: Graph, vectors: Mapping[str, Array], count: int | None) -> Golden:
    """Return frames that the user brought, with the reference's outputs.

    Args:
        graph: The model.
        vectors: Arrays by name: each input's own name, or ``x`` where there is one input; and
            optionally ``y``, the outputs that the user expects of a graph with one output.
        count: Frames to use, None for all.

    Raises:
        UsageError: A name is missing, or a shape does not fit.
        DifferenceError: The reference differs from ``y``; the message has the first values.
    """
    golden = reference_outputs(graph, input_frames(graph, vectors, count))
    check_expected(graph, vectors, golden)
    return golden


def input_frames(
    graph: Graph, vectors: Mapping[str, Array], count: int | None
) -> tuple[Array, ...]:
    """Return the frames for each input that the user brought, [frames, *shape].

    Arguments and errors as :func:`given_inputs`; outputs are not looked at.
    """
    check_bound(graph)
    inputs = tuple(
        _frames_of(v, vectors, alone=len(graph.run_inputs) == 1) for v in graph.run_inputs
    )
    counts = sorted({len(array) for array in inputs})
    if len(counts) > 1:
        raise UsageError(
            f"the vectors hold {' and '.join(map(str, counts))} frames for different inputs",
            hint="give the same number of frames for each input",
        )
    for value, array in zip(graph.run_inputs, inputs, strict=True):
        check_frames(count, len(array), where=f"input {value.name!r}", hint="give more samples")
    return tuple(array[:count] for array in inputs)


def check_expected(graph: Graph, vectors: Mapping[str, Array], golden: Golden) -> None:
    """Check the outputs ``y`` that the user expects of a graph with one output, if given.

    Raises:
        UsageError: They have another shape.
        DifferenceError: The reference's outputs differ.
    """
    if "y" in vectors and len(graph.run_outputs) == 1:
        _compare(vectors["y"], golden)


def fits(graph: Graph, vectors: Mapping[str, Array]) -> bool:
    """Whether there is an array for each input of ``graph``, and all are of the right type."""
    alone = len(graph.run_inputs) == 1
    arrays = [(v, _array_of(v.name, vectors, alone=alone)) for v in graph.run_inputs]
    if "y" in vectors and len(graph.run_outputs) == 1:
        arrays.append((graph.run_outputs[0][1], vectors["y"]))
    return all(a is not None and a.dtype == v.type.dtype.numpy for v, a in arrays)


def _array_of(name: str, vectors: Mapping[str, Array], *, alone: bool) -> Array | None:
    return vectors.get(name, vectors.get("x") if alone else None)


def _compare(expected: Array, golden: Golden) -> None:
    """Refuse vectors whose outputs ``y`` are not the reference's."""
    stored = golden.outputs[0]
    size = stored[0].size
    frames = expected.reshape(-1, size) if expected.size % size == 0 else np.empty((0, size))
    if expected.size % size or len(frames) < golden.frames:
        raise UsageError(
            f"they are {expected.dtype}{list(expected.shape)}, but {golden.frames} frames need"
            f" {list(stored.shape)}",
            where="expected outputs y",
            hint="give y as [frames, elements of an output], or leave it out",
        )
    text = difference_of(frames[: golden.frames].reshape(stored.shape), stored)
    if text is not None:
        raise DifferenceError(
            text,
            where="expected outputs y",
            hint="check that the vectors belong to this model and its rounding;\n"
            "'rlx diff OLD NEW' of two models or two output folders lists the layers that changed",
        )


def _is_framed(array_shape: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return whether an array holds frames of a shape: flat, or with other axes of one element."""
    flat = len(array_shape) <= 1 or array_shape[1:] == (math.prod(shape),)
    wanted = {tuple(d for d in s if d != 1) for s in (shape, shape[1:])}
    rests = {tuple(d for d in s if d != 1) for s in (array_shape, array_shape[1:], array_shape[2:])}
    return flat or not wanted.isdisjoint(rests)


def _frames_of(value: Value, vectors: Mapping[str, Array], *, alone: bool) -> Array:
    """Return the frames for one input as [frames, *shape]."""
    name, type_ = value.name, value.type
    array = _array_of(name, vectors, alone=alone)
    if array is None:
        raise UsageError(
            "the vectors hold nothing for it",
            where=f"input {name!r}",
            hint=f"name an array {name!r}" + (" or 'x'" if alone and name != "x" else ""),
        )
    shape = type_.static_shape
    if fits_as_in_file(value, array.shape):
        array = channels_last(array, shape)
    fits = array.size % type_.size == 0 and _is_framed(array.shape, shape)
    if not fits:
        raise UsageError(
            f"its vectors must be {type_} for each frame, got {array.dtype}{list(array.shape)}",
            where=f"input {name!r}",
            hint=order_hint(array.shape, shape)
            or f"give {type_.dtype.numpy} values as [frames, {', '.join(map(str, shape))}]",
        )
    if array.dtype != type_.dtype.numpy:
        scaled = ", scaled as in training" if type_.dtype.is_float else ""
        raise UsageError(
            f"expected {type_.dtype.numpy} numbers for the input {type_}, got {array.dtype}",
            where=f"input {name!r}",
            hint=f"give {type_.dtype.numpy} numbers{scaled}",
        )
    if not array.size:
        raise UsageError(
            "its vectors hold no frames", where=f"input {name!r}", hint="give at least one frame"
        )
    return array.reshape(-1, *shape)
