"""Whole designs, fold by fold, and what Yosys counted: most fitted, some held out.

``fpga_designs.jsonl`` has the foldings, so that rows stay true when the choice among foldings
changes. Held out designs are never fitted: they show how well predictions hold elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import stored
from benchmarks.fpga.points import RESULTS, is_available, load
from rlx import driver, target
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures.dataflow.pipeline import Pipeline
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store
from rlx_fpga.cost.logic import Logic, total
from rlx_fpga.devices import device

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx_fpga.architectures.dataflow.staged import StagedGraph
    from rlx_fpga.explore.fold import Fold

STORED = RESULTS / "fpga_designs.jsonl"

COUNTED = ("lut", "ff", "dsp", "bram")
"""Entries of a row that Yosys counted."""


@dataclass(frozen=True)
class Design:
    """A stored design.

    Attributes:
        row: The stored entries.
        pipeline: Its hardware.
    """

    row: Mapping[str, Any]
    pipeline: Pipeline

    @property
    def name(self) -> str:
        """Network, device and budget: DSP slices, or LUTs on a device that has no DSP slices."""
        return "{network} {device} {budget}".format(**self.row)

    @property
    def family(self) -> str:
        """Family of the device."""
        return device(self.row["device"]).family

    @property
    def held_out(self) -> bool:
        """Whether it is not fitted."""
        return bool(self.row["held_out"])

    @property
    def counts(self) -> dict[str, float]:
        """Cells by Yosys."""
        return {name: self.row[name] for name in COUNTED}

    @property
    def logic(self) -> Logic:
        """What it is made of."""
        return total(cell.logic for cell in self.pipeline.parts().values())


def designs() -> Iterator[Design]:
    """Yield the stored designs of available networks."""
    for row in stored.read(STORED):
        if is_available(row["network"]):
            yield Design(row, pipeline_of(row))


def pipeline_of(row: Mapping[str, Any]) -> Pipeline:
    """Return the pipeline of a stored design."""
    fpga = target.load("fpga")
    options = FpgaOptions(device=row["device"])
    program = staged_graph(driver.lower(load(row["network"]), fpga, options=options).module.graph)
    rows = zip(program.stages, row["folds"], strict=True)
    return Pipeline(program, {stage.name: _fold(program, stage.name, key) for stage, key in rows})


def key_of(fold: Fold) -> list[Any]:
    """Return what identifies a folding of a layer."""
    return [
        fold.pe, fold.simd, fold.beat_cycles, fold.drain_lanes,
        fold.logic, fold.store.value, fold.packing.value,
    ]  # fmt: skip


def _fold(program: StagedGraph, name: str, key: list[Any]) -> Fold:
    """Return the folding of the layer ``name`` that ``key`` identifies."""
    *_, store, packing = key
    stage = next(stage for stage in program.stages if stage.name == name)
    for plain in stage.folds:
        for fold in (plain.packed(Packing(packing)), plain.with_lut_multipliers()):
            found = fold.stored_in(Store(store))
            if key_of(found) == key:
                return found
    raise LookupError(f"{name} has no folding {key}")
