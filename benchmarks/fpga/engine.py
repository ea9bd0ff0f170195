"""Designs of the engine: one array for all layers, cycles predicted exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.fpga.points import NETWORKS, PREFIX, RESULTS, is_available, load
from rlx.driver import driver
from rlx.targets import target
from rlx_fpga import FpgaOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED = RESULTS / "fpga_engine.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = ("network", "device", "weights")
COSTS = ("interval", "multipliers", "activation_bits", "weight_bits", "table_bits", "bram", "spram")
"""Entries of a row that must not grow."""

DESIGNS = (
    ("ice40-up5k", "mem"),
    ("ice40-up5k", "load"),
    ("ice40-up5k", "stream"),
    ("ecp5-25k", "mem"),
)
"""Small devices, and the source of the weights: a stream if the device cannot store them."""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each available network and each design."""
    fpga = target.load("fpga")
    for network in NETWORKS:
        for device, weights in DESIGNS if is_available(network) else ():
            options = FpgaOptions(
                prefix=PREFIX, architecture="engine", device=device, weights=weights
            )
            report = fpga.estimate(
                driver.lower(load(network), fpga, options=options).module, options
            )
            figures = {"spram": 0, **report}
            large = options.chosen_device.spram or 1
            names = (*COSTS, "lanes", "busy", "clock_mhz", "fps", "lut", "bram_percent")
            yield {
                "network": network,
                "device": device,
                "weights": weights,
                **{name: figures[name] for name in names},
                "spram_percent": round(100 * figures["spram"] / large, 1),
            }
