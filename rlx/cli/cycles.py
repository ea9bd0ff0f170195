"""Modelled cycles, for ``rlx verify --cycles``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.cli.number import hertz
from rlx.cli.table import prose, show
from rlx.reports.collect import read_network
from rlx.support.errors import UsageError
from rlx.support.files.outputs import read_manifest
from rlx.support.text.tables import Column, Table
from rlx.targets.verifier import DEFAULT_TIMEOUT_S, modelled_cycles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rlx.targets.verifier import Verification


def modelled_figures(
    folder: Path,
    *,
    part: str | None,
    clock: str | None,
    flash_wait: str | None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Return ``modelled`` of ``rlx verify --json``, and ``milliseconds`` if there is a clock.

    Raises:
        UsageError: The target has no model, or an option does not fit.
        RlxError: The folder is not complete, or a tool is missing or failed.
    """
    modelled = modelled_cycles(
        read_manifest(folder).producer.target,
        folder,
        part=part,
        clock=None if clock is None else hertz(clock),
        flash_wait=flash_wait,
        timeout_s=timeout_s,
        progress=progress,
    )
    if modelled is None:
        raise UsageError(
            f"target {read_manifest(folder).producer.target!r} has no model of cycles",
            where="--cycles",
            hint="leave --cycles out: 'rlx verify' measures the cycles of hardware",
        )
    names = [str(layer["name"]) for layer in read_network(folder)["layers"]]
    time = modelled.milliseconds
    milliseconds = {} if time is None else {"milliseconds": time.as_json()}
    return {"modelled": modelled.as_json(names), **milliseconds}


def with_figures(result: Verification, figures: Mapping[str, Any]) -> Verification:
    """Return results with further figures, if the verifier's results accept them."""
    extended: Callable[[Mapping[str, Any]], Verification] | None = getattr(
        result, "with_figures", None
    )
    return result if extended is None else extended(figures)


def show_modelled(figures: Mapping[str, Any]) -> None:
    """Print the cycles of each layer, and where they come from."""
    if not figures:
        return
    modelled = figures["modelled"]
    clock = modelled["clock_mhz"]
    count = sum(row["instructions"] for row in modelled["layers"])
    columns = [
        Column("layer", shortest=12),
        Column("instr.", right=True, total=count, priority=1),
        Column("cycles", right=True, total=modelled["cycles"]),
        Column("per instr.", right=True, priority=2),
    ]
    if clock is not None:
        columns.append(Column("ms", right=True, total=_milliseconds(modelled["cycles"], clock)))
    rows = []
    for row in modelled["layers"]:
        ratio = row["cycles"] / row["instructions"] if row["instructions"] else 0.0
        time = () if clock is None else (_milliseconds(row["cycles"], clock),)
        rows.append((row["layer"], row["instructions"], row["cycles"], f"{ratio:.2f}", *time))
    device = modelled["device"]
    core = "" if device == modelled["core"] else f" ({modelled['core']})"
    title = f"Modelled cycles on a {device}{core}"
    show([Table(title, tuple(columns), tuple(rows), total="all")])
    prose(
        f"modelled, not measured: {modelled['memory']}; {modelled['note']};"
        f" {modelled['cycles_min']:,} to {modelled['cycles_max']:,} cycles"
    )
    for source in modelled["sources"]:
        prose(f"timings: {source}")


def _milliseconds(cycles: int, clock_mhz: float) -> str:
    return f"{cycles / clock_mhz / 1e3:.3f}"
