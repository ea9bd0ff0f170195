"""Whole designs with the cells that Yosys counted: most are fitted, some are held out.

Rows have their foldings, so that they stay true when the choice among foldings changes. The points
of the tables are fitted, and for iCE40 some that only this module measures; the others are held
out, to measure the error of predictions on other designs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import stored
from benchmarks.fpga import cells
from benchmarks.fpga.folds import pipeline_of
from benchmarks.fpga.points import RESULTS, Point, is_available, load
from rlx_fpga import FpgaOptions
from rlx_fpga.cost.logic import Logic, total
from rlx_fpga.devices import device

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx_fpga.architectures.dataflow.pipeline import Pipeline

STORED = RESULTS / "fpga_designs.jsonl"

KEY = cells.KEY
COSTS = cells.COSTS

FITTED = (
    Point("TinyConv", "ice40-up5k", 2),
    Point("TinyConv", "ice40-up5k", 3),
    Point("TinyConv", "ice40-hx8k", 3600),
    Point("TinyConv", "ice40-hx8k", 4000),
)
"""Designs for iCE40, a family that is not in the tables."""

HELD_OUT = (
    Point("TinyConv", "ice40-up5k", 8),
    Point("TinyConv", "ice40-hx8k", 0),
    Point("TinyConv", "ecp5-85k", 20),
    Point("TinyConv", "zu3eg", 60),
    Point("AD", "zu3eg", 60),
    Point("AD", "ecp5-85k", 120),
    Point("KWS", "zu3eg", 60),
    Point("KWS", "artix7-100t", 80),
    Point("IC", "zu3eg", 120),
    Point("IC", "ecp5-85k", 120),
)
"""Designs that are never fitted."""


@dataclass(frozen=True)
class Design:
    """A stored design.

    Attributes:
        row: The stored entries.
        pipeline: Its hardware.
        held_out: Whether it is not fitted.
    """

    row: Mapping[str, Any]
    pipeline: Pipeline
    held_out: bool

    @property
    def name(self) -> str:
        """Network, device and budget: DSP slices, or LUTs on a device without DSP slices."""
        return "{network} {device} {budget}".format(**self.row)

    @property
    def family(self) -> str:
        """Family of the device."""
        return device(self.row["device"]).family

    @property
    def counts(self) -> dict[str, float]:
        """Cells by Yosys."""
        return {name: self.row[name] for name in cells.COSTS}

    @property
    def logic(self) -> Logic:
        """Logic of its layers."""
        return total(cell.logic for cell in self.pipeline.parts().values())


def measure() -> Iterator[dict[str, Any]]:
    """Yield nothing: synthesis takes too long for every check."""
    yield from ()


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each design that is in no table, where the network is available."""
    for point in (*FITTED, *HELD_OUT):
        if is_available(point.network):
            yield cells.row(point)


def designs() -> Iterator[Design]:
    """Yield the stored designs of available networks."""
    held_out = {tuple(point.key.values()) for point in HELD_OUT}
    for row in (*stored.read(cells.STORED), *stored.read(STORED)):
        if is_available(row["network"]):
            point = Point(row["network"], row["device"], row["budget"])
            options = FpgaOptions(device=point.device)
            pipeline = pipeline_of(load(point.network), options, row["folds"])
            yield Design(row, pipeline, tuple(point.key.values()) in held_out)
