"""Quantization without samples: ranges from random inputs.

The cost of an integer network hardly depends on its scales. It depends on the values that share
one, how far those of channels are apart, and that no channel is constant. So the network is run on
a few random inputs, always the same ones, and converted as one that is calibrated. Its results are
meaningless; its cost is accurate.

Inputs are smooth, as images and spectra are: filters that see noise alone have other ranges. They
are so large that the results of the first layers, not their biases, decide on the signs of values
after them: else channels seem constant that are not.

Tests: tests/unit/driver/test_assumption.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType, Input
from rlx.ir.inspect import node_macs
from rlx.ops.real.cast import integer_range
from rlx.passes.dead_code import DeadCode
from rlx.passes.quantize.activations import activation_params, clamped
from rlx.passes.quantize.convert import convert, prepare
from rlx.passes.quantize.equalize import before_depthwise, equalize_results
from rlx.passes.quantize.masks import masks
from rlx.passes.quantize.readiness import simplified
from rlx.passes.quantize.rounding import round_weights, smallest_scales
from rlx.passes.quantize.scheme import params_of
from rlx.passes.quantize.single import in_float32
from rlx.passes.quantize.stored_weights import with_stored_weights
from rlx.passes.quantize.weighted import Weighted, weighted_layers
from rlx.support.errors import RlxError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Node, QuantParams, TensorType, Value
    from rlx.passes.quantize.convert import Converted
    from rlx.passes.quantize.intervals import Ends
    from rlx.passes.quantize.scheme import Bits

    Doubles = npt.NDArray[np.float64]

MAX_RUNS: Final = 8
"""Random inputs that a network is run on."""

_MAX_MACS: Final = 2_000_000_000
"""Multiply-accumulates of all runs, about: a larger network is run on fewer inputs, at least 1."""

_MIN_SPREAD: Final = 3.0
"""Standard deviations of the first layers' results, relative to their means."""

_SLOPE: Final = 1.5
"""Power of the frequency to which an amplitude of a random input is inverse."""

_MAX_DEVIATION: Final = 4096.0
"""Standard deviation of a random input."""

_MAX_TERMS: Final = 512
"""Terms of a row up to which second moments are computed, for weights of few bits."""

_UNKNOWN: Final = (-1.0, 1.0)
"""Range of a value that is not finite in any run."""


@dataclass(frozen=True, slots=True)
class AssumedRange:
    """Range of a value that was assumed.

    Attributes:
        ends: Minimum and maximum.
    """

    ends: Ends

    def params(self, *, whole: bool, symmetric: bool) -> QuantParams:
        """Return the parameters of int8 values over the range."""
        del whole
        return params_of(*self.ends, symmetric=symmetric)


def convert_assumed(graph: Graph, bits: Bits = 8) -> Converted:
    """Return the integer graph of a float network, with assumed scales of its activations.

    It has the cost of the network that is quantized with samples; its results mean nothing.

    Args:
        graph: A float network; parameters frozen, dimensions bound.
        bits: Width of the weights.

    Raises:
        UnsupportedOpError: Something has no integer form; the message names all of it.
        QuantizationError: A parameter has no value.
    """
    plain = simplified(in_float32(graph), keep_stored=bits == 8)
    ready = DeadCode().apply(prepare(_with_filled_channels(DeadCode().apply(plain))).graph)
    params = activation_params(ready, assumed_ranges(ready))
    layers = [v for v in weighted_layers(ready) if v.node.operands[0] in params]
    # Eight bits are rounded to nearest, independent of the inputs.
    moments = {} if bits == 8 else _second_moments(ready, layers)
    new = {}
    for layer in layers:
        smallest = smallest_scales(layer, params[layer.node.operands[0]].scale[0])
        rounded = round_weights(layer.rows(), bits, moments.get(layer.node), smallest)
        new[layer.node] = rounded, layer.bias
    stored, moved_values = with_stored_weights(ready, new, by="quantize")
    return convert(stored, {moved_values[v]: p for v, p in params.items() if v in moved_values})


