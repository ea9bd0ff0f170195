"""Golden vectors of an emitted program: the reference's results for given or random inputs.

Tests: tests/unit/driver/test_boundary.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.driver.reference import fits, given_inputs, random_inputs, reference_outputs
from rlx.passes.transforms.bind import check_bound
from rlx.samples import vectors_for
from rlx.samples.layout import channels_last, is_channels_first
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.driver.boundary import Boundary
    from rlx.ir import Array, Graph
    from rlx.support.files.golden import Golden


def golden_vectors(
    boundary: Boundary,
    vectors: Mapping[str, Array] | None = None,
    frames: int | None = None,
) -> Golden:
    """Return golden vectors of the types of the emitted program's inputs and outputs.

    Args:
        boundary: The model, and the program that is emitted of it.
        vectors: Arrays of the user, of the types of the model or of the emitted program (see
            :func:`rlx.driver.reference.given_inputs`); floats for quantized inputs are quantized,
            and classes (one integer for each sample) left out. None for random inputs.
        frames: Number of frames; None for all given, or a number that suits the graph.

    Raises:
        UsageError: The vectors do not fit, or the graph has parameters or symbols.
        QuantizationError: An input is neither an integer nor quantized at once.
    """
    check_bound(boundary.model)
    model, emitted = boundary.model, boundary.emitted
    if vectors is None:
        inputs = random_inputs(emitted.graph, frames, has_floats=boundary.has_floats)
        return reference_outputs(emitted.graph, inputs)
    vectors, _ = vectors_for(model, vectors)
    if not fits(model, vectors) and fits(emitted.graph, vectors):
        turned = _to_channels_last(vectors, model, emitted.graph)
        return given_inputs(emitted.graph, turned, frames)
    golden = given_inputs(model, vectors, frames)
    if not boundary.changes:
        return golden
    return reference_outputs(emitted.graph, emitted.converted(golden.inputs))


def check_golden(boundary: Boundary, golden: Golden) -> Golden:
    """Return golden vectors that have the types of the emitted program's inputs and outputs.

    Raises:
        UsageError: One has another type, such as that of the model.
    """
    graph = boundary.emitted.graph
    for kind, values, arrays in (
        ("input", graph.run_inputs, golden.inputs),
        ("output", [value for _, value in graph.run_outputs], golden.outputs),
    ):
        for position, (value, array) in enumerate(zip(values, arrays, strict=True)):
            expected = value.type.dtype.numpy, value.type.static_shape
            if (array.dtype, array.shape[1:]) != expected:
                raise UsageError(
                    f"expected {value.type} for each frame, got {array.dtype}{list(array.shape)}",
                    where=f"golden vectors of {kind} {position}",
                    hint="make them of the user's arrays with golden_for",
                )
    return golden


def _to_channels_last(
    vectors: Mapping[str, Array], graph: Graph, ported: Graph
) -> Mapping[str, Array]:
    """Return vectors of an emitted program, channels last also where they are as in the model."""
    turned = dict(vectors)
    pairs = zip(graph.run_inputs, ported.run_inputs, strict=True)
    for old, new in [*pairs, *zip(graph.outputs[:1], ported.outputs[:1], strict=True)]:
        shape = new.type.static_shape
        name = new.name if new in ported.inputs else "y"
        name = "x" if name not in turned and len(ported.run_inputs) == 1 and name != "y" else name
        array = turned.get(name)
        if array is None or old.type.shape == new.type.shape:
            continue
        if is_channels_first(array.shape, shape):
            turned[name] = channels_last(array, shape)
    return turned
