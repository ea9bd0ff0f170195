"""Effect of the quantization of a single layer on the outputs of the network.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.calibration.replay import CalibrationReplay
from rlx.metrics.runner import Runner
from rlx.ops.nn import NnLogSoftmax, NnSoftmax
from rlx.passes.quantize.bias_correction import corrected_bias
from rlx.passes.quantize.masks import masks
from rlx.passes.quantize.rounding import RoundedWeights, round_weights, smallest_scales
from rlx.passes.quantize.weighted import Weighted, weighted_layers
from rlx.samples.batches import take

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.calibration.observation import Moments
    from rlx.ir import Graph, Node, QuantParams, Value
    from rlx.samples.batches import Samples

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
    """

    def __init__(self, graph: Graph, samples: Samples) -> None:
        """Run ``graph`` on the first samples."""
        self._layers = {layer.node: layer for layer in weighted_layers(graph)}
        watched = [node.result for node in graph.op_nodes if len(node.types) == 1]
        watched = [*graph.inputs, *(v for v in watched if v.type.dtype.is_float)]
        wide = Runner(graph, watched).batch > 1
        self.count = min(MAX_SAMPLES if wide else 1, samples.count)
        self._replay = CalibrationReplay(
            graph, list(dict.fromkeys(watched)), take(samples, self.count)
        )
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
) -> dict[Node, dict[int, float]]:
    """Return the error of each layer for each of its widths."""
    table: dict[Node, dict[int, float]] = {}
    for node, widths in candidates.items():
        table[node] = {bits: sensitivity.of_weights(node, r) for bits, r in widths.items()}
        if progress is not None:
            progress("measuring sensitivity", len(table), len(candidates))
    return table