def assumed_ranges(graph: Graph) -> dict[Value, AssumedRange]:
    """Return a range for each float value that depends on inputs, from a few random inputs.

    Elements that only mask others count as they do in a calibration.
    """
    masking = masks(graph)
    ends: dict[Value, Ends] = {}
    for value, array in _Runs.of(graph).values():
        mask = masking.get(value)
        numbers = array if mask is None else mask.filled(array[np.newaxis])
        finite = numbers[np.isfinite(numbers)]
        if finite.size:
            low, high = ends.get(value, (np.inf, -np.inf))
            ends[value] = min(low, float(finite.min())), max(high, float(finite.max()))
    floats = (v for v in _moving(graph) if v.type.dtype.is_float)
    return {value: AssumedRange(ends.get(value, _UNKNOWN)) for value in floats}


def _with_filled_channels(graph: Graph) -> Graph:
    """Return the graph with results before depthwise layers that fill their range."""
    layers = [v for node in before_depthwise(graph) if (v := Weighted.of(node)) is not None]
    if not layers:
        return graph
    users, outputs = graph.users(), set(graph.outputs)
    ends = {clamped(layer.node.result, users, outputs): layer for layer in layers}
    largest = {layer.node: np.zeros(layer.outputs) for layer in layers}
    for value, array in _Runs.of(graph).values():
        if value in ends:
            layer = ends[value]
            peaks = np.nan_to_num(np.abs(_by_channel(array, layer)).max(axis=0))
            np.maximum(largest[layer.node], peaks, out=largest[layer.node])
    return equalize_results(graph, largest)


def _second_moments(graph: Graph, layers: Sequence[Weighted]) -> dict[Node, Doubles]:
    """Return the second moments of the inputs of rows of weights, for short rows."""
    readers: dict[Value, list[Weighted]] = {}
    for layer in layers:
        if layer.rows().shape[1] <= _MAX_TERMS:
            readers.setdefault(layer.node.operands[0], []).append(layer)
    sums_by_layer: dict[Node, Doubles] = {}
    for value, array in _Runs.of(graph).values():
        for layer in readers.get(value, ()):
            patches = layer.patches(np.asarray(array, np.float64))
            centred = patches - patches.mean(axis=1, keepdims=True)
            squares = np.swapaxes(centred, 1, 2) @ centred / centred.shape[1]
            sums_by_layer[layer.node] = squares + sums_by_layer.get(layer.node, 0.0)
    return {node: sums for node, sums in sums_by_layer.items() if np.isfinite(sums).all()}


