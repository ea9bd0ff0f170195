"""Effect of the quantization of a single layer on the outputs of the network.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.calibration.replay import CalibrationReplay
from rlx.ir.file import from_file_bytes, to_file_bytes
from rlx.ir.module import as_module
from rlx.metrics.runner import Runner
from rlx.ops.nn import NnLogSoftmax, NnSoftmax
from rlx.passes.quantize.bias_correction import corrected_bias
from rlx.passes.quantize.masks import masks
from rlx.passes.quantize.rounding import RoundedWeights, round_weights, smallest_scales
from rlx.passes.quantize.weighted import Weighted, weighted_layers
from rlx.samples.batches import read_samples, take
from rlx.support.parallel import IN_PROCESS, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.calibration.observation import Moments
    from rlx.ir import Graph, Node, QuantParams, Value
    from rlx.samples.batches import Samples
    from rlx.support.parallel import Workers

    Numbers = npt.NDArray[Any]
    Progress = Callable[[str, int, int], None]

MAX_SAMPLES: Final = 16
"""Samples on which single layers are quantized."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """Quantized weights of a layer and the matching bias.

    Attributes:
        weights: The quantized weights.
        bias: Float bias [outputs], corrected.
    """

    weights: RoundedWeights
    bias: Numbers


def rounded(
    layer: Weighted,
    bits: int,
    moments: Moments | None,
    *,
    x_scale: float,
    correct: bool,
) -> Rounded:
    """Return a layer's weights in ``bits`` bits.

    Args:
        layer: The layer.
        bits: Width of a weight.
        moments: Moments of its inputs; None if they are not known.
        x_scale: Scale of its input.
        correct: Whether the bias is corrected.
    """
    smallest = smallest_scales(layer, x_scale)
    if moments is None:
        return Rounded(round_weights(layer.rows(), bits, None, smallest), layer.bias)
    if not correct:
        squares = moments.squares
        known = None if squares is None else squares / max(moments.count, 1)
        return Rounded(round_weights(layer.rows(), bits, known, smallest), layer.bias)
    weights = round_weights(layer.rows(), bits, moments.covariance, smallest)
    return Rounded(weights, corrected_bias(layer, weights.reals(), moments.means))


class Sensitivity:
    """Relative squared errors of a network's outputs if one layer is quantized, others are not.

    Outputs of a softmax are judged before it, where errors do not saturate.

    Attributes:
        count: Samples that are run.
        position: Index of each layer with weights.
    """

    def __init__(self, graph: Graph, samples: Samples) -> None:
        """Run ``graph`` on the first samples."""
        self._graph = graph
        self._layers = {layer.node: layer for layer in weighted_layers(graph)}
        self.position = {node: index for index, node in enumerate(self._layers)}
        watched = [node.result for node in graph.op_nodes if len(node.types) == 1]
        watched = [*graph.inputs, *(v for v in watched if v.type.dtype.is_float)]
        wide = Runner(graph, watched).batch > 1
        self.count = min(MAX_SAMPLES if wide else 1, samples.count)
        self._inputs = take(samples, self.count)
        self._replay = CalibrationReplay(graph, list(dict.fromkeys(watched)), self._inputs)
        self._judged = _judged_values(graph)
        self._judged = [v for v in self._judged if v in self._replay.values]
        arrays = [self._replay.values[v] for v in self._judged]
        masking = masks(graph)
        self._unmasked = [
            ~masking[v].where(a) if v in masking else np.ones((), np.bool_)
            for v, a in zip(self._judged, arrays, strict=True)
        ]
        self._references = [
            np.where(m, a, 0.0) for a, m in zip(arrays, self._unmasked, strict=True)
        ]

    def content(self) -> tuple[bytes, bytes]:
        """Return the graph as a file, and its samples as an ``.npz`` file."""
        stream = io.BytesIO()
        np.savez(stream, **self._inputs)  # type: ignore[arg-type]
        return to_file_bytes(as_module(self._graph)), stream.getvalue()

    def of_widths(self, node: Node, widths: Mapping[int, Rounded]) -> dict[int, float]:
        """Return the error for each width of a layer's weights."""
        return {bits: self.of_weights(node, quantized) for bits, quantized in widths.items()}

    def of_weights(self, node: Node, quantized: Rounded) -> float:
        """Return the error if only this layer's weights are quantized."""
        return self._error(node.result, self._result(node, quantized))

    def of_layer(
        self, value: Value, params: QuantParams | None, quantized: Rounded | None
    ) -> float:
        """Return the error if only this layer is quantized: its weights, if any, and its result."""
        array = self._replay.values.get(value)
        if array is None:
            return 0.0
        if quantized is not None:
            array = self._result(value.node, quantized)
        if params is not None:
            array = through(array, params)
        return self._error(value, array)

    def _result(self, node: Node, quantized: Rounded) -> Numbers:
        layer, x = self._layers[node], self._replay.values[node.operands[0]]
        weights = layer.from_rows(quantized.weights.reals())
        bias = quantized.bias.astype(weights.dtype)
        return np.asarray(node.op.evaluate(np.asarray(x), weights, bias)[0])

    def _error(self, value: Value, array: Numbers) -> float:
        found = self._replay.values_with(value, array, self._judged)
        kept = [np.where(m, a, 0.0) for a, m in zip(found, self._unmasked, strict=True)]
        wrong = sum(
            float(((a - b) ** 2).sum()) for a, b in zip(kept, self._references, strict=True)
        )
        whole = sum(float(((b - b.mean()) ** 2).sum()) for b in self._references)
        return wrong / whole if whole else wrong


