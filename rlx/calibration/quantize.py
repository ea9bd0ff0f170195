"""From a float network and samples to an integer network, with a report of what it lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from rlx.calibration.compare import compare_on
from rlx.calibration.observation import channel_ranges, observe
from rlx.calibration.ranges import MOVING, activation_params, clamped
from rlx.calibration.report import LayerReport, Report
from rlx.calibration.samples import read_samples
from rlx.calibration.sensitivity import Rounded, Sensitivity, error_table, rounded
from rlx.calibration.sequence import rounded_in_sequence
from rlx.calibration.widths import (
    WIDTHS,
    front,
    hull,
    last_accepted,
    mean_bits,
    weight_bytes,
    within,
)
from rlx.errors import DoesNotFitError, UsageError
from rlx.ir.module import GraphModule
from rlx.passes.dead_code import DeadCode
from rlx.passes.fold_constants import FoldConstants
from rlx.quant.convert import convert, prepare
from rlx.quant.equalize import Equalize, before_depthwise, equalize_results
from rlx.quant.fold_batch_norm import FoldBatchNorm
from rlx.quant.observers import Method
from rlx.quant.stored_weights import with_stored_weights
from rlx.quant.weighted import Weighted, weighted_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.calibration.compare import Comparison
    from rlx.calibration.observation import Observation
    from rlx.calibration.samples import Data, Samples
    from rlx.ir import Graph, Node, QuantParams, Value
    from rlx.quant.convert import Converted

    Progress = Callable[[str, int, int], None]

DEFAULT_DROP: Final = 0.01
"""What ``auto`` may lose where nothing is said."""

_FEW: Final = 32
"""Samples on which channels are compared with each other."""

_BAD: Final = 0.01
"""Loss of a single layer in 8 bits from which equalization is tried."""

_GAIN: Final = 0.7
"""Share of that loss that equalization must reach to be used."""

_EQUAL: Final = 1e-12
"""Shares that differ by less are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a network is quantized.

    Attributes:
        weights: Bits of every weight, or ``auto`` for a width for each layer.
        observer: How ranges of activations are chosen.
        symmetric: Whether activations have the zero point 0.
        equalize: Whether channels are balanced across layers; None for where it helps.
        bias_correction: Whether biases make up for what weights lose on average.
        max_drop: What may be lost, as a share; None for no limit.
        bits: Mean bits of a weight that ``auto`` must reach; None for any.
        flash: Bytes of weights that ``auto`` must reach; None for any.
    """

    weights: Literal["8", "4", "2", "auto"] = "8"
    observer: Method = Method.MSE
    symmetric: bool = False
    equalize: bool | None = None
    bias_correction: bool = True
    max_drop: float | None = None
    bits: float | None = None
    flash: int | None = None

    def __post_init__(self) -> None:
        if self.weights not in ("8", "4", "2", "auto"):
            raise UsageError(
                f"weights of {self.weights!r} bits are not known", hint="use 8, 4, 2 or auto"
            )
        if self.weights != "auto" and (self.bits is not None or self.flash is not None):
            raise UsageError(
                "mean bits and flash choose widths, but every weight is to have"
                f" {self.weights} bits",
                hint="use the weights 'auto'",
            )


@dataclass(frozen=True, slots=True)
class Quantized:
    """An integer network and what is known about it.

    Attributes:
        module: The network; its inputs and outputs are still float.
        report: What it lost, layer by layer.
    """

    module: GraphModule
    report: Report


def quantize_graph(
    graph: Graph,
    calib: Data,
    *,
    test: Data | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Quantized:
    """Return the integer network of a float network.

    Args:
        graph: A float network; parameters frozen, dimensions bound.
        calib: Samples from which ranges are taken, see
            :func:`rlx.calibration.samples.read_samples`. With labels, ``auto`` goes by the share
            of correct classes on them.
        test: Other samples, on which the loss is measured; None for the calibration data, which
            the report then says.
        settings: How.
        progress: Called with a text, what is done and what there is to do.

    Raises:
        UsageError: The data do not fit.
        UnsupportedOpError: Something has no integer form.
        DoesNotFitError: The limits of the settings cannot be kept.
    """
    settings = settings or Settings()
    samples = read_samples(graph, calib, what="calibration data")
    tested = read_samples(graph, test, what="test data") if test is not None else None
    work = _Work(graph, samples, tested, settings, progress or _silent)
    return work.run()


def _silent(text: str, done: int, total: int) -> None:
    del text, done, total


@dataclass(slots=True)
class _Measured:
    """A float graph in ops that are converted, with what calibration data say about it.

    Attributes:
        graph: The graph.
        settings: How it is to be quantized.
        samples: The calibration data.
        observation: Ranges and moments.
        sensitivity: Quantizes single layers.
        params: The quantization of each value.
        layers: The layers with weights.
    """

    graph: Graph
    settings: Settings
    samples: Samples
    observation: Observation
    sensitivity: Sensitivity
    params: dict[Value, QuantParams] = field(init=False)
    layers: dict[Node, Weighted] = field(init=False)
    _rounded: dict[tuple[Node, int], Rounded] = field(default_factory=dict)
    _losses: dict[tuple[Value, int | None], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = self.settings
        self.params = activation_params(
            self.graph, self.observation.ranges, settings.observer, symmetric=settings.symmetric
        )
        found = weighted_layers(self.graph)
        self.layers = {v.node: v for v in found if v.node.operands[0] in self.params}

    @property
    def sizes(self) -> dict[Node, int]:
        """Number of weights of each layer."""
        return {node: layer.weights.size for node, layer in self.layers.items()}

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
        inside: set[Value] = set()
        found = []
        for value in self.params:
            node = value.node
            if not node.operands or len(node.types) != 1 or isinstance(node.op, MOVING):
                continue
            if value in inside:
                continue
            inside.add(clamped(value, users, outputs))
            found.append(value)
        return found

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

    def converted(self, widths: Mapping[Node, int], samples: Samples | None = None) -> Converted:
        """Return the integer graph with ``widths`` of the layers' weights.

        Weights of few bits are fitted to ``samples``, by default to all calibration data.
        """
        chosen = self._chosen(widths, samples or self.samples)
        new = {node: (made.weights, made.bias) for node, made in chosen.items()}
        stored, places = with_stored_weights(self.graph, new, by="quantize")
        return convert(stored, {places[v]: p for v, p in self.params.items() if v in places})

    def _chosen(self, widths: Mapping[Node, int], samples: Samples) -> dict[Node, Rounded]:
        """Return the quantized weights of all layers; where few bits lose much, in sequence."""
        if self.settings.bias_correction and min(widths.values(), default=8) < 8:
            found = rounded_in_sequence(self.graph, self.layers, widths, self.params, samples)
            if found is not None:
                return found
        return {node: self.weights(node, bits) for node, bits in widths.items()}


@dataclass(slots=True)
class _Work:
    """One network that is being quantized."""

    original: Graph
    samples: Samples
    tested: Samples | None
    settings: Settings
    progress: Progress

    def run(self) -> Quantized:
        """Return the integer network."""
        measured, equalized = self._measured()
        widths = self._widths(measured)
        converted = measured.converted(widths)
        comparison = self._compared(converted, self.tested or self.samples, layers=True)
        self._check_drop(comparison)
        self.progress("quantizing single layers", 0, 1)
        report = Report(
            graph=self.original.name,
            calibration_samples=measured.observation.samples,
            tested=self.tested is not None,
            observer=self.settings.observer.value,
            equalized=equalized,
            mean_bits=mean_bits(widths, measured.sizes),
            weight_bytes=weight_bytes(widths, measured.sizes),
            comparison=comparison,
            layers=_layer_reports(measured, widths, comparison),
        )
        return Quantized(GraphModule.mir(converted.graph), report)

    def _measured(self) -> tuple[_Measured, bool]:
        """Return the float graph that is converted, and whether its channels were balanced."""
        folded = FoldConstants().apply(self.original)
        plain = DeadCode().apply(FoldBatchNorm().apply(folded))
        wanted = self.settings.equalize
        if wanted is False:
            return self._measure(plain), False
        balanced = Equalize().apply(plain)
        if wanted:
            return self._measure(self._filled(balanced)), balanced is not plain
        filled = self._filled(plain)
        measured, changed = self._measure(filled), filled is not plain
        if balanced is plain or measured.worst_loss() < _BAD:
            return measured, changed
        other = self._measure(self._filled(balanced))
        if other.worst_loss() < _GAIN * measured.worst_loss():
            return other, True
        return measured, changed

    def _filled(self, graph: Graph) -> Graph:
        """Return the graph with results before depthwise layers that fill their range."""
        nodes = before_depthwise(graph)
        if not nodes:
            return graph
        few = self.samples.first(_FEW)
        return equalize_results(graph, channel_ranges(graph, nodes, few))

    def _measure(self, graph: Graph) -> _Measured:
        ready = prepare(DeadCode().apply(graph)).graph
        few = self.settings.weights != "8"
        observation = observe(ready, self.samples, squares=few, progress=self.progress)
        sensitivity = Sensitivity(ready, self.samples)
        return _Measured(ready, self.settings, self.samples, observation, sensitivity)

    def _widths(self, measured: _Measured) -> dict[Node, int]:
        """Return the width of each layer's weights."""
        nodes, sizes, settings = list(measured.layers), measured.sizes, self.settings
        if settings.weights != "auto":
            return dict.fromkeys(nodes, int(settings.weights))
        candidates = {
            node: {bits: measured.weights(node, bits) for bits in WIDTHS} for node in nodes
        }
        errors = error_table(measured.sensitivity, candidates, self.progress)
        choices = front(errors, sizes)
        if settings.bits is not None or settings.flash is not None:
            return within(choices, nodes, sizes, bits=settings.bits, flash=settings.flash)
        steps = [dict(zip(nodes, c.widths, strict=True)) for c in hull(choices)]
        return self._within_drop(measured, steps)

    def _within_drop(
        self, measured: _Measured, steps: Sequence[dict[Node, int]]
    ) -> dict[Node, int]:
        """Return the last of ``steps``, each of fewer bits than the one before, within the drop."""
        limit = DEFAULT_DROP if self.settings.max_drop is None else self.settings.max_drop
        fitted = judges = self.samples
        if self.samples.count > 1:
            # Weights suit the samples that they are fitted to too well: others judge them.
            fitted, judges = self.samples.halves()

        def loss(place: int, samples: Samples, fitted: Samples) -> float:
            self.progress("choosing widths", place, len(steps))
            converted = measured.converted(steps[place], fitted)
            return self._compared(converted, samples, layers=False).drop

        # Of few samples, a single one is more than the limit and says little.
        bearable = max(limit, 1 / judges.count) + _EQUAL
        place = last_accepted(len(steps), lambda n: loss(n, judges, fitted) <= bearable)
        # The data that chose the widths favour them: others, or all, have the last word.
        final = self.tested or self.samples
        while place and loss(place, final, self.samples) > limit + _EQUAL:
            place = max(0, place - max(1, len(steps) // 16))
        return steps[place]

    def _compared(self, converted: Converted, samples: Samples, *, layers: bool) -> Comparison:
        return compare_on(
            self.original,
            converted.graph,
            (samples, samples),
            layers=layers,
            progress=self.progress if layers else None,
        )

    def _check_drop(self, comparison: Comparison) -> None:
        limit = self.settings.max_drop
        if limit is None or comparison.drop <= limit + _EQUAL:
            return
        raise DoesNotFitError(
            f"the integer network loses {100 * comparison.drop:.2f} %, more than {100 * limit:g} %",
            where=f"graph {self.original.name!r}",
            hint="allow more bits or a larger drop, or try another observer",
        )


def _layer_reports(
    measured: _Measured, widths: Mapping[Node, int], comparison: Comparison
) -> tuple[LayerReport, ...]:
    """Return a row for each layer."""
    closeness = {layer.key: layer.closeness for layer in comparison.layers}
    users, outputs = measured.graph.users(), set(measured.graph.outputs)
    rows = []
    for value in measured.reported():
        node, end = value.node, clamped(value, users, outputs)
        bits, params = widths.get(node), measured.params[value]
        histogram = measured.observation.ranges[end].histogram
        rows.append(
            LayerReport(
                name=node.name,
                place=node.origin.location,
                op=node.op.name,
                bits=bits,
                weights=measured.sizes.get(node, 0),
                minimum=histogram.minimum,
                maximum=histogram.maximum,
                scale=params.scale[0],
                zero_point=params.zero_point[0],
                loss=measured.loss(value, bits),
                closeness=closeness.get((node.name, node.origin.location)),
            )
        )
    return tuple(rows)


def settings_of(**given: Any) -> Settings:  # noqa: ANN401 - what the user typed
    """Return settings from plain values: an observer by name, weights as a number.

    Raises:
        UsageError: A value is not known.
    """
    if isinstance(given.get("weights"), int):
        given["weights"] = str(given["weights"])
    observer = given.get("observer")
    if isinstance(observer, str):
        known = {method.value: method for method in Method}
        if observer not in known:
            raise UsageError(
                f"no observer is called {observer!r}", hint=f"observers: {', '.join(known)}"
            )
        given["observer"] = known[observer]
    return Settings(**given)
