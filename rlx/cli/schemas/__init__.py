"""Output of commands with ``--json``, and JSON files, as types; JSON Schemas lie beside.

Where a command prints the fields of a dataclass, the dataclass is the type. To add a key, add a
field there or a line to a type here, and run ``tools/schemas.py``. Keys may be added in any
release, so a reader must accept more than it knows; keys that are not ``NotRequired`` stay.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from rlx.cli.demo import MissingPlatform, PlatformRow
from rlx.cli.schemas import analysis, files
from rlx.cli.schemas.common import Accuracy, Assumed, Dispatch, ErrorParts, Number, Port, Seconds
from rlx.cli.schemas.progress import Progress
from rlx.driver.verification import budget
from rlx.ir.diff import GraphDiff
from rlx.ir.inspect import GraphInspection
from rlx.ir.manifest_diff import ManifestDiff
from rlx.reports.folder_diff import FolderDiff
from rlx.reports.report import Report
from rlx.runtime.device_survey import DeviceStatus, UnloadedBackend
from rlx.targets.milliseconds import Milliseconds
from rlx.targets.verifier import NotRun


class Error(TypedDict):
    """Output of every command in place of its result when it fails."""

    error: ErrorParts


class Emit(TypedDict):
    """``rlx emit``; the report has the keys of the target."""

    target: str
    out: str
    report: dict[str, Any]
    changes: NotRequired[FolderDiff]


class Verify(TypedDict):
    """``rlx verify``; further keys are the figures of the target.

    ``inputs`` is the number of frames. The key keeps the name that verifiers of other packages give
    it (:class:`rlx.targets.verifier.Verification`).
    """

    target: str
    inputs: int
    equal: int
    mismatches: list[dict[str, Any]]
    tools: dict[str, str]
    notes: NotRequired[list[str]]
    not_run: NotRequired[list[NotRun]]
    seconds: NotRequired[list[Seconds]]
    runs: NotRequired[list[dict[str, Any]]]
    budget: NotRequired[list[budget.BudgetRow]]
    cached: NotRequired[str]
    milliseconds: NotRequired[Milliseconds]


Ranked = TypedDict("Ranked", {"class": int, "label": str, "score": float})
"""A class with its score."""


class RunOutput(TypedDict):
    """An output of ``rlx run``: extremes of all samples, values and best classes of the first."""

    name: str
    type: str
    minimum: int | float
    maximum: int | float
    argmax: list[int]
    values: NotRequired[list[list[Number]]]
    top: NotRequired[list[list[Ranked]]]


class Run(TypedDict):
    """``rlx run``."""

    frames: int
    outputs: list[RunOutput]
    accuracy: NotRequired[Accuracy]


class Import(TypedDict):
    """``rlx import``."""

    out: str
    stage: str
    inputs: list[Port]
    outputs: list[Port]
    ops: dict[str, int]
    op_count: int
    constant_bytes: int


class Export(TypedDict):
    """``rlx export``; outputs are compared where operators compute in float."""

    out: str
    bytes: int
    exact: bool
    outputs_compared: int
    outputs_differing: int
    largest_difference: float


class Check(Dispatch):
    """``rlx check``; with an error if an op is refused."""

    assumed: NotRequired[Assumed]
    error: NotRequired[ErrorParts]


class Explain(TypedDict):
    """``rlx explain``: meanings by code, or the text of one code."""

    errors: NotRequired[dict[str, str]]
    code: NotRequired[str]
    text: NotRequired[str]


class Targets(TypedDict):
    """``rlx targets``: summaries by name."""

    targets: dict[str, str]


class Devices(TypedDict):
    """``rlx devices``; a device without a backend that can use it has ``backend`` None."""

    devices: list[DeviceStatus]
    unloaded: list[UnloadedBackend]


class Tool(TypedDict):
    """A tool that rlx may use; without a version it is not installed."""

    name: str
    purpose: str
    version: str | None
    install: str


class MissingTool(TypedDict):
    """A part of a job, and the command that installs each tool for it; one of them is enough."""

    part: str
    install: dict[str, str]


class Job(TypedDict):
    """Task that can be done if nothing is missing, and the tools for it that are installed."""

    name: str
    ready: bool
    tools: list[str]
    missing: list[MissingTool]


class Setting(TypedDict):
    """A setting that holds for commands, and the environment variable that sets it."""

    name: str
    variable: str
    value: str | bool | int | None


class Plugin(TypedDict):
    """A plug-in of another package; why it cannot be used, and what to do then, or null."""

    kind: str
    name: str
    package: str
    problem: str | None
    advice: str | None


class Doctor(TypedDict):
    """``rlx doctor``."""

    jobs: list[Job]
    plugins: list[Plugin]
    settings: list[Setting]
    tools: list[Tool]


class BuildResource(TypedDict):
    """Cells of one kind: as estimated, synthesized, placed, and how many the device has."""

    resource: str
    estimate: Number | None
    synthesis: Number | None
    placed: Number | None
    available: Number | None


class LayerCells(TypedDict):
    """Cells of a layer by kind, as estimated and synthesized; the last row is what is of none."""

    layer: str
    op: str | None
    node: str | None
    estimate: dict[str, Number] | None
    synthesis: dict[str, Number]


LongestPath = TypedDict(
    "LongestPath", {"from": str, "to": str, "logic_ns": float, "routing_ns": float}
)  # fmt: skip


class Seed(TypedDict):
    """A run of place and route, and the path that limits its clock."""

    seed: int
    fmax_mhz: float
    longest: LongestPath | None


class Equal(TypedDict):
    """Frames of a simulation, and how many of them have the reference's bits."""

    inputs: int
    equal: int