def _judged_values(graph: Graph) -> list[Value]:
    """Return the float values that outputs are judged by, before a softmax or an argmax."""
    judged: dict[Value, None] = {}
    waiting = list(graph.outputs[::-1])
    while waiting:
        value = waiting.pop()
        node = value.node
        softmax = isinstance(node.op, NnSoftmax | NnLogSoftmax)
        if softmax or (node.operands and not value.type.dtype.is_float):
            waiting += node.operands[:1] if softmax else node.operands[::-1]
        elif value.type.dtype.is_float:
            judged[value] = None
    return list(judged)


def through(array: Numbers, params: QuantParams) -> Numbers:
    """Return floats rounded to the int8 values with ``params``."""
    (scale,), (zero,) = params.scale, params.zero_point
    with np.errstate(over="ignore"):
        steps = np.clip(np.rint(array / scale), -128 - zero, 127 - zero)
    return (steps * scale).astype(array.dtype)


def error_table(
    sensitivity: Sensitivity,
    candidates: Mapping[Node, Mapping[int, Rounded]],
    progress: Progress | None = None,
    pool: Workers = IN_PROCESS,
) -> dict[Node, dict[int, float]]:
    """Return the error of each layer for each of its widths; ``pool`` takes the layers."""
    finished = 0

    def count(index: int) -> None:
        nonlocal finished
        del index
        finished += 1
        if progress is not None:
            progress("measuring sensitivity", finished, len(candidates))

    if pool is IN_PROCESS:
        table = {}
        for index, (node, widths) in enumerate(candidates.items()):
            table[node] = sensitivity.of_widths(node, widths)
            count(index)
        return table
    content, position = sensitivity.content(), sensitivity.position
    tasks = [
        Task(f"layer {node.label}", (*content, position[node], dict(widths)))
        for node, widths in candidates.items()
    ]
    return dict(zip(candidates, pool.results(_errors_on_worker, tasks, count), strict=True))


def _errors_on_worker(
    argument: tuple[bytes, bytes, int, dict[int, Rounded]],
) -> dict[int, float]:
    module, arrays, position, widths = argument
    sensitivity = _sensitivity_on_worker(module, arrays)
    nodes = list(sensitivity.position)
    return sensitivity.of_widths(nodes[position], widths)


@lru_cache(maxsize=1)
def _sensitivity_on_worker(module: bytes, arrays: bytes) -> Sensitivity:
    """Return the sensitivity of a graph, which this worker keeps for the next layers."""
    graph = from_file_bytes(module).graph
    with np.load(io.BytesIO(arrays)) as file:
        samples = read_samples(graph, dict(file), what="calibration data")
    return Sensitivity(graph, samples)
