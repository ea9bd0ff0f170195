"""Output of commands that read a model.

Tests: tests/cli/test_schemas.py
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from rlx.cli.schemas.common import Assumed, Dispatch, PartFit
from rlx.ir.inspect import StepInspection
from rlx.ir.manifest import BindingManifest
from rlx.metrics.spread import Spread
from rlx.passes.fusion import FusionReport
from rlx.runtime.latency import Latency
from rlx.runtime.observation.machine import Machine
from rlx.runtime.observation.memory import MemoryEstimate
from rlx.targets.milliseconds import CycleTiming, Milliseconds


class Passes(TypedDict):
    """``rlx passes``: the model, and each pass that changed it; files are those of --dump-dir."""

    steps: list[StepInspection]
    files: NotRequired[list[str]]


class Draw(TypedDict):
    """``rlx draw``: the file, and its size."""

    out: str
    bytes: int


class NodeBound(TypedDict):
    """The minimum time of a node in microseconds, and what it is bound by."""

    node: int
    op: str
    name: str
    origin: str
    origins: list[str]
    macs: int
    flops: int
    bytes: int
    compute_us: float
    memory_us: float
    overhead_us: float
    us: float
    bound: str


class Roofline(TypedDict):
    """Minimum time of a model; ``shares`` of the time are by what nodes are bound by."""

    graph: str
    machine: Machine
    us: float
    macs: int
    flops: int
    shares: dict[str, float]
    nodes: list[NodeBound]


class Host(TypedDict):
    """``rlx host``: the parts that were asked for; memory and fusion without an option."""

    memory: NotRequired[MemoryEstimate]
    fusion: NotRequired[FusionReport]
    bindings: NotRequired[BindingManifest]
    roofline: NotRequired[Roofline]


class NodeTime(TypedDict):
    """The time of a node in microseconds, and what it does; None is what is not known."""

    node: int
    op: str
    name: str
    origin: str
    origins: list[str]
    calls: int
    us: float
    minimum_us: float
    share: float
    macs: int | None
    flops: int | None
    bytes: int | None
    gflops: float | None
    bound_us: float | None


class LayerTime(TypedDict):
    """The time of all nodes of a layer."""

    layer: str
    ops: list[str]
    us: float
    share: float


class Profile(TypedDict):
    """``rlx profile``; times are medians, in microseconds.

    ``us`` is that of whole runs, ``in_nodes_us`` the sum of those of nodes, ``between_us`` what
    runs take besides.
    """

    graph: str
    where: str
    runs: int
    us: float
    in_nodes_us: float
    between_us: float
    nodes: list[NodeTime]
    layers: list[LayerTime]


class Estimate(TypedDict):
    """``rlx estimate``; further keys, and those of a layer, are the figures of the target."""

    target: str
    dispatch: Dispatch
    layers: list[dict[str, Any]]
    assumed: NotRequired[Assumed]
    fits: NotRequired[bool]
    short: NotRequired[str]
    part: NotRequired[PartFit]
    cycles: NotRequired[int]
    timing: NotRequired[CycleTiming]
    milliseconds: NotRequired[Milliseconds]
    ports: NotRequired[list[str]]


class EstimateRow(TypedDict):
    """The value of the option, by its name, and figures; ``fits`` is None where none exist."""

    fits: bool | None
    reason: str


class EstimateComparison(TypedDict):
    """``rlx estimate`` with several values of an option, as ``--devices all``; the best first."""

    target: str
    option: str
    rows: list[EstimateRow]
    assumed: NotRequired[Assumed]


class Closeness(TypedDict):
    """Differences between two arrays; ``sqnr_db`` is None where they are equal."""

    max: float
    mean: float
    cosine: float
    sqnr_db: float | None


class Pair(TypedDict):
    """A figure of two networks."""

    first: float
    second: float


class Element(TypedDict):
    """An element of two arrays, the sample first; NaN and infinity are texts."""

    index: list[int]
    first: float | str
    second: float | str


class ElementCounts(TypedDict):
    """Elements of two networks."""

    first: int
    second: int


class Difference(Closeness):
    """The same with single elements; figures leave out what is NaN or infinite in either.

    ``relative`` is the largest difference relative to the first network, ``unequal`` counts the
    elements that differ, ``worst`` is where the largest difference is; None where all are equal.
    """

    relative: float
    count: int
    unequal: int
    exact: bool
    worst: Element | None
    nonfinite: ElementCounts
    first_nonfinite: Element | None


class ComparedOutput(Difference):
    """An output of both networks; ``failures`` say what of the criteria is not kept.

    ``agreement`` is None where an output holds no classes.
    """

    name: str
    failures: list[str]
    agreement: float | None


class ComparedLayer(Difference):
    """A layer that both networks have."""

    name: str
    place: str
    origins: list[str]
    op: str


class Comparison(TypedDict):
    """Two networks on the same samples; None is what data or labels do not tell.

    ``passed`` is whether all outputs keep the criteria; None where nothing was asked for.
    """

    samples: int
    agreement: float | None
    top1: Pair | None
    auc: Pair | None
    reconstruction: Pair | None
    drop: float | None
    output: Closeness
    outputs: list[ComparedOutput]
    criteria: str | None
    passed: bool | None


class Compare(Comparison):
    """``rlx compare``."""

    layers: list[ComparedLayer]
    worst: list[str]


class QuantizedLayer(TypedDict):
    """A layer; the last four as in a comparison, where its results are known.

    ``weight_values`` is None without weights, or where the model stores them as integers.
    """

    name: str
    place: str
    origins: list[str]
    op: str
    bits: int | None
    weights: int
    minimum: float
    maximum: float
    scale: float
    zero_point: int
    loss: float
    range_of: str
    results: Spread
    weight_values: Spread | None
    max: NotRequired[float]
    mean: NotRequired[float]
    cosine: NotRequired[float]
    sqnr_db: NotRequired[float | None]


class Quantize(TypedDict):
    """``rlx quantize``."""

    graph: str
    calibration_samples: int
    measured_on: str
    observer: str
    equalized: bool
    mean_bits: float
    weight_bytes: int
    comparison: Comparison
    layers: list[QuantizedLayer]
    worst: list[str]


class OutputDifference(TypedDict):
    """Difference between an output of two engines; ``largest`` is None if it is infinite."""

    name: str
    elements: int
    differing: int
    largest: float | None


class Bench(TypedDict):
    """``rlx bench``; the last eight are those of ``--against``, ``ratio`` that of the minima."""

    name: str
    batch: int
    ops: int
    macs: int | None
    constant_bytes: int
    latency: Latency
    backend: str
    device: str
    machine: str
    versions: list[str]
    check_seconds: float | None
    threads: int | None
    engine: NotRequired[str]
    settings: NotRequired[str]
    other: NotRequired[Latency]
    difference: NotRequired[float | None]
    outputs: NotRequired[list[OutputDifference]]
    notes: NotRequired[list[str]]
    ratio: NotRequired[float]
    median_ratio: NotRequired[float]
