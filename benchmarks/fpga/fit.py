"""Fit the coefficients of LUTs and flip-flops to the results of Yosys for cells and designs.

``python -m benchmarks.fpga.fit [--measure | --missing] [FAMILY ...]`` writes
``rlx_fpga/cost/coefficients.json``. With ``--measure`` the samples are synthesized first, each
family in one run of Yosys, with ``--missing`` only new ones; otherwise the counts stored with the
results of the benchmarks are used. Samples are separate modules, flattened inside as whole designs
are. Whole designs (``benchmarks/fpga/designs.py``) are fitted too, all but those held out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import nnls

import rlx_fpga
from benchmarks.fpga.designs import designs
from benchmarks.fpga.points import RESULTS
from benchmarks.fpga.samples import samples
from rlx.support.process import run
from rlx_fpga.cost.costs import FF_TERMS, LUT_TERMS, terms_of
from rlx_fpga.devices import devices
from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import sources_of
from rlx_fpga.packaging.synthesis import find_yosys, resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.cost.logic import Logic
    from rlx_fpga.devices import FpgaDevice

    Row = Mapping[str, Any]

STORED = RESULTS / "fpga_samples.jsonl"
COEFFICIENTS = Path(rlx_fpga.__file__).parent / "cost" / "coefficients.json"
TIMEOUT_S = 7200.0

DEVICES = {"ecp5": "ecp5-85k", "xc7": "artix7-100t", "ice40": "ice40-up5k", "xcup": "zu3eg"}
"""A device of each family that is measured."""

MIN_PROPORTIONAL_CELLS = 150
"""Cells below which an error no longer counts in proportion."""

DESIGN_WEIGHT = 10
"""Weight of a whole design relative to a sample."""


def main(arguments: Sequence[str]) -> None:
    """Measure if asked, fit, and write the coefficients."""
    families = [name for name in arguments if name in DEVICES] or list(DEVICES)
    if "--measure" in arguments or "--missing" in arguments:
        for family in families:
            _measure(family, only_missing="--missing" in arguments)
    rows = stored()
    cells, whole = dict(samples()), [one for one in designs() if not one.held_out]
    data: dict[str, Any] = {"tool": rows[0]["tool"], "families": {}}
    for family in DEVICES:
        points = [
            CellCounts(row["sample"], cells[row["sample"]].logic, _counts(row))
            for row in rows
            # Not samples that were removed or changed.
            if row["family"] == family and row["sample"] in cells
        ]
        points += [
            CellCounts(one.name, one.logic, one.counts, DESIGN_WEIGHT)
            for one in whole
            if one.family == family
        ]
        data["families"][family] = {
            "lut": fit(points, family, "lut", LUT_TERMS),
            "ff": fit(points, family, "ff", FF_TERMS),
        }
    COEFFICIENTS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True, slots=True)
class CellCounts:
    """Counts by Yosys for a sample or a design.

    Attributes:
        name: Its name.
        logic: Its logic.
        counts: Cells by Yosys, by resource.
        weight: Its weight in the fit.
    """

    name: str
    logic: Logic
    counts: Mapping[str, float]
    weight: float = 1


def _counts(row: Row) -> dict[str, float]:
    return dict(resources(row["cells"], row["family"]))


def _measure(family: str, *, only_missing: bool) -> None:
    """Synthesize the samples for one family and store the counts."""
    others = [row for row in stored() if row["family"] != family]
    mine = [row for row in stored() if row["family"] == family]
    known = {row["sample"] for row in mine if only_missing}
    wanted = [(name, cell) for name, cell in samples() if name not in known]
    measured = synthesized(wanted, devices()[DEVICES[family]])
    rows = others + [row for row in mine if row["sample"] in known] + measured
    STORED.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))


def stored() -> list[Row]:
    """Return the stored measurements."""
    if not STORED.exists():
        return []
    return [json.loads(line) for line in STORED.read_text().splitlines()]


def synthesized(missing_samples: Sequence[tuple[str, Cell]], device: FpgaDevice) -> list[Row]:
    """Return the cells of each of the ``missing_samples`` samples on ``device``, by Yosys."""
    tool = find_yosys()
    names = []
    with tempfile.TemporaryDirectory(prefix="rlx-fit-") as work:
        folder = Path(work)
        text: list[str] = []
        for number, (name, cell) in enumerate(missing_samples):
            top = f"s{number}"
            sources = sources_of(cell, Interface(top, (), ()), family=device.family)
            text += [*sources.modules.values(), sources.core]
            names.append((name, f"{top}_core"))
        # Synthesis keeps the ports of the top module, but instances only with an attribute.
        instances = [f"(* keep *) {top} u_{top} ();" for _, top in names]
        text.append("\n".join(["module samples;", *instances, "endmodule\n"]))
        (folder / "samples.v").write_text("".join(text))
        # Instances inside a sample are not kept: in a design, cells share common logic.
        separate = " ".join(top for _, top in names)
        (folder / "run.ys").write_text(
            f"read_verilog -sv -D RLX_{device.family.upper()} samples.v\n"
            "hierarchy -top samples\nrename -hide */w:*[*\n"
            f"setattr -mod -set keep_hierarchy 1 {separate}\n"
            f"{device.synth} -top samples\ntee -q -o stat.json stat -json\n"
        )
        run((*tool.command, "-q", "-s", "run.ys"), cwd=folder, timeout_s=TIMEOUT_S, hint="")
        modules = json.loads((folder / "stat.json").read_text())["modules"]
    return [
        {
            "sample": name,
            "family": device.family,
            "tool": f"yosys {tool.version}",
            "cells": _cells_below(modules, "\\" + top),
        }
        for name, top in names
    ]


def _cells_below(modules: Mapping[str, Any], top: str) -> Counter[str]:
    """Return the cells of a module, submodules included."""
    cells: Counter[str] = Counter()
    waiting = [top]
    while waiting:
        for kind, count in modules[waiting.pop()]["num_cells_by_type"].items():
            inner = next((name for name in (kind, "\\" + kind) if name in modules), None)
            if inner is None:
                cells[kind] += count
            else:
                waiting += [inner] * count
    return cells


def fit(
    points: Sequence[CellCounts], family: str, resource: str, names: Sequence[str]
) -> dict[str, float]:
    """Return the coefficients, none negative, that minimize the squares of relative errors.

    Args:
        points: Samples and designs.
        family: Family of the device.
        resource: ``lut`` or ``ff``.
        names: Terms.
    """
    terms = [terms_of(one.logic, family) for one in points]
    amounts = np.array([getattr(one, resource) for one in terms], float)
    fixed = np.array([one.fixed[resource == "ff"] for one in terms], float)
    counts = np.array([one.counts[resource] for one in points], float)
    weights = np.array([one.weight for one in points]) / np.maximum(counts, MIN_PROPORTIONAL_CELLS)
    # In units of each term's maximum, so that all columns are of about the same size.
    units = np.maximum(amounts.max(axis=0), 1)
    coefficients, _ = nnls(amounts * weights[:, None] / units, (counts - fixed) * weights)
    coefficients = np.round(coefficients / units, 4)
    _print_errors(f"{family} {resource}", points, counts, amounts @ coefficients + fixed)
    return {name: float(n) for name, n in zip(names, coefficients, strict=True)}


def _print_errors(
    title: str,
    points: Sequence[CellCounts],
    counts: Any,  # noqa: ANN401 - arrays
    predictions: Any,  # noqa: ANN401
) -> None:
    errors = predictions / np.maximum(counts, MIN_PROPORTIONAL_CELLS) - counts / np.maximum(
        counts, MIN_PROPORTIONAL_CELLS
    )
    whole = errors[[one.weight > 1 for one in points]]
    spread = f"designs {whole.min():+.0%} to {whole.max():+.0%}, " if len(whole) else ""
    print(f"{title}: {spread}samples {np.sqrt((errors**2).mean()):.0%} rms; the largest:")
    for n in np.argsort(-abs(predictions - counts) / np.maximum(counts, MIN_PROPORTIONAL_CELLS))[
        :8
    ]:
        print(f"  {points[n].name}: {counts[n]:.0f} by Yosys, {predictions[n]:.0f} predicted")


if __name__ == "__main__":
    main(sys.argv[1:])
