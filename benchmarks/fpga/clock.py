"""Greatest clock of the designs on an ECP5-85k by nextpnr, median over seeds."""

from __future__ import annotations

from benchmarks.fpga.points import RESULTS

STORED = RESULTS / "fpga_clock.jsonl"
"""Results of place and route."""
