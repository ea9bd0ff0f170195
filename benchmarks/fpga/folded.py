"""Designs of style ``folded``: one array for all layers, cycles known exactly without running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.fpga.points import NETWORKS, PREFIX, RESULTS, load, there
from rlx import emit, target
from rlx_fpga import FpgaOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED = RESULTS / "fpga_folded.jsonl"
"""Results that ``python -m benchmarks --check`` compares with."""

KEY = ("network", "device")
COSTS = ("interval", "multipliers", "activation_bits", "weight_bits", "table_bits")
"""Entries of a row that must not grow."""

DEVICES = ("ice40-up5k", "ecp5-25k")


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each network that is there and each small device."""
    fpga = target.load("fpga")
    for network in NETWORKS:
        for device in DEVICES if there(network) else ():
            options = FpgaOptions(prefix=PREFIX, style="folded", device=device)
            report = fpga.estimate(emit.lower(load(network), fpga, options=options).module, options)
            names = (*COSTS, "lanes", "busy", "clock_mhz", "fps", "bram_percent")
            yield {
                "network": network,
                "device": device,
                **{name: report[name] for name in names},
            }
