"""Objects that several schemas hold."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Number = int | float

Size = int | str
"""A size of a shape; one that is not known yet is a symbol."""

Quant = tuple[float, int]
"""Scale and zero point."""

ErrorParts = TypedDict(
    "ErrorParts", {"code": str, "message": str, "where": str | None, "try": str}
)  # fmt: skip


class Port(TypedDict):
    """An input or output of a graph."""

    name: str
    dtype: str
    shape: list[Size]


class QuantizedPort(Port):
    """The same with scale and zero point; None without, or with one for each channel."""

    quant: Quant | None


class CheckedOp(TypedDict):
    """Treatment of an op: native, rewritten, decomposed or refused."""

    op: str
    count: int
    path: str
    reason: str
    hint: str | None
    nodes: list[str]


class Dispatch(TypedDict):
    """Treatment of each op of a network on its way to a target, the owner."""

    owner: str
    ready: bool
    ops: list[CheckedOp]


class Assumed(TypedDict):
    """Quantization that was assumed of a float network, and the line that says so."""

    weight_bits: int
    activation_bits: int
    note: str


class Weights(TypedDict):
    """A layer's largest constant; ``counts`` is a histogram from ``low`` on, by ``step``."""

    elements: int
    zeros: int
    low: Number
    high: Number
    step: Number
    counts: list[int]


class MemoryBox(TypedDict):
    """Bytes of the arena from one step to another; -1 is the layer of an input."""

    layer: int
    first: int
    last: int
    offset: int
    bytes: int
    scratch: bool


class Change(TypedDict):
    """A value in an older and a newer folder."""

    name: str
    before: Any
    after: Any
    unit: str


class LayerChange(TypedDict):
    """A layer that was added, removed or changed."""

    name: str
    op: str
    kind: str
    changes: list[Change]


class FolderChanges(TypedDict):
    """Differences between two output folders."""

    before: str
    after: str
    equal: bool
    unchanged: int
    caller: list[Change]
    contents: list[str]
    figures: list[Change]
    files: list[str]
    layers: list[LayerChange]


class Accuracy(TypedDict):
    """Correct classes; ``confusion`` counts samples by true (rows) and found class (columns)."""

    samples: int
    correct: int
    top1: float
    confusion: list[list[int]]


class BudgetRow(TypedDict):
    """A limit beside what is taken; the value is None where it is not known."""

    name: str
    quantity: str
    limit: Number
    value: Number | None
    margin: Number | None
    source: str
    kept: bool


class NotRun(TypedDict):
    """A simulation whose tools are missing, why, and the commands that install them."""

    name: str
    platform: str
    reason: str
    install: str


class Seconds(TypedDict):
    """Wall-clock seconds of the parts of a simulation."""

    simulation: str
    lint: NotRequired[float]
    synthesize: NotRequired[float]
    compile: NotRequired[float]
    simulate: NotRequired[float]
    compare: NotRequired[float]


class Missing(TypedDict):
    """A platform that did not run, why, and what to do."""

    platform: str
    reason: str
    command: str
    failed: NotRequired[bool]
