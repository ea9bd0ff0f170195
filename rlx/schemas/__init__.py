"""What commands print with ``--json``, as types; ``NAME.json`` beside them are their JSON Schemas.

To add a key, add a line to a type here and run ``tools/schemas.py``. Keys may be added in any
release, so a reader must accept more than it knows; keys that are not ``NotRequired`` stay.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

ErrorParts = TypedDict(
    "ErrorParts", {"code": str, "message": str, "where": str | None, "try": str}
)  # fmt: skip


class Error(TypedDict):
    """What every command prints in place of its result when it fails."""

    error: ErrorParts


class Emit(TypedDict):
    """``rlx emit``; the report has the keys of the target."""

    target: str
    out: str
    report: dict[str, Any]


class Verify(TypedDict):
    """``rlx verify``; further keys are the figures of the target."""

    target: str
    inputs: int
    equal: int
    mismatches: list[dict[str, Any]]
    tools: dict[str, str]
    notes: NotRequired[list[str]]
    runs: NotRequired[list[dict[str, Any]]]


class RunOutput(TypedDict):
    """An output of ``rlx run``."""

    name: str
    type: str
    minimum: int | float
    maximum: int | float
    argmax: list[int]
    values: NotRequired[list[Any]]
    top: NotRequired[list[Any]]


class Run(TypedDict):
    """``rlx run``."""

    frames: int
    outputs: list[RunOutput]


class Port(TypedDict):
    """An input or output of a graph; a size may be a symbol."""

    name: str
    dtype: str
    shape: list[int | str]


class Import(TypedDict):
    """``rlx import``."""

    out: str
    stage: str
    inputs: list[Port]
    outputs: list[Port]
    ops: dict[str, int]
    op_count: int
    constant_bytes: int


class CheckedOp(TypedDict):
    """What becomes of an op: native, rewritten, decomposed or refused."""

    op: str
    count: int
    path: str
    reason: str
    hint: str | None
    nodes: list[str]


class Check(TypedDict):
    """``rlx check``; with an error if an op is refused."""

    owner: str
    ready: bool
    ops: list[CheckedOp]
    error: NotRequired[ErrorParts]


class Explain(TypedDict):
    """``rlx explain``: meanings by code, or the text of one code."""

    errors: NotRequired[dict[str, str]]
    code: NotRequired[str]
    text: NotRequired[str]


class Targets(TypedDict):
    """``rlx targets``: summaries by name."""

    targets: dict[str, str]


class Tool(TypedDict):
    """A tool that rlx may use; without a version it is not installed."""

    name: str
    purpose: str
    version: str | None
    install: str


class Doctor(TypedDict):
    """``rlx doctor``."""

    jobs: list[dict[str, Any]]
    tools: list[Tool]


class Diff(TypedDict):
    """``rlx diff`` of two output folders."""

    before: str
    after: str
    equal: bool
    unchanged: int
    caller: list[Any]
    contents: list[Any]
    figures: list[Any]
    files: list[Any]
    layers: list[Any]


SCHEMAS: Final[dict[str, Any]] = {
    "check": Check,
    "diff": Diff,
    "doctor": Doctor,
    "emit": Emit,
    "error": Error,
    "explain": Explain,
    "import": Import,
    "run": Run,
    "targets": Targets,
    "verify": Verify,
}
"""The type of each schema by its name, which is that of a command, or ``error``."""
