"""A float network with everything that calibration data say about it.

Tests: tests/unit/calibration/test_sequence.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rlx.calibration.layer_settings import LayerSettings
from rlx.calibration.sensitivity import Rounded, Sensitivity, rounded
from rlx.calibration.sequence import rounded_in_sequence
from rlx.ir import DType
from rlx.ir.layer_names import layer_names
from rlx.ops.nn import NnConv, NnLinear
from rlx.ops.real import RealConv, RealMatmul
from rlx.passes.quantize.activations import (
    MOVING,
    activation_params,
    clamped,
    keeps_quantization,
)
from rlx.passes.quantize.convert import convert
from rlx.passes.quantize.known import stored
from rlx.passes.quantize.known_ranges import known_params
from rlx.passes.quantize.scheme import params_of, range_of
from rlx.passes.quantize.stored_weights import with_stored_weights
from rlx.passes.quantize.weighted import Weighted, weighted_layers
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.calibration.observation import Observation
    from rlx.calibration.settings import Settings
    from rlx.ir import Graph, Node, QuantParams, Value
    from rlx.passes.quantize.activations import Range
    from rlx.passes.quantize.convert import Converted
    from rlx.samples.batches import Samples


_SOURCES: Final = {"known": "known from its op", "operand": "that of its operand"}


@dataclass(frozen=True, slots=True)
class FixedRange:
    """Range that the settings state.

    Attributes:
        ends: Minimum and maximum.
    """

    ends: tuple[float, float]

    def params(self, *, whole: bool, symmetric: bool) -> QuantParams:
        """Return the parameters of int8 values over the range."""
        del whole
        return params_of(*self.ends, symmetric=symmetric)


@dataclass(slots=True)
class MeasuredGraph:
    """A float graph in ops that are converted, with statistics of calibration data.

    Attributes:
        graph: The graph.
        settings: Settings of its quantization.
        samples: The calibration data.
        observation: Ranges and moments.
        sensitivity: Quantizes single layers.
        params: The quantization of each value.
        layers: The layers with weights.
        layer_settings: Settings of single layers, by their results.
    """

    graph: Graph
    settings: Settings
    samples: Samples
    observation: Observation
    sensitivity: Sensitivity
    params: dict[Value, QuantParams] = field(init=False)
    layers: dict[Node, Weighted] = field(init=False)
    layer_settings: dict[Value, LayerSettings] = field(init=False)
    _rounded: dict[tuple[Node, int], Rounded] = field(default_factory=dict)
    _losses: dict[tuple[Value, int | None], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings, observed = self.settings, self.observation.ranges
        weighted = weighted_layers(self.graph)
        self.layers = {v.node: v for v in weighted if v.node.operands[0] in observed}
        self.layer_settings = self._layer_settings()
        ranges: dict[Value, Range] = {v: seen.by(settings.observer) for v, seen in observed.items()}
        users, outputs = self.graph.users(), set(self.graph.outputs)
        for value, stated in self.layer_settings.items():
            end = clamped(value, users, outputs)
            end = end if end in observed else value
            if stated.range is not None:
                ranges[end] = FixedRange(stated.range)
            elif stated.observer is not None:
                ranges[end] = observed[end].by(stated.observer)
        self.params = activation_params(self.graph, ranges, symmetric=settings.symmetric)
        self._check_ranges()

    def _layer_settings(self) -> dict[Value, LayerSettings]:
        """Return the settings of single layers by their results.

        Raises:
            UsageError: A layer is not known, or has no such setting.
        """
        file, results = self.settings.file, self.reported()
        if file is None:
            return {}
        names = layer_names(self.graph)
        labels = [names[value.node] for value in results]
        matched = file.matched(labels, self.graph.name)
        for position, stated in matched.items():
            value, where = results[position], f"{file.where}, layer {labels[position]!r}"
            if stated.bits is not None and value.node not in self.layers:
                raise UsageError(
                    "bits: it has no weights that are quantized",
                    where=where,
                    hint="leave bits out",
                )
            source = self.range_source(value)
            if (stated.range or stated.observer) is not None and source is not None:
                raise UsageError(
                    f"its range is {_SOURCES[source]}, and cannot be chosen",
                    where=where,
                    hint="leave observer and range out",
                )
        return {results[position]: stated for position, stated in matched.items()}

    def _check_ranges(self) -> None:
        """Refuse ranges that are limited by others.

        Raises:
            UsageError: A value does not have the range that the settings state.
        """
        for value, stated in self.layer_settings.items():
            if stated.range is None:
                continue
            stated_params = params_of(*stated.range, symmetric=self.settings.symmetric)
            if self.params[value] != stated_params:
                low, high = range_of(self.params[value])
                raise UsageError(
                    f"range: it is limited to [{low:.6g}, {high:.6g}] by the layers around it, got"
                    f" [{stated.range[0]:.6g}, {stated.range[1]:.6g}]",
                    where=f"settings, {value.node.op.name} {value.node.label}",
                    hint="give it the limited range",
                )

    def range_source(self, value: Value) -> str | None:
        """Return the reason for which the range of a result is not measured; None if it is."""
        node = value.node
        if keeps_quantization(node) and node.operands[0] in self.observation.ranges:
            return "operand"
        return "known" if known_params(value) is not None else None

    def range_of(self, value: Value) -> str:
        """Return the observer that chose the range of a result, or where the range is from."""
        stated = self.layer_settings.get(value, LayerSettings())
        if stated.range is not None:
            return "settings"
        return self.range_source(value) or (stated.observer or self.settings.observer).value

    @property
    def stated_bits(self) -> dict[Node, int]:
        """Bits of the weights of layers that the settings state."""
        pairs = ((value.node, stated.bits) for value, stated in self.layer_settings.items())
        return {node: bits for node, bits in pairs if bits is not None}

    @property
    def sizes(self) -> dict[Node, int]:
        """Number of weights of each layer."""
        own = {node: node.operands[1].type.size for node in self.stored}
        return own | {node: layer.weights.size for node, layer in self.layers.items()}

    @property
    def stored(self) -> dict[Node, int]:
        """Bits of the weights of each layer that the model stores as integers, which stay."""
        found = {}
        for value in self.params:
            layer = isinstance(value.node.op, NnConv | NnLinear | RealConv | RealMatmul)
            for operand in value.node.operands[1:2] if layer else ():
                if (own := stored(operand)) is not None:
                    found[value.node] = DType.of(own.array).bits
        return found

    def weights(self, node: Node, bits: int) -> Rounded:
        """Return a layer's weights in ``bits`` bits, computed once."""
        key = node, bits
        if key not in self._rounded:
            self._rounded[key] = rounded(
                self.layers[node],
                bits,
                self.observation.moments.get(node),
                x_scale=self.params[node.operands[0]].scale[0],
                correct=self.settings.bias_correction,
            )
        return self._rounded[key]

    def reported(self) -> list[Value]:
        """Return the result of each layer; an activation is part of the layer before it."""
        users, outputs = self.graph.users(), set(self.graph.outputs)
        layer_values: set[Value] = set()
        results = []
        for value in self.observation.ranges:
            node = value.node
            if not node.operands or len(node.types) != 1 or isinstance(node.op, MOVING):
                continue
            if value in layer_values:
                continue
            layer_values.add(clamped(value, users, outputs))
            results.append(value)
        return results

    def loss(self, value: Value, bits: int | None) -> float:
        """Return the error of the outputs if only the layer of ``value`` is quantized."""
        key = value, bits
        if key not in self._losses:
            made = None if bits is None else self.weights(value.node, bits)
            self._losses[key] = self.sensitivity.of_layer(value, self.params[value], made)
        return self._losses[key]

    def worst_loss(self) -> float:
        """Return the largest loss of a layer with weights, in 8 bits."""
        return max((self.loss(node.results[0], 8) for node in self.layers), default=0.0)

    def converted(self, layers: Mapping[Node, Rounded]) -> Converted:
        """Return the integer graph with these quantized weights."""
        new = {node: (made.weights, made.bias) for node, made in layers.items()}
        stored, places = with_stored_weights(self.graph, new, by="quantize")
        return convert(stored, {places[v]: p for v, p in self.params.items() if v in places})

    def rounded_layers(
        self, widths: Mapping[Node, int], samples: Samples | None = None
    ) -> dict[Node, Rounded]:
        """Return the quantized weights of all layers; where few bits lose much, in sequence.

        Weights of few bits are fitted to ``samples``, by default to all calibration data.
        """
        samples = samples or self.samples
        if self.settings.bias_correction and min(widths.values(), default=8) < 8:
            fitted = rounded_in_sequence(
                self.graph, self.layers, widths, self.params, self.observation.moments, samples
            )
            if fitted is not None:
                return fitted
        return {node: self.weights(node, bits) for node, bits in widths.items()}
