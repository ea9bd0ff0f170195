"""Results of every layer of a network for samples, kept as figures and not as arrays.

Tests: tests/unit/metrics/inference/test_layers.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rlx.ir.inspect import printable
from rlx.ir.layer_names import name_nodes
from rlx.metrics.compare import compare_on
from rlx.metrics.histogram import Histogram
from rlx.metrics.inference.data import samples_of
from rlx.metrics.node_match import matched_layers
from rlx.metrics.runner import Runner, computed_values
from rlx.ops.numbers import sample_reals
from rlx.ops.real.cast import integer_range
from rlx.support.errors import UsageError
from rlx.support.text.notebook import table_html
from rlx.support.text.suggest import no_such_key
from rlx.support.text.tables import Column, Table, lay_out, text_of
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, TensorType, Value
    from rlx.metrics.figures import Closeness
    from rlx.metrics.inference.data import Inputs
    from rlx.samples.batches import Samples

    Numbers = npt.NDArray[Any]
    Progress = Callable[[str, int, int], None]

_COLUMNS = (
    Column("layer"),
    Column("op"),
    Column("type"),
    Column("min"),
    Column("max"),
    Column("saturated", "%"),
    Column("SQNR", "dB"),
)


class Counts(NamedTuple):
    """A histogram, in the form of ``numpy.histogram``."""

    counts: npt.NDArray[np.int64]
    """Numbers in each bin."""
    edges: npt.NDArray[np.float64]
    """Ends of the bins as floats, one more than there are bins."""


@dataclass(frozen=True, slots=True, repr=False)
class LayerValues:
    """Results of a layer for all samples.

    Attributes:
        name: Its name; made different from those of other layers where it was not.
        op: Name of its op, such as ``q.conv2d``.
        place: Origin, such as ``operator 3 CONV_2D``; may be empty.
        type: Type of its result, for one sample.
        minimum: Smallest float.
        maximum: Largest float.
        saturated: Share of integers at an end of their type's range, not counting those that
            represent zero; None if they are floats.
        histogram: Count of each value: integers of 8 bits one by one, others in bins.
        closeness: Closeness to the same layer of another network, of what the layer returns; None
            without one, and for the other nodes that the layer was made of.
    """

    name: str
    op: str
    place: str
    type: TensorType
    minimum: float
    maximum: float
    saturated: float | None
    histogram: Counts
    closeness: Closeness | None
    _again: Callable[[], Array]

    @property
    def array(self) -> Numbers:
        """Values of the layer, ``[samples, *shape]``; computed again, kept until others are."""
        return self._again()

    @property
    def codes(self) -> Numbers:
        """Its integers, as :attr:`array`.

        Raises:
            UsageError: It returns floats.
        """
        if not self.type.dtype.is_integer:
            raise UsageError(
                f"expected quantized values, got {self.type}",
                where=f"layer {printable(self.name)!r}",
                hint="use .values",
            )
        return self.array

    @property
    def values(self) -> Numbers:
        """Its floats, as :attr:`array`."""
        return sample_reals(self.array, self.type)

    @property
    def sqnr_db(self) -> float | None:
        """Ratio of signal to quantization noise in decibels; None if nothing was compared."""
        return None if self.closeness is None else self.closeness.sqnr_db

    def __repr__(self) -> str:
        share = "" if self.saturated is None else f", {100 * self.saturated:.2g} % saturated"
        extent = f"{text_of(self.minimum)} to {text_of(self.maximum)}"
        return f"<{self.op} {self.name!r}: {self.type}, {extent}{share}>"


class Layers(Mapping[str, LayerValues]):
    """Results of every layer, by its name, in order.

    Figures were gathered batch by batch. The numbers of a layer are computed again when they are
    asked for; those of the last layer asked for are kept.

    Attributes:
        samples: Number of samples.
    """

    def __init__(self, layers: Sequence[LayerValues], samples: int) -> None:
        self._layers = {layer.name: layer for layer in layers}
        self.samples = samples

    def __getitem__(self, name: str) -> LayerValues:
        if name not in self._layers:
            raise no_such_key(name, self._layers, what="layer")
        return self._layers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)

    def _table(self) -> Table:
        """Return a row for each layer; with the last column only if layers were compared."""
        rows = [
            (
                printable(v.name),
                v.op,
                str(v.type.with_quant(None)),
                v.minimum,
                v.maximum,
                None if v.saturated is None else 100 * v.saturated,
                v.sqnr_db,
            )
            for v in self.values()
        ]
        count = len(_COLUMNS) - all(v.sqnr_db is None for v in self.values())
        title = counted(self.samples, "sample")
        return Table(title, _COLUMNS[:count], tuple(row[:count] for row in rows))

    def __repr__(self) -> str:
        return "\n".join(line.text.rstrip() for line in lay_out(self._table()).lines)

    def _repr_html_(self) -> str:
        return table_html(self._table())


@dataclass(slots=True)
class _Accumulator:
    """Figures of one value, gathered batch by batch."""

    type: TensorType
    histogram: Histogram = field(default_factory=Histogram)
    counts: npt.NDArray[np.int64] | None = None
    at_ends: int = 0
    total: int = 0

    def __post_init__(self) -> None:
        if self.exact:
            self.counts = np.zeros(1 << self.type.dtype.bits, np.int64)

    @property
    def exact(self) -> bool:
        """Whether each integer is counted separately."""
        quant = self.type.quant
        whole = quant is None or quant.axis is None
        return self.type.dtype.is_integer and self.type.dtype.bits <= 8 and whole

    @property
    def low(self) -> int:
        """The smallest integer of the type."""
        return integer_range(self.type.dtype)[0]

    def add(self, array: Array) -> None:
        """Add a batch.

        Raises:
            ValueError: A value is NaN or infinite.
        """
        numbers: Numbers = np.asarray(array)
        self.total += numbers.size
        if self.counts is not None:
            shifted = numbers.reshape(-1).astype(np.int64) - self.low
            self.counts += np.bincount(shifted, minlength=len(self.counts))
            return
        if self.type.dtype.is_integer:
            low, high = integer_range(self.type.dtype)
            self.at_ends += int(((numbers == low) | (numbers == high)).sum())
        self.histogram.add(sample_reals(numbers, self.type))

    def range(self) -> tuple[float, float]:
        """Return the smallest and the largest float."""
        if self.counts is None:
            return self.histogram.minimum, self.histogram.maximum
        used = np.flatnonzero(self.counts)
        return self._real(float(used[0])), self._real(float(used[-1]))

    def saturated(self) -> float | None:
        """Return the share of integers at an end of their range, but for zeros."""
        if self.counts is None:
            return self.at_ends / max(self.total, 1) if self.type.dtype.is_integer else None
        quant = self.type.quant
        zero = 0 if quant is None else quant.zero_point[0]
        ends = {0, len(self.counts) - 1} - {zero - self.low}
        return sum(int(self.counts[end]) for end in ends) / max(self.total, 1)

    def as_counts(self) -> Counts:
        """Return the histogram."""
        if self.counts is not None:
            edge_positions = np.arange(len(self.counts) + 1) - 0.5
            return Counts(self.counts, np.array([self._real(p) for p in edge_positions.tolist()]))
        histogram = self.histogram
        counts = histogram.counts.copy()
        counts[-histogram.first] += histogram.zeros  # zeros belong to the bin that begins with zero
        edges = (np.arange(len(counts) + 1, dtype=np.float64) + histogram.first) * histogram.width
        return Counts(counts, edges)

    def _real(self, position: float) -> float:
        """Return the float of a place among the counts."""
        quant = self.type.quant
        code = position + self.low
        return code if quant is None else (code - quant.zero_point[0]) * quant.scale[0]


def layers(
    graph: Graph, data: Inputs, *, against: Graph | None = None, progress: Progress | None = None
) -> Layers:
    """Return the results of every layer of ``graph`` for data.

    Args:
        graph: A network whose dimensions are integers.
        data: As for :func:`rlx.metrics.inference.run`.
        against: Another network, such as the float one that ``graph`` was quantized from: the
            layers of both are compared.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit the inputs, or a layer returns NaN or infinity.
        FrontendError: A file is damaged.
    """
    samples = samples_of(graph, data)
    figures_by_value = _accumulate(graph, samples, progress)
    close: dict[Value, Closeness] = {}
    if against is not None:
        pair = samples_of(against, data), samples
        figures = compare_on(against, graph, pair, progress=progress).layers
        matched = matched_layers(against, graph)
        close = {m.row: f.closeness for m, f in zip(matched, figures, strict=True)}
    numbers = _LayerRunner(graph, samples)
    names = _names(list(figures_by_value))
    return Layers(
        [
            _layer(names[value], value, seen, close.get(value), numbers)
            for value, seen in figures_by_value.items()
        ],
        samples.count,
    )


def _accumulate(
    graph: Graph, samples: Samples, progress: Progress | None
) -> dict[Value, _Accumulator]:
    """Run a graph and return the figures of all values that depend on its inputs."""
    figures_by_value = {value: _Accumulator(value.type) for value in computed_values(graph)}
    count = 0
    for inputs, arrays in Runner(graph, list(figures_by_value)).run(samples):
        for (value, layer_figures), array in zip(figures_by_value.items(), arrays, strict=True):
            try:
                layer_figures.add(array)
            except ValueError:
                raise UsageError(
                    "gives NaN or infinite numbers for data that are finite",
                    where=f"{value.node.op.name} {printable(value.node.label)}",
                    hint="check how the data are scaled, and the weights",
                ) from None
        count += len(next(iter(inputs.values())))
        if progress is not None:
            progress("measuring layers", count, samples.count)
    return figures_by_value


def _names(values: Sequence[Value]) -> dict[Value, str]:
    """Return a name for each value that no other has."""
    names = name_nodes(v.node for v in values)
    return {
        v: names[v.node] if len(v.node.types) == 1 else f"{names[v.node]}.{v.index}" for v in values
    }


def _layer(
    name: str, value: Value, figures: _Accumulator, close: Closeness | None, numbers: _LayerRunner
) -> LayerValues:
    low, high = figures.range()
    return LayerValues(
        name=name,
        op=value.node.op.name,
        place=value.node.origin.location,
        type=value.type,
        minimum=low,
        maximum=high,
        saturated=figures.saturated(),
        histogram=figures.as_counts(),
        closeness=close,
        _again=lambda: numbers.of(value),
    )


class _LayerRunner:
    """Computes the numbers of a layer; keeps those of one."""

    def __init__(self, graph: Graph, samples: Samples) -> None:
        self._graph, self._samples = graph, samples
        self._last: tuple[Value, Array] | None = None

    def of(self, value: Value) -> Array:
        """Return a value for all samples, ``[samples, *shape]``; it cannot be written to."""
        if self._last is None or self._last[0] != value:
            runs = Runner(self._graph, [value]).run(self._samples)
            array = np.concatenate([arrays[0].copy() for _, arrays in runs])
            array.flags.writeable = False
            self._last = value, array
        return self._last[1]
