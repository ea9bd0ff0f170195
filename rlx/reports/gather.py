"""Runs verification, counts of layers and accuracy for a report; reads kept results.

Tests: tests/unit/reports/test_report.py
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from rlx.reports.collect import FolderMeasurements, collect, read_network
from rlx.reports.difference import changes_of
from rlx.reports.labelled import LabelledSamples, accuracy_of
from rlx.reports.losses import losses_beside, losses_of
from rlx.support.errors import TargetNotFoundError, ToolMissingError, UsageError
from rlx.support.files.outputs import read_manifest
from rlx.targets import verifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rlx.ir import Graph
    from rlx.metrics.inference.data import Inputs
    from rlx.reports.model import Losses
    from rlx.reports.report import Report
    from rlx.support.errors import RlxError
    from rlx.targets.verifier import Verification

_MAX_FILE_BYTES: Final = 16 << 20
"""Bytes of a file of measurements."""

_MAX_TIME: Final = 2.0**53
"""Maximum time of a layer: sums of such numbers are finite."""

LAYER_HEADING: Final = "layer,cycles"
"""Heading of the table that ``test/layer_cycles.c`` of an emitted folder prints."""

NOT_AVAILABLE: Final = "not available"
"""Cycles of a layer where no counter runs, as under QEMU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Requested contents of a report in addition to predictions.

    Attributes:
        verify: Returns a verification of the folder; None to run nothing.
        verified: File with the output of ``rlx verify --json``, used instead of a run.
        build: Folder of ``rlx build -o``, or a file with the output of ``rlx build --json``.
        board: File with the time of layers on hardware: ``.json`` (an object), ``.csv``, or a log
            with the table of ``test/layer_cycles.c``.
        data: Labelled samples.
        labels: Names of the classes.
        model: The model's graph, for its accuracy.
        old: An output folder to compare with.
        quantization: File with the losses of the quantization, which ``rlx quantize`` wrote.
        model_file: The model's file; such a file may be next to it.
    """

    verify: Callable[[], Verification] | None = None
    verified: Path | None = None
    build: Path | None = None
    board: Path | None = None
    data: Inputs | None = None
    labels: Sequence[str] = ()
    model: Graph | None = None
    old: Path | None = None
    quantization: Path | None = None
    model_file: Path | None = None


def gather(
    folder: Path, request: ReportRequest, *, progress: Callable[[str], None] | None = None
) -> Report:
    """Return the report of an output folder, with the requested contents.

    Raises:
        OutputError: A folder was not made by rlx or was changed.
        UsageError: A file or the data do not fit.
        RlxError: Error of the verification.
    """
    notify = progress or (lambda _: None)
    producer = read_manifest(folder).producer
    target = producer.target
    network = read_network(folder)
    labelled = _labelled(network, request)
    older = None if request.old is None else collect(request.old)
    known = FolderMeasurements(
        build=None if request.build is None else _build(request.build),
        placement=None if request.build is None else _placement(request.build),
        **({} if request.board is None else _board(request.board, network)),
    )
    losses, lines = _losses(request, collect(folder, known), producer.input_sha256)
    # The inputs are read; what follows takes time.
    notes: list[str] = []
    verification = _verification(request, notes)
    counts = None if notes else _layer_counts(target, folder, request, notify, notes)
    measured = replace(
        known,
        verification=verification,
        layers=None if counts is None else counts.layers,
        tools=None if counts is None else counts.tools,
    )
    report = collect(folder, measured)
    report = replace(
        report, losses=losses, warnings=(*report.warnings, *lines), notes=(*report.notes, *notes)
    )
    if labelled is not None:
        accuracy = accuracy_of(folder, target, labelled, model=request.model, progress=progress)
        report = replace(report, accuracy=accuracy)
    return report if older is None else replace(report, changes=changes_of(older, report))


def _labelled(network: Mapping[str, Any], request: ReportRequest) -> LabelledSamples | None:
    """Return the labelled samples; None without ``--data``.

    Raises:
        UsageError: They do not fit the network, or there are names of classes without them.
    """
    if request.data is not None:
        return LabelledSamples.of(network, request.data, labels=request.labels)
    if request.labels:
        raise UsageError(
            "--labels needs --data: it names the classes of labelled samples",
            hint="add --data SAMPLES.npz, which holds 'y' or 'labels', or leave --labels out",
        )
    return None


def _losses(
    request: ReportRequest, report: Report, network: str | None
) -> tuple[Losses | None, tuple[str, ...]]:
    """Return losses by quantization, from a given file or the one next to the model."""
    if request.quantization is not None:
        return losses_of(request.quantization, report.layers, network)
    if request.model_file is not None:
        return losses_beside(request.model_file, report.layers, network)
    return None, ()


def _verification(request: ReportRequest, notes: list[str]) -> Mapping[str, Any] | None:
    """Return a verification; None and a note where the tools for it are missing."""
    if request.verified is not None:
        return _object(request.verified, ("inputs", "equal", "mismatches"), "rlx verify --json")
    if request.verify is None:
        return None
    try:
        return request.verify().as_json()
    except (ToolMissingError, TargetNotFoundError) as e:
        notes.append(_without_tools("not verified", e))
        return None


def _layer_counts(
    target: str,
    folder: Path,
    request: ReportRequest,
    notify: Callable[[str], None],
    notes: list[str],
) -> verifier.LayerCounts | None:
    """Return the measured time of each layer; None and a note if that is not possible here."""
    if request.verify is None:
        return None
    try:
        return verifier.layer_counts(target, folder, progress=notify)
    except (ToolMissingError, TargetNotFoundError) as e:
        notes.append(_without_tools("layers were not measured", e))
        return None


def _without_tools(what: str, error: RlxError) -> str:
    """Return a note about missing tools, with the commands that install them."""
    return "; ".join([f"{what}: {error.message}", *error.hint.split("\n")])


def _build(path: Path) -> Mapping[str, Any]:
    file = path / "build.json" if path.is_dir() else path
    return _object(file, ("resources", "tools"), "rlx build --json")


def _placement(path: Path) -> str | None:
    """Return the picture of a placement in the folder of a build, if there is one."""
    name = path.is_dir() and _build(path).get("placement")
    if not name:
        return None
    return _text(path / PurePosixPath(str(name)).name)


def _board(path: Path, network: Mapping[str, Any]) -> dict[str, Any]:
    """Return the time of layers by name, measured by the user, and its unit.

    Raises:
        UsageError: The file is not a table of layers and numbers, or names an unknown layer.
    """
    text, where = _text(path), str(path)
    try:
        times = _times(text, is_json=path.suffix.lower() == ".json")
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, csv.Error):
        times = {}
    if not times:
        raise UsageError(
            "expected rows of a layer and a number",
            where=where,
            hint='write {"conv1": 123, ...} into a .json file, or conv1,123 into lines of a .csv',
        )
    known = [layer["name"] for layer in network["layers"]]
    if unknown := sorted(set(times) - set(known)):
        raise UsageError(
            f"no layer is called {unknown[0]!r}", where=where, hint=f"layers: {', '.join(known)}"
        )
    return {"board": times, "board_unit": "cycles" if LAYER_HEADING in text else ""}


def _times(text: str, *, is_json: bool) -> dict[str, float | None]:
    """Return the time of each layer in a table; None where no counter runs.

    Raises:
        ValueError: A time is not a number in range. Malformed tables raise other errors as well.
    """
    rows = json.loads(text).items() if is_json else _csv_rows(text)
    times: dict[str, float | None] = {}
    for name, value in rows:
        time = None if value == NOT_AVAILABLE else float(value)
        if time is not None and not 0 <= time <= _MAX_TIME:
            raise ValueError(time)
        times[str(name).strip()] = time
    return times


def _csv_rows(text: str) -> list[tuple[str, str]]:
    """Return name and number of each layer in a table, or in a log with such a table.

    A log has the heading of ``test/layer_cycles.c``: the last table is read, to its empty line.
    """
    _, heading, table = text.replace("\r", "").rpartition(f"{LAYER_HEADING}\n")
    if heading:
        text = table.partition("\n\n")[0]
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if rows and not heading and not _is_number(rows[0][-1]):
        rows = rows[1:]
    return [(name, value) for name, value, *_ in rows]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _object(path: Path, keys: Sequence[str], command: str) -> Mapping[str, Any]:
    """Return the JSON object in a file that must have some keys.

    Raises:
        UsageError: The file does not exist, or is something else.
    """
    try:
        values = json.loads(_text(path))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or any(key not in values for key in keys):
        raise UsageError(
            f"is not what '{command}' prints", where=str(path), hint=f"make it with '{command}'"
        )
    return values


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise UsageError(
                f"is larger than {_MAX_FILE_BYTES:,} bytes",
                where=str(path),
                hint="give a file that rlx wrote: rlx verify --json, or rlx build",
            )
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            "cannot be read as text",
            where=str(path),
            hint="give a file that rlx wrote: rlx verify --json, or rlx build",
        ) from None
