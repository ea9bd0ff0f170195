"""Quantize a float network with samples to an integer network, and report its losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rlx.calibration.measured import MeasuredGraph
from rlx.calibration.observation import channel_ranges, observe
from rlx.calibration.report import LayerReport, QuantizationReport
from rlx.calibration.sensitivity import Sensitivity, error_table
from rlx.calibration.settings import Settings
from rlx.calibration.useful import check_useful, is_useful
from rlx.calibration.widths import (
    WIDTHS,
    front,
    hull,
    last_accepted,
    mean_bits,
    weight_bytes,
    within,
)
from rlx.ir.layer_names import layer_key, layer_names, origins_of, with_layer_names
from rlx.ir.module import GraphModule, HasModule
from rlx.metrics.compare import compare_on
from rlx.metrics.spread import spread_of_results, spread_of_weights
from rlx.passes.quantize.activations import clamped
from rlx.passes.quantize.equalize import Equalize, before_depthwise, equalize_results
from rlx.passes.quantize.readiness import prepared, simplified
from rlx.passes.quantize.rounding import LIMITS
from rlx.passes.quantize.single import in_float32
from rlx.samples.batches import read_samples
from rlx.support.errors import DoesNotFitError
from rlx.support.parallel import IN_PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.calibration.sensitivity import Rounded
    from rlx.ir import Graph, Node
    from rlx.metrics.comparison_result import Comparison
    from rlx.metrics.spread import Spread
    from rlx.passes.quantize.convert import Converted
    from rlx.samples.batches import Samples
    from rlx.samples.given import Inputs
    from rlx.support.parallel import Workers

    Progress = Callable[[str, int, int], None]

DEFAULT_DROP: Final = 0.01
"""Loss that ``auto`` may cause where nothing is said."""

_EQUALIZATION_SAMPLES: Final = 32
"""Samples on which channels are compared with each other."""

_MIN_LOSS_TO_EQUALIZE: Final = 0.01
"""Loss of a single layer in 8 bits from which equalization is tried."""

_MAX_LOSS_RATIO: Final = 0.7
"""Loss after equalization, relative to the loss before, up to which it is used."""

_BALANCES: Final[dict[str | None, bool | str]] = {
    "none": False, "before-depthwise": "before-depthwise", "all": True
}  # fmt: skip
"""Meaning of ``Settings.balance`` as values of ``equalize``."""

_TOLERANCE: Final = 1e-12
"""Difference of two shares up to which they count as equal: drops are quotients of counts."""


@dataclass(frozen=True, slots=True, repr=False)
class Quantized(HasModule):
    """An integer network and the facts about it.

    Attributes:
        module: The network; its inputs and outputs are still float.
        report: Report of the losses, layer by layer.
    """

    report: QuantizationReport

    def __repr__(self) -> str:
        return repr(self.report).replace("<Report on", "<Quantized", 1)

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        """Return report and network as notebooks show them."""
        return self.report._repr_html_() + (self.module._repr_html_() or "")


def quantize_graph(
    graph: Graph,
    calib: Inputs,
    *,
    test: Inputs | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    pool: Workers = IN_PROCESS,
) -> Quantized:
    """Return the integer network of a float network.

    Args:
        graph: A float network; parameters frozen, dimensions bound.
        calib: Samples that determine ranges, see :func:`rlx.samples.batches.read_samples`. With
            labels, ``auto`` uses the share of correct classes on them.
        test: Other samples, on which the loss is measured; None for the calibration data, which
            the report then says.
        settings: Settings of the quantization.
        progress: Called with a text, the finished and the total amount.
        pool: Measures ranges by samples, and the sensitivity of layers.

    Raises:
        UsageError: The data do not fit.
        UnsupportedOpError: Something has no integer form.
        DoesNotFitError: The limits of the settings cannot be kept.
    """
    settings, graph = settings or Settings(), in_float32(with_layer_names(graph))
    samples = read_samples(graph, calib, what="calibration data")
    tested = read_samples(graph, test, what="test data") if test is not None else None
    work = _Work(graph, samples, tested, settings, progress or _silent, pool)
    return work.run()


def _silent(text: str, count: int, total: int) -> None:
    del text, count, total


@dataclass(slots=True)
class _Work:
    """One network that is being quantized.

    Attributes:
        widened: Whether weights are wider than the drop allows, for the limits of useful outputs.
        balanced: Channels that were balanced, one of ``EQUALIZE``.
    """

    original: Graph
    samples: Samples
    tested: Samples | None
    settings: Settings
    progress: Progress
    pool: Workers
    widened: bool = False
    balanced: str = "none"

    def run(self) -> Quantized:
        """Return the integer network."""
        measured, equalized = self._measured()
        widths = self._widths(measured)
        layers, reported_widths = measured.rounded_layers(widths), measured.stored | widths
        converted = measured.converted(layers)
        comparison = self._compared(converted, self.tested or self.samples, layers=True)
        if equalized:
            comparison = self._balanced_layers(comparison, measured, converted)
        self._check_drop(comparison)
        check_useful(comparison, self.original.name, self.settings)
        self.progress("quantizing single layers", 0, 1)
        report = QuantizationReport(
            graph=self.original.name,
            calibration_samples=measured.observation.samples,
            tested=self.tested is not None,
            observer=self.settings.observer.value,
            equalized=equalized,
            mean_bits=mean_bits(reported_widths, measured.sizes),
            weight_bytes=weight_bytes(reported_widths, measured.sizes),
            comparison=comparison,
            layers=_layer_reports(measured, layers, comparison),
            widened=self.widened,
            settings=self.settings,
            balanced=self.balanced,
        )
        return Quantized(GraphModule.mir(converted.graph), report)

    def _measured(self) -> tuple[MeasuredGraph, bool]:
        """Return the float graph that is converted, and whether its channels were balanced."""
        # Weights that the model stores as integers stay these, unless others are asked for.
        plain = simplified(self.original, keep_stored=self.settings.weights == "8")
        equalize = _BALANCES.get(self.settings.balance, self.settings.equalize)
        if equalize is False:
            return self._measure(plain), False
        balanced = plain if equalize == "before-depthwise" else Equalize().apply(plain)
        if equalize is True:
            filled = self._filled(balanced)
            self._note_balance(plain, balanced, filled)
            return self._measure(filled), balanced is not plain
        filled = self._filled(plain)
        self._note_balance(plain, plain, filled)
        measured, changed = self._measure(filled), filled is not plain
        if balanced is plain or measured.worst_loss() < _MIN_LOSS_TO_EQUALIZE:
            return measured, changed
        other = self._measure(self._filled(balanced))
        if other.worst_loss() < _MAX_LOSS_RATIO * measured.worst_loss():
            self._note_balance(plain, balanced, balanced)
            return other, True
        return measured, changed

    def _note_balance(self, plain: Graph, balanced: Graph, filled: Graph) -> None:
        """Keep which channels were balanced."""
        if balanced is not plain:
            self.balanced = "all"
        else:
            self.balanced = "none" if filled is plain else "before-depthwise"

    def _filled(self, graph: Graph) -> Graph:
        """Return the graph with results before depthwise layers that fill their range."""
        nodes = before_depthwise(graph)
        if not nodes:
            return graph
        few = self.samples.first(_EQUALIZATION_SAMPLES)
        return equalize_results(graph, channel_ranges(graph, nodes, few))

    def _measure(self, graph: Graph) -> MeasuredGraph:
        ready = prepared(graph)
        few = self.settings.weights != "8" or self._few_bits_stated()
        observation = observe(
            ready, self.samples, squares=few, progress=self.progress, pool=self.pool
        )
        sensitivity = Sensitivity(ready, self.samples)
        return MeasuredGraph(ready, self.settings, self.samples, observation, sensitivity)

    def _few_bits_stated(self) -> bool:
        """Return whether the settings of a layer state fewer than 8 bits."""
        file = self.settings.file
        return file is not None and any((one.bits or 8) < 8 for one in file.layers.values())

    def _widths(self, measured: MeasuredGraph) -> dict[Node, int]:
        """Return the width of each layer's weights."""
        nodes, sizes, settings = list(measured.layers), measured.sizes, self.settings
        stated = measured.stated_bits
        if settings.weights != "auto":
            return dict.fromkeys(nodes, int(settings.weights)) | stated
        if len(stated) == len(nodes) and settings.bits is None and settings.flash is None:
            return {node: stated[node] for node in nodes}
        widths = {node: (stated[node],) if node in stated else WIDTHS for node in nodes}
        candidates = {
            node: {bits: measured.weights(node, bits) for bits in widths[node]} for node in nodes
        }
        errors = error_table(measured.sensitivity, candidates, self.progress, self.pool)
        choices = front(errors, sizes)
        if settings.bits is not None or settings.flash is not None:
            return within(choices, nodes, sizes, bits=settings.bits, flash=settings.flash)
        steps = [dict(zip(nodes, c.widths, strict=True)) for c in hull(choices)]
        return self._within_limits(measured, steps)

    def _within_limits(
        self, measured: MeasuredGraph, steps: Sequence[dict[Node, int]]
    ) -> dict[Node, int]:
        """Return the last of ``steps`` that keeps the drop and the limits of useful outputs.

        Each step has fewer bits than the one before.
        """
        limit = DEFAULT_DROP if self.settings.max_drop is None else self.settings.max_drop
        fitted = judges = self.samples
        if self.samples.count > 1:
            # Weights suit the samples that they are fitted to too well: others judge them.
            fitted, judges = self.samples.halves()

        def compared(step: int, samples: Samples, fitted: Samples) -> Comparison:
            self.progress("choosing widths", step, len(steps))
            converted = measured.converted(measured.rounded_layers(steps[step], fitted))
            return self._compared(converted, samples, layers=False)

        # Of few samples, a single one is more than the limit and says little.
        bearable = max(limit, 1 / judges.count) + _TOLERANCE
        step = last_accepted(len(steps), lambda n: compared(n, judges, fitted).drop <= bearable)
        # The data that chose the widths favour them: others, or all, have the last word.
        final = self.tested or self.samples
        while step:
            comparison = compared(step, final, self.samples)
            in_limit = comparison.drop <= limit + _TOLERANCE
            if in_limit and is_useful(comparison, self.settings):
                break
            self.widened |= in_limit
            step = max(0, step - max(1, len(steps) // 16))
        return steps[step]

    def _compared(self, converted: Converted, samples: Samples, *, layers: bool) -> Comparison:
        return compare_on(
            self.original,
            converted.graph,
            (samples, samples),
            layers=layers,
            progress=self.progress if layers else None,
        )

    def _balanced_layers(
        self, comparison: Comparison, measured: MeasuredGraph, converted: Converted
    ) -> Comparison:
        """Return the comparison with the layers next to those of the balanced float network.

        Balanced channels have other factors than in the given network: compared with that one, its
        layers would seem to lose everything.
        """
        samples = self.tested or self.samples
        balanced = compare_on(measured.graph, converted.graph, (samples, samples))
        return replace(comparison, layers=balanced.layers)

    def _check_drop(self, comparison: Comparison) -> None:
        limit = self.settings.max_drop
        if limit is None or comparison.drop <= limit + _TOLERANCE:
            return
        raise DoesNotFitError(
            f"the integer network loses {100 * comparison.drop:.2f} %, more than {100 * limit:g} %",
            where=f"graph {self.original.name!r}",
            hint="allow more bits or a larger drop, or try another observer",
        )


def _layer_reports(
    measured: MeasuredGraph, rounded: Mapping[Node, Rounded], comparison: Comparison
) -> tuple[LayerReport, ...]:
    """Return a row for each layer."""
    closeness = {layer.key: layer.closeness for layer in comparison.layers}
    users, outputs = measured.graph.users(), set(measured.graph.outputs)
    rows, names = [], layer_names(measured.graph)
    for value in measured.reported():
        node, end = value.node, clamped(value, users, outputs)
        layer, params = rounded.get(node), measured.params[value]
        bits = None if layer is None else layer.weights.bits
        histogram = measured.observation.ranges[end].histogram
        rows.append(
            LayerReport(
                name=names[node],
                place=node.origin.location,
                op=node.op.name,
                bits=bits if bits is not None else measured.stored.get(node),
                weights=measured.sizes.get(node, 0),
                minimum=histogram.minimum,
                maximum=histogram.maximum,
                scale=params.scale[0],
                zero_point=params.zero_point[0],
                loss=measured.loss(value, bits),
                closeness=closeness.get(layer_key(node)),
                results=spread_of_results(histogram, params),
                weight_values=None if layer is None else _weight_spread(measured, node, layer),
                range_of=measured.range_of(value),
                origins=origins_of(node),
            )
        )
    return tuple(rows)


def _weight_spread(measured: MeasuredGraph, node: Node, layer: Rounded) -> Spread:
    """Return the spread of a layer's weights against the range of their type."""
    rows, weights = measured.layers[node].rows(), layer.weights
    return spread_of_weights(rows, weights.scales, LIMITS[weights.bits])
