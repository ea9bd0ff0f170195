"""Records of a report, the same for the page, the tables and programs.

Tests: tests/unit/reports/test_page.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.metrics.spread import Spread

    Number = int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of the whole network.

    Attributes:
        name: Name of the figure, such as ``flash``.
        unit: Its unit, empty for a count.
        predicted: Prediction of the compiler, or None.
        measured: Count of a simulator or a tool, or None.
        computed: Figure that follows from others or from an analysis of the placed design, or None.
        assumed: Value on which predictions are based, such as a clock, or None.
        limit: Limit that it must not exceed, or None.
        basis: Source of the figure, if its kind does not say it.
    """

    name: str
    unit: str = ""
    predicted: Number | None = None
    measured: Number | None = None
    computed: Number | None = None
    assumed: Number | None = None
    limit: Number | None = None
    basis: str = ""

    @property
    def best(self) -> Number | None:
        """The first known one of the figures measured, computed, predicted and assumed."""
        known = (self.measured, self.computed, self.predicted, self.assumed)
        return next((one for one in known if one is not None), None)

    @property
    def kind(self) -> str:
        """Kind of the best figure: ``measured``, ``computed``, ``predicted`` or ``assumed``."""
        kinds = ("measured", "computed", "predicted")
        return next((kind for kind in kinds if getattr(self, kind) is not None), "assumed")

    @property
    def error(self) -> float | None:
        """Error of the prediction, as a share of the measured value; None if unknown."""
        return error_of(self.predicted, self.measured)

    @property
    def over(self) -> bool:
        """Whether the limit is exceeded."""
        return self.limit is not None and self.best is not None and self.best > self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightPicture:
    """Cells of a weight tensor; see :func:`rlx.driver.weight_picture.weight_picture`."""

    shape: tuple[int, ...]
    block: tuple[int, int]
    columns: int
    cells: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Figures of a layer's weights; see :func:`rlx.driver.description.weight_figures`.

    ``picture`` is None in folders that an older rlx emitted.
    """

    elements: int
    zeros: int
    low: Number
    high: Number
    step: Number
    counts: tuple[int, ...]
    picture: WeightPicture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer.

    Attributes:
        index: Its position, from 0 on.
        name: Its name in the emitted program.
        source: Name of its result in the model, possibly empty.
        origins: Nodes of the model of which it was made.
        op: Name of the op.
        shape: Shape of its result.
        dtype: Element type of its result.
        quant: Scale and zero point of its result; None without, or with one for each channel.
        macs: Multiply-accumulates of a frame; None if unknown.
        inputs: Positions of the layers that it reads; -1 for the first input of the network.
        attributes: Text of each attribute.
        weights: Figures of its largest constant operand, or None.
        parameters: Elements of its constant operands.
        predicted: Predicted time, in the report's unit, or None.
        measured: The same, measured.
        cycles: Predicted cycles, where the unit is another one, or None.
        modelled: Cycles by a model of the core and a traced run, or None.
        board: Time measured on hardware by the user.
        share: Part of the time of the whole network, measured if it was, else predicted, 0 to 1.
        flash: Predicted bytes of code and constants, or None.
        ram: Bytes of the arena that are in use while it runs, or None.
        kernel: Name of the implementation, possibly empty.
        figures: Everything else that the target says.
    """

    index: int
    name: str
    source: str
    origins: tuple[str, ...] = ()
    op: str
    shape: tuple[int | str, ...]
    dtype: str
    quant: tuple[float, int] | None = None
    macs: int | None = None
    inputs: tuple[int, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    weights: Weights | None = None
    parameters: int = 0
    predicted: int | None = None
    measured: int | None = None
    cycles: int | None = None
    modelled: int | None = None
    board: Number | None = None
    share: float = 0.0
    flash: int | None = None
    ram: int | None = None
    kernel: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def error(self) -> float | None:
        """Error of the prediction, as a share of the measured value; None if unknown."""
        return error_of(self.predicted, self.measured)

    @property
    def type_text(self) -> str:
        """Type of the result, such as ``i8 1 x 8 x 8 x 8``."""
        return f"{self.dtype} {shape_text(self.shape)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """An input or output of the network."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    quant: tuple[float, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBox:
    """Bytes of the arena over some steps.

    Attributes:
        layer: The step that writes it, -1 for an input.
        first: First step at which it is in use.
        last: Last one.
        offset: Bytes from the start of the arena.
        bytes: Its size.
        scratch: Whether it is the layer's own while it runs.
    """

    layer: int
    first: int
    last: int
    offset: int
    bytes: int
    scratch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The arena over time: its size, the values in it, and the given limit, in bytes."""

    bytes: int
    boxes: tuple[MemoryBox, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Cells of one kind of an FPGA.

    Attributes:
        name: ``lut``, ``ff``, ``dsp``, ``bram`` and so on.
        predicted: Prediction of the compiler.
        synthesis: Count after synthesis, or None.
        placed: Count after placement, or None.
        available: Number of cells of the device; None if the folder does not say it.
        percent: Part of the device, of the last of the known counts, or None.
    """

    name: str
    predicted: Number | None
    synthesis: Number | None = None
    placed: Number | None = None
    available: Number | None = None
    percent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCells:
    """Cells of a layer of an FPGA design after synthesis; the last row is the rest.

    Attributes:
        name: Name of the layer.
        predicted: Predictions of the compiler by kind of cell; None if it made none.
        synthesis: Counts after synthesis.
    """

    name: str
    predicted: Mapping[str, Number] | None
    synthesis: Mapping[str, Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Clock of an FPGA design in MHz: assumed by predictions, and reached by each seed."""

    target: float | None
    seeds: tuple[tuple[int, float], ...] = ()
    median: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A verification: frames that were run, those with correct outputs, and each simulation."""

    passed: bool
    inputs: int
    equal: int
    simulators: tuple[str, ...]
    runs: tuple[Mapping[str, Any], ...] = ()
    mismatches: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The verdict in one line."""
        names = f" ({', '.join(self.simulators)})" if self.simulators else ""
        return f"{self.equal} of {self.inputs} outputs equal{names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Correct classes on labelled samples.

    Attributes:
        samples: Number of samples.
        correct: Correct ones by program, such as ``reference`` and ``host-c``.
        labels: Name of each class.
        confusion: Samples by true class (rows) and by class of the emitted network (columns).
    """

    samples: int
    correct: Mapping[str, int]
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyLayer:
    """Losses of a layer by quantization.

    Attributes:
        index: Position of the layer in the report; None if no layer of it has this one's result.
        name: Name of the layer in the report, else in the model.
        bits: Bits of a weight; None without weights.
        sqnr_db: Ratio of signal to quantization noise of its results; None if unknown or infinite.
        cosine: Cosine between its results in the float and in the integer network, or None.
        loss: Relative squared error of the network's outputs with this layer alone quantized.
        results: Spread of its results on calibration data.
        weight_values: Spread of its weights, or None.
    """

    index: int | None
    name: str
    bits: int | None
    sqnr_db: float | None
    cosine: float | None
    loss: float
    results: Spread
    weight_values: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Losses of a network by quantization.

    Attributes:
        graph: Name of the network.
        samples: Samples on which they were measured.
        measured_on: Kind of these samples.
        observer: Method by which ranges were chosen.
        mean_bits: Mean bits of a weight.
        agreement: Share of samples that keep their class; None without classes.
        sqnr_db: Ratio of signal to quantization noise of the output where it is lowest, or None.
        layers: Each layer, in order of execution.
    """

    graph: str
    samples: int
    measured_on: str
    observer: str
    mean_bits: float
    agreement: float | None
    sqnr_db: float | None
    layers: tuple[LossyLayer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerChange:
    """A layer in two versions of a network; one of them is None if the other has no such layer."""

    name: str
    old: Layer | None
    new: Layer | None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Differences from an older folder.

    Attributes:
        figures: Figures of both, under the same name.
        ports: A line for each input or output that changed.
        layers: Every layer of either.
    """

    figures: tuple[tuple[Figure, Figure], ...]
    ports: tuple[str, ...]
    layers: tuple[LayerChange, ...]

    @property
    def count(self) -> int:
        """Layers that are added, removed or changed."""
        return sum(bool(one.changed) or None in (one.old, one.new) for one in self.layers)


def error_of(predicted: Number | None, measured: Number | None) -> float | None:
    """Return the error of a prediction, as a share of the measured value; None if unknown."""
    if not predicted or not measured:  # ops that only move a pointer have no prediction
        return None
    return (predicted - measured) / measured


def shape_text(shape: tuple[int | str, ...]) -> str:
    """Return a shape such as ``1 x 8 x 8``; ``scalar`` for none."""
    return " x ".join(map(str, shape)) or "scalar"
