"""Measured points: networks, each folded for several multiplier budgets of each device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import reference
from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_fpga.cells.multiply import PACKINGS, Packing
from rlx_fpga.devices import device

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx.ir.module import GraphModule

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"

FILES = {
    "KWS": "kws_ref_model.tflite",
    "IC": "pretrainedResnet_quant.tflite",
    "VWW": "vww_96_int8.tflite",
    "AD": "ad01_int8.tflite",
}
"""Short names of MLPerf Tiny to the files of its int8 models."""

NETWORKS = ("TinyConv", *FILES)
"""Networks in the order of the tables."""

BUDGETS = {"ecp5-85k": (40, 80, 156), "artix7-100t": (40, 120, 240)}
"""For each device the DSP slices of its points: few, about half, and all."""

KEY = ("network", "device", "budget")
"""Entries of a row that identify its point."""

PointKey = tuple[str, str, int]
"""The values of :data:`KEY`."""

FRAMES = 4
PREFIX = "net"
TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Point:
    """A network, the device that it is emitted for, and a budget.

    Attributes:
        network: One of :data:`NETWORKS`.
        device: Name of a device.
        budget: Number of DSP slices that the design may use; on a device without any, of LUTs,
            where 0 means that only the device is a limit.
    """

    network: str
    device: str
    budget: int

    @property
    def key(self) -> dict[str, Any]:
        """The entries of :data:`KEY`."""
        return {"network": self.network, "device": self.device, "budget": self.budget}

    @property
    def options(self) -> FpgaOptions:
        """Options that the design is emitted with."""
        if device(self.device).dsp:
            return FpgaOptions(prefix=PREFIX, device=self.device, dsp=self.budget)
        return FpgaOptions(prefix=PREFIX, device=self.device, lut=self.budget or None)

    def module(self) -> GraphModule:
        """Return the imported network."""
        return load(self.network)

    def emit(self, folder: Path) -> dict[str, Any]:
        """Write the design with :data:`FRAMES` random frames to ``folder``; return its report."""
        module = self.module()
        golden = reference_outputs(module.graph, random_inputs(module.graph, FRAMES))
        fpga = target.load("fpga")
        emission = driver.emit(module, fpga, folder, options=self.options, golden=golden)
        return dict(emission.report)


CHECKED_POINTS = (Point("TinyConv", "ecp5-85k", 40), Point("AD", "ecp5-85k", 40))
"""Points that every check simulates."""


def points() -> Iterator[Point]:
    """Yield the points of available networks: TinyConv always, others under ``RLX_SHARED``."""
    for network in filter(is_available, NETWORKS):
        for name, budgets in BUDGETS.items():
            yield from (Point(network, name, budget) for budget in budgets)


def point_of(row: Mapping[str, Any]) -> PointKey:
    """Return the values of :data:`KEY` in a row."""
    return row["network"], row["device"], row["budget"]


def bound(row: Mapping[str, Any]) -> float:
    """Return a lower bound on the interval, from the multiplications of a row's DSP slices.

    Layers with fewer DSP slices than products use LUT multipliers and do not count.
    """
    products = 1 if PACKINGS[device(row["device"]).family] is Packing.NONE else 2
    macs = sum(
        layer["macs"]
        for layer in row["layers"]
        if layer["multipliers"] * products >= layer["pe"] * layer["simd"]
    )
    return float(macs / (row["multipliers"] * products))


def is_available(network: str) -> bool:
    """Return whether the file of a network exists."""
    return _path(network).is_file()


@cache
def load(network: str) -> GraphModule:
    """Return an imported network."""
    return frontends.load(_path(network))


def _path(network: str) -> Path:
    if network == "TinyConv":
        return ROOT / "examples" / "mnist" / "tinyconv.rlx"
    return reference.tiny() / FILES[network]
