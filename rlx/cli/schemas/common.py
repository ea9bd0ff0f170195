"""Objects that several schemas hold.

Tests: tests/cli/test_schemas.py
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from rlx.passes import OpDispatch

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


class PartFit(TypedDict):
    """A microcontroller, and the shares of its memory that a network needs; None if it has none."""

    key: str
    name: str
    core: str
    flash_bytes: int | None
    ram_bytes: int
    flash_percent: float | None
    ram_percent: float


class Dispatch(TypedDict):
    """Treatment of each op of a network on its way to a target, the owner."""

    owner: str
    ready: bool
    ops: list[OpDispatch]


class Accuracy(TypedDict):
    """Correct classes; ``confusion`` counts samples by true (rows) and found class (columns)."""

    samples: int
    correct: int
    top1: float
    confusion: list[list[int]]


class Assumed(TypedDict):
    """Quantization that was assumed of a float network, and the line that says so."""

    weight_bits: int
    activation_bits: int
    note: str


class Seconds(TypedDict):
    """Wall-clock seconds of the parts of a simulation."""

    simulation: str
    lint: NotRequired[float]
    synthesize: NotRequired[float]
    compile: NotRequired[float]
    simulate: NotRequired[float]
    compare: NotRequired[float]
