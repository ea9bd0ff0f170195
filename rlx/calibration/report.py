"""Report of a network that was quantized.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.calibration.layer_settings import settings_text
from rlx.metrics.comparison_result import MAX_WORST_LAYERS
from rlx.ops.q import QConv2d, QDense
from rlx.support.text.notebook import report_html
from rlx.support.text.tables import Column, Figures, ReportFigure, Table, view_text

if TYPE_CHECKING:
    from rlx.calibration.settings import Settings
    from rlx.ir import Graph
    from rlx.metrics.comparison_result import Comparison
    from rlx.metrics.figures import Closeness
    from rlx.metrics.spread import Spread


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One layer of the float network and its integer form.

    Attributes:
        name: Name of the layer.
        place: Origin, such as ``operator 3 CONV_2D``.
        op: Its op.
        bits: Bits of a weight; None if it has none.
        weights: Number of weights.
        minimum: Smallest number of its results on calibration data.
        maximum: Largest value.
        scale: Scale of its int8 results.
        zero_point: Their zero point.
        loss: Relative squared error of the network's outputs if only this layer is quantized.
        closeness: Closeness of its results in the integer network; None if they are not known.
        results: Spread of its results on calibration data, those of its activation if it has one.
        weight_values: Spread of its weights; None without, or where the model stores integers.
        range_of: Observer that chose the range of its results; ``settings`` if a settings file
            states the range, ``known`` if the op has it by definition, ``operand`` if it is that of
            the operand.
        origins: Nodes of the model of which it was made.
    """

    name: str
    place: str
    op: str
    bits: int | None
    weights: int
    minimum: float
    maximum: float
    scale: float
    zero_point: int
    loss: float
    closeness: Closeness | None
    results: Spread
    weight_values: Spread | None
    range_of: str
    origins: tuple[str, ...] = ()

    def figures(self) -> dict[str, Any]:
        """Return everything but the spreads as JSON values."""
        figures = {
            "name": self.name,
            "place": self.place,
            "origins": list(self.origins),
            "op": self.op,
            "bits": self.bits,
            "weights": self.weights,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "scale": self.scale,
            "zero_point": self.zero_point,
            "loss": self.loss,
            "range_of": self.range_of,
        }
        return figures | (self.closeness.as_json() if self.closeness is not None else {})

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        weights = None if self.weight_values is None else self.weight_values.as_json()
        return self.figures() | {"results": self.results.as_json(), "weight_values": weights}


_COLUMNS: Final = (
    Column("layer", shortest=16),
    Column("op", priority=2),
    Column("bits", priority=1),
    Column(
        "output error, this layer only",
        meaning="relative squared error of the outputs if only this layer is quantized",
    ),
    Column("SQNR", "dB", meaning="signal to quantization noise; higher is closer"),
)


@dataclass(frozen=True, slots=True, repr=False)
class QuantizationReport:
    """Outcome of the quantization of a network.

    Attributes:
        graph: Name of the network.
        calibration_samples: Samples that determined ranges.
        tested: Whether the loss was measured on other samples.
        observer: Method by which ranges were chosen.
        equalized: Whether channels were balanced across layers.
        mean_bits: Mean bits of a weight.
        weight_bytes: Bytes of all weights, packed.
        comparison: The float and the integer network on the same samples.
        layers: Each layer; none where the network held its own scales.
        random: Whether the samples were random.
        widened: Whether weights are wider than the drop allows, for the limits of useful outputs.
        settings: Settings of the quantization; None where the network held its own scales.
        balanced: Channels that were balanced, one of ``EQUALIZE``.
    """

    graph: str
    calibration_samples: int
    tested: bool
    observer: str
    equalized: bool
    mean_bits: float
    weight_bytes: int
    comparison: Comparison
    layers: tuple[LayerReport, ...]
    random: bool = False
    widened: bool = False
    settings: Settings | None = None
    balanced: str = "none"

    @property
    def measured_on(self) -> str:
        """Kind of the samples that the loss was measured on."""
        if self.random:
            return "random data"
        return "test data" if self.tested else "calibration data"

    @property
    def worst(self) -> tuple[LayerReport, ...]:
        """The layers that lose most when quantized alone, the worst first."""
        return tuple(sorted(self.layers, key=lambda layer: -layer.loss)[:MAX_WORST_LAYERS])

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures().items())
        return f"<Report on {self.graph!r}: {figures}>"

    def __str__(self) -> str:
        figures = tuple(ReportFigure(name, value) for name, value in self.figures().items())
        return view_text([self.table(), Figures("", figures)])

    def table(self) -> Table:
        """Return a row for each layer."""
        rows = tuple(
            (
                layer.name,
                layer.op,
                layer.bits,
                layer.loss,
                None if layer.closeness is None else layer.closeness.as_json()["sqnr_db"],
            )
            for layer in self.layers
        )
        return Table(f"Layers of {self.graph}, quantized", _COLUMNS, rows)

    def _repr_html_(self) -> str:
        """Return the figures and the table of layers that notebooks show."""
        rows = [layer.figures() for layer in self.layers]
        return report_html(f"{self.graph}: quantized", self.figures(), rows)

    def settings_text(self, *, fix_ranges: bool = False) -> str:
        """Return the settings of each layer as TOML, for ``settings`` of ``rlx.quantize``.

        Args:
            fix_ranges: Whether layers have the range of their results in place of the observer, so
                that a network that was trained again is quantized with the same ranges.

        Raises:
            UsageError: The network held its own scales.
        """
        return settings_text(self, fix_ranges=fix_ranges)

    def figures(self) -> dict[str, str]:
        """Return the figures of the whole as text, by name."""
        size = {
            "bits of a weight": f"{self.mean_bits:.3g}",
            "weights": f"{self.weight_bytes:,} bytes",
        }
        return {**size, **self.comparison.figures()}

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        comparison = self.comparison.as_json()
        del comparison["layers"], comparison["worst"]
        return {
            "graph": self.graph,
            "calibration_samples": self.calibration_samples,
            "measured_on": self.measured_on,
            "observer": self.observer,
            "equalized": self.equalized,
            "mean_bits": self.mean_bits,
            "weight_bytes": self.weight_bytes,
            "comparison": comparison,
            "layers": [layer.as_json() for layer in self.layers],
            "worst": [layer.name for layer in self.worst],
        }


def weight_figures(graph: Graph) -> dict[str, Any]:
    """Return mean bits of a weight and bytes of all weights, packed, of an integer graph."""
    layers = [n for n in graph.op_nodes if isinstance(n.op, QConv2d | QDense)]
    sizes = [(n.operands[1].type.dtype.bits, n.operands[1].type.size) for n in layers]
    total = sum(size for _, size in sizes)
    return {
        "mean_bits": sum(bits * size for bits, size in sizes) / max(total, 1),
        "weight_bytes": sum((bits * size + 7) // 8 for bits, size in sizes),
    }