class NetlistSimulation(Equal):
    """Simulation of a mapped netlist, without pauses and with them; cycles are without."""

    device: str
    cells: int
    latency: int | None
    interval: int | None
    stalled: Equal


class Build(TypedDict):
    """``rlx build``, also ``build.json`` of ``rlx build -o``; the clock is the median of seeds."""

    target: str
    device: str
    resources: list[BuildResource]
    problems: list[str]
    notes: list[str]
    tools: dict[str, str]
    part: NotRequired[str]
    top: NotRequired[str]
    fmax_mhz: NotRequired[float | None]
    interval: NotRequired[int | None]
    frames_per_second: NotRequired[float | None]
    seeds: NotRequired[list[Seed]]
    cells: NotRequired[dict[str, int]]
    layers: NotRequired[list[LayerCells]]
    placement: NotRequired[str | None]
    netlist: NotRequired[NetlistSimulation | None]


class Example(TypedDict):
    """An example, and what it needs beyond the core."""

    name: str
    summary: str
    needs: str


class Examples(TypedDict):
    """``rlx examples``."""

    examples: list[Example]


class New(TypedDict):
    """``rlx new``; files are relative to the folder."""

    kind: str
    out: str
    files: list[str]


class Paths(TypedDict):
    """``rlx paths``; with an option, that path alone."""

    cmake: NotRequired[str]
    make: NotRequired[str]
    schemas: NotRequired[str]


class Demo(TypedDict):
    """``rlx demo``; scores are those of the digits 0 to 9 for one that is the label."""

    network: str
    label: int
    scores: list[float]
    passed: bool
    platforms: list[PlatformRow]
    missing: list[MissingPlatform]


SCHEMAS: Final[dict[str, Any]] = {
    "bench": analysis.Bench,
    "build": Build,
    "check": Check,
    "compare": analysis.Compare,
    "demo": Demo,
    "devices": Devices,
    "diff": FolderDiff,
    "diff-bindings": ManifestDiff,
    "diff-models": GraphDiff,
    "doctor": Doctor,
    "draw": analysis.Draw,
    "emit": Emit,
    "error": Error,
    "estimate": analysis.Estimate,
    "estimate-comparison": analysis.EstimateComparison,
    "examples": Examples,
    "explain": Explain,
    "export": Export,
    "host": analysis.Host,
    "import": Import,
    "inspect": GraphInspection,
    "manifest": files.Manifest,
    "network": files.Network,
    "new": New,
    "passes": analysis.Passes,
    "paths": Paths,
    "profile": analysis.Profile,
    "quantize": analysis.Quantize,
    "progress": Progress,
    "report": Report,
    "run": Run,
    "targets": Targets,
    "verify": Verify,
}
"""The type of each schema by its name: that of a command, of a file, ``error`` or ``progress``.

``manifest`` and ``network`` are the files ``manifest.json`` and ``report/network.json``.
"""
