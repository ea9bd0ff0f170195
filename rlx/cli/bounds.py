"""Counts that no input exceeds, for ``rlx verify --bound``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.cli.table import prose, show
from rlx.reports.collect import read_network
from rlx.support.errors import UsageError
from rlx.support.files.outputs import read_manifest
from rlx.support.text.tables import Column, Table
from rlx.targets.verifier import count_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def derived_bounds(
    folder: Path, *, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Return ``bound`` of ``rlx verify --json``: that of a frame and of each layer.

    Raises:
        UsageError: The target has no bounds.
        RlxError: The folder is not complete, or a tool is missing or failed.
    """
    target = read_manifest(folder).producer.target
    bounds = count_bounds(target, folder, progress=progress)
    if bounds is None:
        raise UsageError(
            f"target {target!r} has no bound on counts", where="--bound", hint="leave --bound out"
        )
    names = [str(layer["name"]) for layer in read_network(folder)["layers"]]
    return {"bound": bounds.as_json(names)}


def show_bounds(bounds: Mapping[str, Any]) -> None:
    """Print the bounds, or the reason that there is none."""
    if not bounds:
        return
    bound = bounds["bound"]
    total = bound["instructions"]
    if total is None:
        prose(f"no bound on the instructions for every input: {bound['reason']}")
        return
    columns = (Column("layer", shortest=12), Column("instr.", right=True, total=total))
    rows = tuple((row["layer"], row["instructions"]) for row in bound["layers"])
    note = ", which every input needs exactly" if bound["is_exact"] else ""
    show([Table(f"Bound for every input{note}: instructions", columns, rows, total="all")])
    if not rows:
        prose(f"no bound by layer: {bound['reason']}")
