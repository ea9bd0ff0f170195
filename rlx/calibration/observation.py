"""Observation of a float network on calibration data: ranges, moments of layers' inputs.

Tests: tests/unit/calibration/test_sequence.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from rlx.calibration.observers import Observer
from rlx.ir.file import from_file_bytes, to_file_bytes
from rlx.ir.inspect import printable
from rlx.ir.module import as_module
from rlx.metrics.runner import Runner, computed_values
from rlx.passes.quantize.activations import clamped
from rlx.passes.quantize.functions import argument
from rlx.passes.quantize.masks import masks
from rlx.passes.quantize.params import Needed
from rlx.passes.quantize.weighted import Weighted, weighted_layers
from rlx.support.errors import UsageError
from rlx.support.parallel import IN_PROCESS, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Node, Value
    from rlx.samples.batches import Samples
    from rlx.support.parallel import Workers

    Doubles = npt.NDArray[np.float64]
    Progress = Callable[[str, int, int], None]

T = TypeVar("T")

MAX_TERMS: Final = 2048
"""Maximum terms of a row for second moments, whose memory grows with the square of it."""

PART_BATCHES: Final = 4
"""Batches whose sums are added up before they are added to those of other parts."""

_MAX_PARTS: Final = 32
"""Parts that are handed to workers at a time."""

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

    def add(self, other: Moments) -> None:
        """Add the sums over other inputs."""
        self.count += other.count
        self.sums += other.sums
        if self.squares is not None and other.squares is not None:
            self.squares += other.squares

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
    graph: Graph,
    samples: Samples,
    *,
    squares: bool,
    progress: Progress | None = None,
    pool: Workers = IN_PROCESS,
) -> Observation:
    """Run ``graph`` over samples and return the observations.

    Sums are those of parts of ``PART_BATCHES`` batches, added in order: the same bits whatever
    runs the parts.

    Args:
        graph: A float network.
        samples: Calibration data.
        squares: Whether second moments are needed, as for weights of few bits.
        progress: Called with a text, samples done and all samples.
        pool: Runs the parts.

    Raises:
        UsageError: The data are constant, hold NaN or infinity, or overflow in a layer.
    """
    observer = _PartObserver(graph, squares=squares)
    observation = observer.nothing()
    removed: set[Value] = set()
    for part in _observed_parts(observer, graph, samples, pool, squares=squares):
        removed.update(observer.watched[index] for index in part.removed)
        for value, ranges in zip(observer.watched, part.ranges, strict=True):
            observation.ranges[value].merge(ranges)
        for layer, moments in zip(observer.layers, part.moments, strict=True):
            observation.moments[layer.node].add(moments)
        observation.samples += part.samples
        if progress is not None:
            progress("measuring ranges", observation.samples, samples.count)
    for value in removed:
        observation.ranges.pop(value)
    _check_varies(graph, observation, samples.what)
    return observation


@dataclass(frozen=True, slots=True)
class _Part:
    """Observation of some batches.

    Attributes:
        ranges: Observer of each watched value.
        removed: Index of each watched value that overflows within a function.
        moments: Moments of each layer.
        samples: Number of samples.
    """

    ranges: list[Observer]
    removed: set[int]
    moments: list[Moments]
    samples: int


class _PartObserver:
    """Observes batches of one graph.

    Attributes:
        watched: Floating-point values that depend on the inputs.
        layers: Weighted layers whose operand is watched.
        batch: Samples of a batch.
    """

    def __init__(self, graph: Graph, *, squares: bool) -> None:
        self.watched = [v for v in computed_values(graph) if v.type.dtype.is_float]
        self._position = {value: i for i, value in enumerate(self.watched)}
        layers = weighted_layers(graph)
        self.layers = [one for one in layers if one.node.operands[0] in self._position]
        self._runner, self._masks = Runner(graph, self.watched), masks(graph)
        self._inner = _values_inside_functions(graph, self.watched)
        self._squares = squares
        self.batch = self._runner.batch

    def nothing(self) -> Observation:
        """Return the observation of no sample."""
        moments = {one.node: _no_moments(one, squares=self._squares) for one in self.layers}
        return Observation({value: Observer() for value in self.watched}, moments, 0)

    def observe(self, batches: Sequence[dict[str, Array]]) -> _Part:
        """Return the observation of some batches."""
        part = _Part(
            [Observer() for _ in self.watched],
            set(),
            [_no_moments(layer, squares=self._squares) for layer in self.layers],
            sum(len(next(iter(inputs.values()))) for inputs in batches),
        )
        for inputs in batches:
            self._add(part, self._runner.run_batch(inputs))
        return part

    def _add(self, part: _Part, arrays: Sequence[Array]) -> None:
        for index, (value, array) in enumerate(zip(self.watched, arrays, strict=True)):
            if value in self._inner and not np.isfinite(array).all():
                part.removed.add(index)
            if index not in part.removed:
                mask = self._masks.get(value)
                _add(part.ranges[index], value, array if mask is None else mask.filled(array))
        for layer, moments in zip(self.layers, part.moments, strict=True):
            _add_moments(moments, layer, arrays[self._position[layer.node.operands[0]]])


def _observed_parts(
    observer: _PartObserver, graph: Graph, samples: Samples, pool: Workers, *, squares: bool
) -> Iterator[_Part]:
    """Yield the observations of parts, in order; few parts are in memory at a time."""
    parts = _grouped(samples.batches(observer.batch), PART_BATCHES)
    if pool is IN_PROCESS:
        yield from map(observer.observe, parts)
        return
    content, start = to_file_bytes(as_module(graph)), 0
    for group in _grouped(parts, _MAX_PARTS):
        tasks = []
        for part in group:
            count = sum(len(next(iter(inputs.values()))) for inputs in part)
            name = f"{samples.what}, samples {start} to {start + count - 1}"
            tasks.append(Task(name, (content, squares, part)))
            start += count
        yield from pool.results(_observe_on_worker, tasks)


def _grouped(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """Yield lists of ``size`` items, the last of which may be shorter."""
    while group := list(islice(items, size)):
        yield group


def _observe_on_worker(argument: tuple[bytes, bool, list[dict[str, Array]]]) -> _Part:
    content, squares, batches = argument
    return _observer_on_worker(content, squares=squares).observe(batches)


@lru_cache(maxsize=1)
def _observer_on_worker(content: bytes, *, squares: bool) -> _PartObserver:
    """Return the observer of a graph, which this worker keeps for the next parts."""
    return _PartObserver(from_file_bytes(content).graph, squares=squares)


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
