"""Fit the estimates of LUTs and flip-flops to what Yosys makes of many cells.

``python -m benchmarks.fpga.fit [--measure | --missing] [FAMILY ...]`` writes the factors of
``rlx_fpga/costs.json``. With ``--measure`` the samples are synthesized first, each family in one
run of Yosys, with ``--missing`` only new ones; otherwise the counts stored with the results of the
benchmarks are used. Samples are separate modules, flattened inside as whole designs are.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from amaranth.back import verilog

import rlx_fpga
from benchmarks.fpga.points import RESULTS
from benchmarks.fpga.samples import samples
from rlx.process import run
from rlx_fpga.cell_model import predicted_structure
from rlx_fpga.cells.multiply import NetlistPlatform
from rlx_fpga.costs import terms_of
from rlx_fpga.devices import devices
from rlx_fpga.netlist import plain_module_names
from rlx_fpga.render import render
from rlx_fpga.synthesis import find_yosys, resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.devices import FpgaDevice

    Row = Mapping[str, Any]

STORED = RESULTS / "fpga_samples.jsonl"
COSTS = Path(rlx_fpga.__file__).parent / "costs.json"
TIMEOUT_S = 7200.0

DEVICES = {"ecp5": "ecp5-85k", "xc7": "artix7-100t", "ice40": "ice40-up5k", "xcup": "zu3eg"}
"""A device of each family that is measured."""

PRIORS = {
    "lut": {
        "one": 4, "add": 1, "count": 0.8, "compare": 0.8, "reach": 0.5, "equal": 0.35,
        "choose": 0.8, "gate": 0.5, "shift": 0.5, "logic": 0.4, "control": 0.5,
        "product": 2, "scaled": 0.7, "tree": 1.5, "paired": 1,
        "memory_luts": 1, "memory_tables": 1, "memory_choice": 0.6, "memory_register": 0.2,
        "memory_shared": 1, "memory_shares": 10, "memory_written": 0.3,
    },
    "ff": {
        "one": 1, "register": 1, "product": 0.65, "scaled": 0.4, "paired": 16, "multiply": 0.01,
        "operands": 1.5,
        "memory_register": 1, "memory_shared": 2, "memory_shares": 10, "memory_written": 1,
    },
}  # fmt: skip
"""Prior cost of a unit of each kind, for kinds that the samples determine poorly."""

STRENGTH = 0.03
"""Weight of the priors relative to the samples."""

SMALL = 60
"""Cells below which an error no longer counts in proportion."""


def main(arguments: Sequence[str]) -> None:
    """Measure if asked, fit, and write the factors."""
    families = [name for name in arguments if name in DEVICES] or list(DEVICES)
    if "--measure" in arguments or "--missing" in arguments:
        for family in families:
            others = [row for row in stored() if row["family"] != family]
            mine = [row for row in stored() if row["family"] == family]
            known = {row["sample"] for row in mine if "--missing" in arguments}
            wanted = [(name, cell) for name, cell in samples() if name not in known]
            measured = synthesized(wanted, devices()[DEVICES[family]])
            rows = others + [row for row in mine if row["sample"] in known] + measured
            STORED.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    rows = stored()
    counts = {name: structure_terms(cell) for name, cell in samples()}
    data = json.loads(COSTS.read_text())
    fitted = data["families"]
    for family in families:
        # Without samples that were removed or changed.
        mine = [row for row in rows if row["family"] == family and row["sample"] in counts]
        if mine:
            data["tool"] = mine[0]["tool"]
            fitted[family] = {
                resource: fit(mine, counts, family, resource) for resource in ("lut", "ff")
            }
    COSTS.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n")


def stored() -> list[Row]:
    """Return the stored measurements."""
    if not STORED.exists():
        return []
    return [json.loads(line) for line in STORED.read_text().splitlines()]


def structure_terms(cell: Cell) -> dict[str, Counter[str]]:
    """Return the terms of a cell for each family."""
    structure = predicted_structure(cell)
    return {family: terms_of(structure, family) for family in DEVICES}


def synthesized(wanted: Sequence[tuple[str, Cell]], device: FpgaDevice) -> list[Row]:
    """Return the cells of each of the ``wanted`` samples on ``device``, by Yosys."""
    tool = find_yosys()
    names = []
    with tempfile.TemporaryDirectory(prefix="rlx-fit-") as work:
        folder = Path(work)
        text = [
            render("multiply.v.j2", name=NetlistPlatform("s").module(logic=False), device=device)
        ]
        for number, (name, cell) in enumerate(wanted):
            top = f"s{number}"
            plain = verilog.convert(
                cell,
                name=top,
                platform=NetlistPlatform("s"),
                emit_src=False,
                strip_internal_attrs=True,
            )
            text.append(plain_module_names(plain.split("\n", 1)[1], top))
            names.append((name, top))
        # Synthesis keeps the ports of the top module, but instances only with an attribute.
        instances = [f"(* keep *) {top} u_{top} ();" for _, top in names]
        text.append("\n".join(["module samples;", *instances, "endmodule\n"]))
        (folder / "samples.v").write_text("".join(text))
        # Inside a sample nothing is kept: in a design, cells share common logic.
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
    rows: Sequence[Row], counts: Mapping[str, Any], family: str, resource: str
) -> dict[str, float]:
    """Return the nonnegative factors that minimize the squares of relative errors."""
    priors = PRIORS[resource]
    wanted = np.array([resources(row["cells"], family)[resource] for row in rows], float)
    terms = np.array(
        [[counts[row["sample"]][family].get(kind, 0) for kind in priors] for row in rows], float
    )
    weights = 1 / np.maximum(wanted, SMALL)
    expected = np.array([*priors.values()], float)
    # In units of the priors, so that all factors are near 1.
    left = terms * expected * weights[:, None]
    pull = STRENGTH * np.sqrt((left**2).sum() / len(expected))
    left = np.vstack([left, pull * np.eye(len(expected))])
    right = np.concatenate([wanted * weights, np.full(len(expected), pull)])
    found = not_negative(left, right) * expected
    _print_errors(rows, resource, wanted, terms @ found)
    return {kind: round(float(n), 4) for kind, n in zip(priors, found, strict=True) if n > 1e-3}


def not_negative(left: Any, right: Any, rounds: int = 4000) -> Any:  # noqa: ANN401 - arrays
    """Return x >= 0 that minimizes ``|left @ x - right|``, by coordinate descent."""
    square, target = left.T @ left, left.T @ right
    x = np.ones(left.shape[1])
    for _ in range(rounds):
        for i in range(len(x)):
            rest = target[i] - square[i] @ x + square[i, i] * x[i]
            x[i] = max(rest / square[i, i], 0.0)
    return x


def _print_errors(
    rows: Sequence[Row],
    resource: str,
    wanted: Any,  # noqa: ANN401
    found: Any,  # noqa: ANN401
) -> None:
    worst = sorted(
        zip(found - wanted, wanted, (row["sample"] for row in rows), strict=True),
        key=lambda t: -abs(t[0]),
    )
    family = rows[0]["family"]
    print(f"{family} {resource}: {wanted.sum():.0f} by Yosys, {found.sum():.0f} estimated")
    for error, counted, name in worst[:8]:
        print(f"  {name}: {counted:.0f} by Yosys, {counted + error:.0f} estimated")


if __name__ == "__main__":
    main(sys.argv[1:])
