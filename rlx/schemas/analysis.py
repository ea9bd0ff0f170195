"""What ``inspect``, ``estimate``, ``compare`` and ``quantize`` print."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from rlx.schemas.common import Dispatch


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
    """The graph after a pass, and how it differs from the one before."""

    name: str
    stats: str
    diff: InspectDiff | None


class InspectPasses(TypedDict):
    """``rlx inspect --passes``."""

    steps: list[Pass]


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
    """How far two arrays are apart; ``sqnr_db`` is None where they are equal."""

    max: float
    mean: float
    cosine: float
    sqnr_db: float | None


class Pair(TypedDict):
    """A figure of two networks."""

    first: float
    second: float


class ComparedLayer(Closeness):
    """A layer that both networks have."""

    name: str
    place: str
    op: str


class Comparison(TypedDict):
    """Two networks on the same samples; None is what data or labels do not tell."""

    samples: int
    agreement: float | None
    top1: Pair | None
    auc: Pair | None
    reconstruction: Pair | None
    drop: float | None
    output: Closeness


class Compare(Comparison):
    """``rlx compare``."""

    layers: list[ComparedLayer]
    worst: list[str]


class QuantizedLayer(TypedDict):
    """A layer; the last four as in a comparison, where its results are known."""

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
