"""Makes a report of an output folder and of measurements.

Tests: tests/unit/reports/test_report.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rlx.driver.description import NETWORK, SCHEMA
from rlx.reports.commands import command_text
from rlx.reports.figures import figures_of, milliseconds_of, sum_of
from rlx.reports.model import (
    Clock,
    Layer,
    LayerCells,
    Memory,
    MemoryBox,
    Port,
    Resource,
    Verified,
    WeightPicture,
    Weights,
)
from rlx.reports.report import Report
from rlx.support.errors import OutputError
from rlx.support.files.outputs import read_manifest
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rlx.support.files.outputs import Manifest

UNITS: Final = ("instructions", "cycles")
"""Predictions of a layer that are its time, by their key of the target."""

RESOURCES: Final = ("lut", "ff", "dsp", "bram", "spram")

_SHOWN: Final = ("ram_bytes", "flash_bytes")
"""Figures of a layer that are attributes of it."""

_MIN_NOTABLE_ERROR: Final = 0.25
"""Error of a prediction, relative to the measured value, that is worth a warning."""
_MIN_NOTABLE_SHARE: Final = 0.1
"""Share of the whole from which a layer's error is worth a warning."""
_AGAIN: Final = "emit the model again with 'rlx emit'"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderMeasurements:
    """Measurements of a folder; each part may be missing.

    Attributes:
        verification: Output of ``rlx verify --json``.
        layers: Time of each layer, in order.
        build: Output of ``rlx build --json``.
        placement: The picture of the placement that the build left, as SVG.
        board: Time of a layer on hardware, by the layer's name; None where no counter ran.
        board_unit: Unit of these times if it is known: ``cycles``.
        tools: Name and version of each tool used for ``layers``.
    """

    verification: Mapping[str, Any] | None = None
    layers: Sequence[int] | None = None
    build: Mapping[str, Any] | None = None
    placement: str | None = None
    board: Mapping[str, float | None] | None = None
    board_unit: str = ""
    tools: Mapping[str, str] | None = None


def collect(folder: Path, measured: FolderMeasurements | None = None) -> Report:
    """Return the report of an output folder.

    Args:
        folder: Folder that ``rlx emit`` wrote.
        measured: Measurements of it; None for predictions alone.

    Raises:
        OutputError: The folder was not made by rlx or was changed.
    """
    measured = measured or FolderMeasurements()
    manifest, network = read_manifest(folder), read_network(folder)
    totals, options = network["totals"], manifest.producer.options
    verification = None if measured.verification is None else _verified(measured.verification)
    memory = _memory(network, options)
    unit = _unit(network)
    pipelined = bool(totals.get("pipelined", unit == "cycles"))
    report = Report(
        title=str(network["name"]),
        target=manifest.producer.target,
        device=_device(manifest.producer.facts, totals),
        unit=unit,
        figures=figures_of(totals, measured, manifest),
        milliseconds=milliseconds_of(manifest.producer.facts, totals, measured),
        inputs=tuple(_port(one) for one in network["inputs"]),
        outputs=tuple(_port(one) for one in network["outputs"]),
        layers=_layers(network, measured, unit, memory, pipelined=pipelined),
        pipelined=pipelined,
        memory=memory,
        resources=_resources(totals, measured.build),
        layer_cells=_layer_cells(measured.build),
        placement=measured.placement,
        clock=_clock(totals, measured.build),
        verification=verification,
        facts=_facts(manifest, measured),
        command=command_text(manifest.producer.target, options),
    )
    return replace(
        report,
        warnings=_warnings(report, measured),
        notes=_notes(verification, manifest, measured),
    )


