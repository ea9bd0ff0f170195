"""Output of ``inspect``, ``estimate``, ``compare`` and ``quantize``."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from rlx.cli.schemas.common import Dispatch


class Node(TypedDict):
    """A node of a graph; ``macs`` is None where shapes are symbols."""

    index: int
    op: str
    name: str
    operands: list[str]
    types: list[str]
    macs: int | None
    constants: int
    constant_bytes: int
    users: int
    origin: str
    origins: list[str]


class Inspect(TypedDict):
    """``rlx inspect``; inputs and parameters are types by name, outputs pairs of name and type."""

    name: str
    hash: str
    inputs: dict[str, str]
    params: dict[str, str]
    outputs: list[tuple[str, str]]
    nodes: list[Node]
    op_counts: dict[str, int]
    macs: int | None
    constants: int
    constant_bytes: int


class NodeChange(TypedDict):
    """A node as a line of text in two graphs, and what differs."""

    before: str
    after: str
    details: list[str]


class InspectDiff(TypedDict):
    """``rlx inspect --diff``; ``op_counts`` are those of both graphs where they differ."""

    before: str
    after: str
    removed: list[str]
    added: list[str]
    changed: list[NodeChange]
    outputs: list[str]
    unchanged: int
    op_counts: dict[str, tuple[int, int]]


class Pass(TypedDict):
    """The graph after a pass, and how it differs from the one before.

    The name has the round of a pass that is repeated: ``fuse-pads, round 2``.
    """

    name: str
    stats: str
    diff: InspectDiff | None


class InspectPasses(TypedDict):
    """``rlx inspect --passes``: the model, and each pass that changed it."""

    steps: list[Pass]


class BoundEntry(TypedDict):
    """An input, parameter, output or state; ``offset`` is None where it is not in the arena."""

    name: str
    node: int | None
    dtype: str
    shape: list[int]
    elements: int
    nbytes: int
    offset: int | None
    is_view: bool


class ParameterBlock(TypedDict):
    """Parameters whose names begin alike."""

    prefix: str
    names: list[str]
    nbytes: int


class InspectManifest(TypedDict):
    """``rlx inspect --manifest``: what a run on this machine binds."""

    graph: str
    arena_bytes: int
    alignment: int
    inputs: list[BoundEntry]
    parameters: list[BoundEntry]
    outputs: list[BoundEntry]
    states: list[BoundEntry]
    blocks: list[ParameterBlock]


class NamedEntry(TypedDict):
    """An entry that only one of two models has; ``kind`` is ``input``, ``parameter`` and so on."""

    kind: str
    entry: BoundEntry


class EntryFieldChange(TypedDict):
    """A field of an entry in two models."""

    field: str
    before: Any
    after: Any


class EntryChange(TypedDict):
    """An entry of both models that is not alike."""

    kind: str
    name: str
    changes: list[EntryFieldChange]


class InspectManifestDiff(TypedDict):
    """``rlx inspect --manifest --diff``; sizes of the arena are those of both models."""

    before: str
    after: str
    arena_bytes: tuple[int, int]
    alignment: tuple[int, int]
    added: list[NamedEntry]
    removed: list[NamedEntry]
    changed: list[EntryChange]


class Memory(TypedDict):
    """``rlx inspect --memory``, in bytes; the workspace is None if it is not known."""

    name: str
    arena: int
    inputs: int
    outputs: int
    states: int
    weights: int
    params: int
    workspace: int | None
    total: int


class FusionNode(TypedDict):
    """A node: its op, identifier and name, and where it comes from."""

    op: str
    label: str
    origin: str


class FusedPattern(TypedDict):
    """Nodes that became ``result``; ``exact`` if that gives the same to the last bit."""

    pattern: str
    nodes: list[FusionNode]
    result: str
    detail: str
    exact: bool


class MissedFusion(TypedDict):
    """Fusion that was missed; the reason in a few words, and in a sentence."""

    pattern: str
    node: FusionNode
    reason: str
    text: str


class InspectFiles(TypedDict):
    """``rlx inspect`` with ``--svg``, ``--html`` or ``--dump-dir``: the files that were written."""

    files: list[str]


class InspectFusion(TypedDict):
    """``rlx inspect --fusion``; ``counts`` says how often each pattern was fused."""

    graph: str
    before: int
    after: int
    exact: bool
    counts: dict[str, int]
    fused: list[FusedPattern]
    missed: list[MissedFusion]


class Machine(TypedDict):
    """Limits of a machine, in operations and bytes a second.

    ``bandwidth`` holds pairs: the bytes of data up to which it is reached, and the bandwidth.
    """

    name: str
    device: str
    flops: dict[str, float]
    bandwidth: list[tuple[int, float]]
    overhead_s: float


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
    """``rlx inspect --roofline``; ``shares`` of the time are by what nodes are bound by."""

    graph: str
    machine: Machine
    us: float
    macs: int
    flops: int
    shares: dict[str, float]
    nodes: list[NodeBound]


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
    fits: NotRequired[bool]
    short: NotRequired[str]
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
    """A layer; the last four as in a comparison, where its results are known."""

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


class Latency(TypedDict):
    """Times of single calls, in seconds."""

    calls: int
    minimum: float
    median: float
    p90: float


class Bench(TypedDict):
    """``rlx bench``; the last four are those of ``--against``, ``ratio`` that of the minima."""

    name: str
    batch: int
    ops: int
    macs: int | None
    constant_bytes: int
    latency: Latency
    engine: NotRequired[str]
    other: NotRequired[Latency]
    difference: NotRequired[float]
    ratio: NotRequired[float]
