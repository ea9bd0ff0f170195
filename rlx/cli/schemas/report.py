"""Output of ``report``: :class:`rlx.reports.report.Report`, whose attributes have these names.

Every key is there; a list is empty, and a value None, where nothing is known.
"""

from __future__ import annotations

from typing import Any, TypedDict

from rlx.cli.schemas.common import MemoryBox, Number, Quant, QuantizedPort, Size, Weights


class Figure(TypedDict):
    """A figure of the whole network."""

    name: str
    unit: str
    predicted: Number | None
    measured: Number | None
    limit: Number | None


class ReportLayer(TypedDict):
    """A layer; ``share`` is its part of the time, 0 to 1."""

    index: int
    name: str
    source: str
    op: str
    shape: list[Size]
    dtype: str
    quant: Quant | None
    macs: int | None
    inputs: list[int]
    attributes: dict[str, str]
    weights: Weights | None
    parameters: int
    predicted: int | None
    measured: int | None
    board: Number | None
    share: float
    flash: int | None
    ram: int | None
    kernel: str
    figures: dict[str, Any]


class ReportMemory(TypedDict):
    """The arena over time, in bytes."""

    bytes: int
    boxes: list[MemoryBox]
    limit: int | None


class ReportLayerCells(TypedDict):
    """Cells of a layer by kind; the last row is what belongs to none."""

    name: str
    predicted: dict[str, Number] | None
    synthesis: dict[str, Number]


class Resource(TypedDict):
    """Cells of one kind of an FPGA; ``percent`` is a part of the device."""

    name: str
    predicted: Number | None
    synthesis: Number | None
    placed: Number | None
    available: Number | None
    percent: float | None


class Clock(TypedDict):
    """Clocks in MHz; ``seeds`` are pairs of seed and clock."""

    target: float | None
    seeds: list[tuple[int, float]]
    median: float | None


class Verified(TypedDict):
    """A verification."""

    passed: bool
    inputs: int
    equal: int
    simulators: list[str]
    runs: list[dict[str, Any]]
    mismatches: list[dict[str, Any]]
    notes: list[str]


class ReportAccuracy(TypedDict):
    """Correct classes, by what computed them; ``confusion`` by true (rows) and found class."""

    samples: int
    correct: dict[str, int]
    labels: list[str]
    confusion: list[list[int]]


class ReportLayerChange(TypedDict):
    """A layer of an older and a newer folder; None in the one that does not have it."""

    name: str
    old: ReportLayer | None
    new: ReportLayer | None
    changed: list[str]


class ReportChanges(TypedDict):
    """Differences from an older folder; pairs of figures, the older first."""

    figures: list[tuple[Figure, Figure]]
    ports: list[str]
    layers: list[ReportLayerChange]


class Report(TypedDict):
    """``rlx report``."""

    title: str
    target: str
    device: str
    unit: str
    figures: list[Figure]
    inputs: list[QuantizedPort]
    outputs: list[QuantizedPort]
    layers: list[ReportLayer]
    pipelined: bool
    memory: ReportMemory | None
    resources: list[Resource]
    layer_cells: list[ReportLayerCells]
    placement: str | None
    clock: Clock | None
    verification: Verified | None
    accuracy: ReportAccuracy | None
    changes: ReportChanges | None
    facts: dict[str, str]
    command: str
    warnings: list[str]