def read_network(folder: Path) -> dict[str, Any]:
    """Return ``report/network.json`` of an output folder.

    Raises:
        OutputError: There is none, or it is of another schema.
    """
    where = str(folder / NETWORK)
    try:
        values: dict[str, Any] = json.loads((folder / NETWORK).read_text(encoding="utf-8"))
        schema = values["schema"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(
            "cannot be read: the folder was emitted by an older rlx", where=where, hint=_AGAIN
        ) from None
    if schema != SCHEMA:
        raise OutputError(
            f"has schema {schema!r}, this rlx reads {SCHEMA}", where=where, hint=_AGAIN
        )
    return values


def _unit(network: Mapping[str, Any]) -> str:
    """Return the unit of the target's predictions of time."""
    rows = [layer["figures"] for layer in network["layers"]]
    return next((unit for unit in UNITS if any(unit in row for row in rows)), UNITS[0])


def _device(facts: Mapping[str, Any], totals: Mapping[str, Any]) -> str:
    """Return the processor or FPGA, with the microcontroller if the folder is for one."""
    device = str(facts.get("cpu") or totals.get("device") or "")
    return f"{device} ({facts['part']['name']})" if "part" in facts else device


def _layers(
    network: Mapping[str, Any],
    measured: FolderMeasurements,
    unit: str,
    memory: Memory | None,
    *,
    pipelined: bool,
) -> tuple[Layer, ...]:
    rows = network["layers"]
    counts = measured.layers if measured.layers and len(measured.layers) == len(rows) else None
    board = measured.board or {}
    modelled = (measured.verification or {}).get("modelled", {}).get("layers", ())
    layers = [
        replace(
            _layer(index, row, unit),
            measured=None if counts is None else counts[index],
            modelled=modelled[index]["cycles"] if len(modelled) == len(rows) else None,
            board=board.get(row["name"]),
            ram=_in_use(memory, index),
        )
        for index, row in enumerate(rows)
    ]
    times = [(one.predicted if one.measured is None else one.measured) or 0 for one in layers]
    # Layers that work at the same time are shown relative to the slowest.
    whole = max(times, default=0) if pipelined else sum(times)
    return tuple(
        replace(one, share=time / whole if whole else 0.0)
        for one, time in zip(layers, times, strict=True)
    )


def _layer(index: int, row: Mapping[str, Any], unit: str) -> Layer:
    figures = dict(row["figures"])
    flash = sum_of(figures, ("constant_bytes", "code_bytes"))
    for name in _SHOWN:
        figures.pop(name, None)
    weights = row["weights"]
    return Layer(
        index=index,
        name=row["name"],
        source=row["source"],
        origins=tuple(row.get("origins", ())),  # not in folders of an older rlx
        op=row["op"],
        shape=tuple(row["shape"]),
        dtype=row["dtype"],
        quant=_quant(row),
        macs=row["macs"],
        inputs=tuple(row["inputs"]),
        attributes=row["attributes"],
        weights=None if weights is None else _weights(weights),
        parameters=row["parameters"],
        predicted=figures.pop(unit, None),
        cycles=figures.pop("cycles", None),
        flash=None if flash is None else int(flash),
        kernel=str(figures.pop("kernel", None) or ""),
        figures=figures,
    )


def _weights(values: Mapping[str, Any]) -> Weights:
    picture = values.get("picture")  # older folders have none
    return Weights(
        **{
            **values,
            "counts": tuple(values["counts"]),
            "picture": None if picture is None else _picture(picture),
        }
    )


def _picture(values: Mapping[str, Any]) -> WeightPicture:
    return WeightPicture(
        shape=tuple(values["shape"]),
        block=tuple(values["block"]),
        columns=values["columns"],
        cells=values["cells"],
    )


def _port(row: Mapping[str, Any]) -> Port:
    return Port(name=row["name"], shape=tuple(row["shape"]), dtype=row["dtype"], quant=_quant(row))


def _quant(row: Mapping[str, Any]) -> tuple[float, int] | None:
    return None if row["quant"] is None else (row["quant"][0], row["quant"][1])


def _memory(network: Mapping[str, Any], options: Mapping[str, Any]) -> Memory | None:
    values = network["memory"]
    if values is None:
        return None
    limit = options.get("ram")
    return Memory(
        bytes=values["bytes"],
        boxes=tuple(MemoryBox(**box) for box in values["boxes"]),
        limit=limit if isinstance(limit, int) else None,
    )


def _in_use(memory: Memory | None, step: int) -> int | None:
    if memory is None:
        return None
    return sum(box.bytes for box in memory.boxes if box.first <= step <= box.last)


def _resources(totals: Mapping[str, Any], build: Mapping[str, Any] | None) -> tuple[Resource, ...]:
    rows = {row["resource"]: row for row in (build or {}).get("resources", ())}
    names = [name for name in RESOURCES if name in totals or name in rows]
    return tuple(_resource(name, totals, rows.get(name, {})) for name in names)


def _resource(name: str, totals: Mapping[str, Any], row: Mapping[str, Any]) -> Resource:
    predicted = totals.get(name, row.get("estimate"))
    by_precision = [row.get("placed"), row.get("synthesis"), predicted]
    used, available = (
        next((one for one in by_precision if one is not None), None),
        row.get("available"),
    )
    percent = totals.get(f"{name}_percent")
    if available and used is not None:
        percent = round(100 * used / available, 1)
    return Resource(
        name=name,
        predicted=predicted,
        synthesis=row.get("synthesis"),
        placed=row.get("placed"),
        available=available,
        percent=percent,
    )


def _layer_cells(build: Mapping[str, Any] | None) -> tuple[LayerCells, ...]:
    return tuple(
        LayerCells(name=row["layer"], predicted=row["estimate"], synthesis=row["synthesis"])
        for row in (build or {}).get("layers", ())
    )


def _clock(totals: Mapping[str, Any], build: Mapping[str, Any] | None) -> Clock | None:
    target = totals.get("clock_mhz")
    if target is None and build is None:
        return None
    build = build or {}
    seeds = tuple((int(row["seed"]), float(row["fmax_mhz"])) for row in build.get("seeds", ()))
    return Clock(target=target, seeds=seeds, median=build.get("fmax_mhz"))


def _verified(values: Mapping[str, Any]) -> Verified:
    runs = tuple(values.get("runs", ()))
    names = [str(run.get("simulator") or run.get("simulation")) for run in runs]
    names = [name.partition(",")[0] for name in names]
    inputs, equal, wrong = values["inputs"], values["equal"], tuple(values["mismatches"])
    return Verified(
        passed=inputs > 0 and equal == inputs and not wrong,
        inputs=inputs,
        equal=equal,
        simulators=tuple(dict.fromkeys(names)),
        runs=runs,
        mismatches=wrong,
        notes=tuple(values.get("notes", ())),
    )


def _facts(manifest: Manifest, measured: FolderMeasurements) -> dict[str, str]:
    """Return versions and hashes; those missing in the manifest are left out."""
    producer = manifest.producer
    reference = producer.facts.get("reference") or {}
    verified, build = measured.verification or {}, measured.build or {}
    tools = {**verified.get("tools", {}), **build.get("tools", {}), **(measured.tools or {})}
    cached_at = verified.get("cached")
    facts = {
        "rlx": producer.rlx_version,
        "model file, SHA-256": producer.input_sha256,
        "network, hash": producer.facts.get("model_hash"),
        "prefix of names": producer.facts.get("prefix"),
        "reference": " ".join(str(reference[k]) for k in ("name", "version") if k in reference),
        "files": str(len(manifest.files)),
        "verified": cached_at and f"{cached_at}, nothing changed since",
        **{name: tools[name] for name in sorted(tools)},
    }
    return {name: str(value) for name, value in facts.items() if value}


def _warnings(report: Report, measured: FolderMeasurements) -> tuple[str, ...]:
    verification = report.verification
    lines = []
    if verification is not None and not verification.passed:
        wrong = len(verification.mismatches)
        lines.append(f"outputs differ from the reference: {counted(wrong, 'mismatch')}")
    lines += [
        f"{one.name} exceeds its limit: {one.best:,} of {one.limit:,} {one.unit}"
        for one in report.figures
        if one.over
    ]
    lines += [
        f"{one.name}: predicted {one.predicted:,}, measured {one.measured:,} {report.unit}"
        for one in report.layers
        if one.share >= _MIN_NOTABLE_SHARE and abs(one.error or 0) > _MIN_NOTABLE_ERROR
    ]
    clock = report.clock
    if clock is not None and clock.median and clock.target and clock.median < clock.target:
        lines.append(
            f"place and route reached {clock.median:g} MHz, predictions assume {clock.target:g} MHz"
        )
    lines += (measured.build or {}).get("problems", ())
    return tuple(dict.fromkeys(lines))


def _notes(
    verification: Verified | None, manifest: Manifest, measured: FolderMeasurements
) -> tuple[str, ...]:
    """Return conversions of ports, and what verification, build and board left out."""
    stood_still = None in (measured.board or {}).values()
    return tuple(
        dict.fromkeys(
            [
                *map(str, manifest.producer.facts.get("ports", ())),
                *(verification.notes if verification is not None else ()),
                *(measured.build or {}).get("notes", ()),
                *(["cycles on the board are not available: no counter ran"] if stood_still else ()),
            ]
        )
    )
