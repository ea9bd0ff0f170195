"""What is measured: networks, each folded for several budgets of multipliers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx import emit, frontends, target
from rlx_fpga import FpgaOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

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

BUDGETS = (40, 156, 240)
"""Multipliers: a small design, the whole of an ECP5-85k, the whole of an Artix-7 100T."""

KEY = ("network", "budget")
"""Entries of a row that say which point it is of."""

DEVICE = "artix7-100t"
"""Device that all points are emitted for: the larger of the two."""

FRAMES = 4
PREFIX = "net"
TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Point:
    """A network and a budget.

    Attributes:
        network: One of :data:`NETWORKS`.
        budget: Multiplications in one cycle.
    """

    network: str
    budget: int

    @property
    def key(self) -> dict[str, Any]:
        """The entries of :data:`KEY`."""
        return {"network": self.network, "budget": self.budget}

    @property
    def options(self) -> FpgaOptions:
        """Options that the design is emitted with."""
        return FpgaOptions(prefix=PREFIX, device=DEVICE, dsp=self.budget)

    def module(self) -> GraphModule:
        """Return the imported network."""
        return load(self.network)

    def emit(self, folder: Path) -> dict[str, Any]:
        """Write the design with :data:`FRAMES` random frames to ``folder``; return its report."""
        module = self.module()
        golden = emit.reference_outputs(module.graph, emit.random_inputs(module.graph, FRAMES))
        fpga = target.load("fpga")
        emission = emit.emit(module, fpga, folder, options=self.options, golden=golden)
        return dict(emission.report)


SMALL = (Point("TinyConv", 40), Point("AD", 40))
"""Points that every check simulates."""


def points() -> Iterator[Point]:
    """Yield every point whose network is there: TinyConv always, others under ``RLX_SHARED``."""
    for network in NETWORKS:
        if there(network):
            yield from (Point(network, budget) for budget in BUDGETS)


def there(network: str) -> bool:
    """Whether the file of a network is there."""
    return _path(network).is_file()


@cache
def load(network: str) -> GraphModule:
    """Return an imported network."""
    return frontends.load(_path(network))


def _path(network: str) -> Path:
    if network == "TinyConv":
        return ROOT / "examples" / "mnist" / "tinyconv.rlx"
    shared = Path(os.environ.get("RLX_SHARED") or ROOT.parent / "shared")
    return shared / "models" / "mlperf-tiny" / FILES[network]
