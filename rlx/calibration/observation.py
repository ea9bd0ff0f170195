"""Observation of a float network on calibration data: ranges, moments of layers' inputs.

Tests: tests/unit/calibration/test_sequence.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.calibration.observers import Observer
from rlx.ir.inspect import printable
from rlx.metrics.runner import Runner, computed_values
from rlx.passes.quantize.activations import clamped
from rlx.passes.quantize.functions import argument
from rlx.passes.quantize.masks import masks
from rlx.passes.quantize.params import Needed
from rlx.passes.quantize.weighted import Weighted, weighted_layers
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Node, Value
    from rlx.samples.batches import Samples

    Doubles = npt.NDArray[np.float64]
    Progress = Callable[[str, int, int], None]

MAX_TERMS: Final = 2048
"""Maximum terms of a row for second moments, whose memory grows with the square of it."""

_PATCH_BYTES: Final = 8 << 20
"""Bytes of the patches of a layer's input that are made at a time."""


@dataclass(slots=True)
class Moments:
    """Sums over the inputs that the rows of a layer's weights are multiplied with.

    Attributes:
        count: Positions.
        sums: float64 [groups, terms].
        squares: float64 [groups, terms, terms], or None if they are not needed or too many.
    """

    count: int
    sums: Doubles
    squares: Doubles | None

    @property
    def means(self) -> Doubles:
        """Mean of each term, [groups, terms]."""
        return self.sums / max(self.count, 1)

    @property
    def covariance(self) -> Doubles | None:
        """Second moments about the means, [groups, terms, terms]."""
        if self.squares is None:
            return None
        means = self.means
        result: Doubles = self.squares / max(self.count, 1)
        return result - means[:, :, np.newaxis] * means[:, np.newaxis, :]


@dataclass(slots=True)
class Observation:
    """Observation of a graph.

    Attributes:
        ranges: An observer for each floating-point value that depends on the inputs.
        moments: Moments of the operand of each weighted layer.
        samples: Number of samples that were run.
    """

    ranges: dict[Value, Observer]
    moments: dict[Node, Moments]
    samples: int


def observe(
    graph: Graph, samples: Samples, *, squares: bool, progress: Progress | None = None
) -> Observation:
    """Run ``graph`` over samples and return the observations.

    Args:
        graph: A float network.
        samples: Calibration data.
        squares: Whether second moments are needed, as for weights of few bits.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data are constant, hold NaN or infinity, or overflow in a layer.
    """
    watched = [v for v in computed_values(graph) if v.type.dtype.is_float]
    position = {value: i for i, value in enumerate(watched)}
    layers = [layer for layer in weighted_layers(graph) if layer.node.operands[0] in position]
    observation = Observation(
        {value: Observer() for value in watched},
        {layer.node: _no_moments(layer, squares=squares) for layer in layers},
        0,
    )
    runner, masking, inner = (
        Runner(graph, watched),
        masks(graph),
        _values_inside_functions(graph, watched),
    )
    for inputs, arrays in runner.run(samples):
        for value, array in zip(watched, arrays, strict=True):
            if value in inner and not np.isfinite(array).all():
                observation.ranges.pop(value, None)
            if value not in observation.ranges:
                continue
            mask = masking.get(value)
            _add(observation.ranges[value], value, array if mask is None else mask.filled(array))
        for layer in layers:
            _add_moments(
                observation.moments[layer.node], layer, arrays[position[layer.node.operands[0]]]
            )
        observation.samples += len(next(iter(inputs.values())))
        if progress is not None:
            progress("measuring ranges", observation.samples, samples.count)
    _check_varies(graph, observation, samples.what)
    return observation


def _values_inside_functions(graph: Graph, values: Sequence[Value]) -> set[Value]:
    """Return the values within unary functions, which are tables as a whole.

    They may overflow: ``exp(-x)`` in ``1 / (1 + exp(-x))``.
    """
    needed = set(Needed.of(graph).nodes)
    return {v for v in values if v.node not in needed and argument(v.node) is not None}


def channel_ranges(graph: Graph, nodes: Sequence[Node], samples: Samples) -> dict[Node, Doubles]:
    """Return the largest magnitude of each output channel of layers, [outputs].

    Activations that alone read a layer belong to it.
    """
    users, outputs = graph.users(), set(graph.outputs)
    ends = [clamped(node.result, users, outputs) for node in nodes]
    layers = [Weighted.of(node) for node in nodes]
    magnitudes = {layer.node: np.zeros(layer.outputs) for layer in layers if layer is not None}
    for _, arrays in Runner(graph, ends).run(samples):
        for node, layer, array in zip(nodes, layers, arrays, strict=True):
            assert layer is not None
            last: npt.NDArray[Any] = np.moveaxis(array, layer.channel_axis, -1)
            largest = np.abs(last.reshape(-1, last.shape[-1])).max(axis=0)
            np.maximum(magnitudes[node], largest, out=magnitudes[node])
    return magnitudes


def _add(observer: Observer, value: Value, array: Array) -> None:
    """Observe an array.

    Raises:
        UsageError: It holds NaN or infinity.
    """
    try:
        observer.add(array)
    except ValueError:
        raise UsageError(
            "gives NaN or infinite numbers for calibration data that are finite",
            where=f"{value.node.op.name} {printable(value.node.label)}",
            hint="check how the data are scaled, and the weights",
        ) from None


def _check_varies(graph: Graph, observation: Observation, what: str) -> None:
    for value in graph.inputs:
        observer = observation.ranges.get(value)
        if observer is None:
            continue
        histogram = observer.histogram
        if histogram.minimum == histogram.maximum:
            raise UsageError(
                f"cannot measure a range: every number is {histogram.minimum:g}",
                where=f"{what}, input {printable(value.name)!r}",
                hint="use samples whose values differ",
            )


def _no_moments(layer: Weighted, *, squares: bool) -> Moments:
    terms = layer.rows().shape[1]
    wanted = squares and terms <= MAX_TERMS
    shape = (layer.groups, terms)
    return Moments(0, np.zeros(shape), np.zeros((*shape, terms)) if wanted else None)


def _add_moments(moments: Moments, layer: Weighted, array: Array) -> None:
    """Add the patches of a batch, a few samples at a time: they are larger than the image."""
    # An operand whose leading dimension is not that of the samples has one more axis.
    extra = array.ndim - len(layer.node.operands[0].type.shape)
    lead = min(1 + extra, array.ndim - 1)
    x: npt.NDArray[Any] = array.reshape(-1, *array.shape[lead:])
    size = x[:1].nbytes * max(layer.rows().shape[1] * layer.groups // _channels(layer, x), 1)
    step = max(1, _PATCH_BYTES // max(size, 1))
    for start in range(0, len(x), step):
        patches = layer.patches(x[start : start + step])
        moments.count += patches.shape[1]
        moments.sums += patches.sum(axis=1, dtype=np.float64)
        if moments.squares is not None:
            moments.squares += np.swapaxes(patches, 1, 2) @ patches


def _channels(layer: Weighted, x: Array) -> int:
    return int(x.shape[layer.channel_axis])