def _by_channel(array: Array, layer: Weighted) -> Array:
    """Return the results of a layer as [positions, outputs]."""
    return np.moveaxis(array, layer.channel_axis, -1).reshape(-1, layer.outputs)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of a graph, or of a part of it, on random inputs.

    Attributes:
        nodes: The nodes that are computed, in order.
        watched: The values whose arrays are returned.
        deviation: Standard deviation of floating-point inputs.
    """

    nodes: Sequence[Node]
    watched: frozenset[Value]
    deviation: float

    @staticmethod
    def of(graph: Graph) -> _Runs:
        """Return the runs that compute an array of each float value that depends on inputs."""
        watched = frozenset(v for v in _moving(graph) if v.type.dtype.is_float)
        return _Runs(tuple(graph.nodes), watched, _deviation(graph))

    def values(self) -> Iterator[tuple[Value, Array]]:
        """Yield the watched values with their arrays, run after run.

        Values that cannot be computed, such as elements that a table lacks, are left out.
        """
        last = {operand: node for node in self.nodes for operand in node.operands}
        macs = sum(node_macs(node) or 0 for node in self.nodes)
        random = np.random.default_rng(0)
        for _ in range(max(1, min(MAX_RUNS, _MAX_MACS // max(macs, 1)))):
            arrays: dict[Value, Array] = {}
            for node in self.nodes:
                results = self._results(node, arrays, random)
                arrays.update(zip(node.results, results, strict=False))
                for value in node.results:
                    if value in self.watched and value in arrays:
                        yield value, arrays[value]
                for operand in node.operands:
                    if last[operand] is node:
                        arrays.pop(operand, None)

    def _results(
        self, node: Node, arrays: Mapping[Value, Array], random: np.random.Generator
    ) -> Sequence[Array]:
        """Return the results of a node, random ones of an input; none if it has no results."""
        if isinstance(node.op, Input):
            return [_random(node.op.type, self.deviation, random)]
        if any(operand not in arrays for operand in node.operands):
            return ()
        try:
            with np.errstate(all="ignore"):
                return node.op.evaluate(*(arrays[operand] for operand in node.operands))
        except (RlxError, IndexError):
            return ()


def _moving(graph: Graph) -> list[Value]:
    """Return the inputs and all values that depend on them."""
    found: dict[Value, None] = {}
    for node in graph.nodes:
        if isinstance(node.op, Input) or any(o in found for o in node.operands):
            found |= dict.fromkeys(node.results)
    return list(found)


def _deviation(graph: Graph) -> float:
    """Return the standard deviation of inputs with which the first layers' results vary enough."""
    layers, nodes = _first_layers(graph)
    if not layers:
        return 1.0
    results: dict[Value, list[Array]] = {value: [] for value in layers}
    for value, array in _Runs(nodes, frozenset(layers), 1.0).values():
        results[value].append(_by_channel(array, layers[value]))
    means, spreads = 0.0, 0.0
    for arrays in results.values():
        numbers = np.concatenate(arrays).astype(np.float64)
        means += float(np.square(numbers.mean(axis=0)).mean())
        spreads += float(numbers.var(axis=0).mean())
    ratio = math.sqrt(means / spreads) if spreads > 0 and math.isfinite(means) else 0.0
    return min(max(1.0, _MIN_SPREAD * ratio), _MAX_DEVIATION)


def _first_layers(graph: Graph) -> tuple[dict[Value, Weighted], list[Node]]:
    """Return the layers before all others, by their results, and all nodes before them."""
    layers: dict[Value, Weighted] = {}
    behind: set[Value] = set()
    moving = set(_moving(graph))
    for node in graph.nodes:
        layer = Weighted.of(node)
        if any(o in behind for o in node.operands):
            behind.update(node.results)
        elif layer is not None and node.operands[0] in moving:
            layers[node.result] = layer
            behind.add(node.result)
    needed: set[Value] = set(layers)
    nodes: list[Node] = []
    for node in reversed(list(graph.nodes)):
        if not needed.isdisjoint(node.results):
            needed.update(node.operands)
            nodes.append(node)
    return layers, nodes[::-1]


def _random(type_: TensorType, deviation: float, random: np.random.Generator) -> Array:
    """Return random numbers of a type: real ones that change slowly, or integers that it holds.

    Wide integers are indices or counts: they are 0 or 1.
    """
    shape, dtype = type_.static_shape, type_.dtype
    if dtype.is_float:
        return (deviation * _smooth(shape, random)).astype(dtype.numpy)
    if dtype in (DType.I8, DType.U8):
        low, high = integer_range(dtype)
        return random.integers(low, high, shape, endpoint=True).astype(dtype.numpy)
    return random.integers(0, 2, shape).astype(dtype.numpy)


def _smooth(shape: Sequence[int], random: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return random numbers of unit variance whose amplitudes fall with their frequency.

    Natural images have such a spectrum. The first of several axes is that of the batch.
    """
    noise = random.standard_normal(shape)
    axes = tuple(range(min(1, len(shape) - 1), len(shape)))
    if not axes or not noise.size:
        return noise
    frequencies = np.meshgrid(*(np.fft.fftfreq(shape[axis]) for axis in axes), indexing="ij")
    longest = max(shape[axis] for axis in axes)
    squares = sum(np.square(f) for f in frequencies) + (0.5 / longest) ** 2
    amplitudes = squares ** (-_SLOPE / 2)
    smooth = np.fft.ifftn(np.fft.fftn(noise, axes=axes) * amplitudes, axes=axes).real
    return np.asarray(smooth / math.sqrt(float(np.square(amplitudes).mean())), np.float64)
