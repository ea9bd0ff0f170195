"""Duration of the verification of a design, from measurements.

User and system seconds of all processes, with Verilator 5.48, cocotb 2.1 and GCC 12, for
designs on ecp5-85k:

=================  =======  ====  =======  ============  ======
design             Verilog  lint  harness  cocotb bench  cycles
=================  =======  ====  =======  ============  ======
examples/digits    0.34 MB   0.9     19.5          41.4      8k
keyword spotting   0.78 MB   2.6     27.6          77.2    500k
anomaly detection  0.82 MB   4.3     34.8          87.4     33k
=================  =======  ====  =======  ============  ======

Keyword spotting, with ``--dsp 40``, took 2.5 s for 1,041k cycles in the harness, and about 18 of
the 77 s in the tests of the bench. The fit is within 15 % of each of the three sums. On an idle
machine the harness builds faster: two files are compiled at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.support.steps import length_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LINT: Final = (0.0, 4.0)
_HARNESS: Final = (11.0, 25.0)
_COCOTB: Final = (18.0, 68.0)
"""Seconds that each step takes for any design, and for each megabyte of Verilog."""

_HARNESS_CYCLE: Final = 3.2e-6
"""Seconds of a cycle in the harness, for each megabyte of Verilog."""

_COCOTB_CYCLE: Final = 36e-6
"""Seconds of a cycle in the cocotb bench; most of it is Python's."""


def expected(
    report: Mapping[str, Any],
    megabytes: float,
    frames: int,
    *,
    verilator: bool = True,
    cocotb: bool,
    bench_limit: int | None = None,
    testbenches: Sequence[str] = (),
) -> tuple[float, str]:
    """Return the seconds that a verification takes, and advice on making it shorter.

    Args:
        report: Content of ``report.json``; its ``latency`` and ``interval`` are used.
        megabytes: Size of the design's Verilog, in 10^6 bytes.
        frames: Golden vectors that are run.
        verilator: Whether the design is linted and runs in the C++ harness.
        cocotb: Whether the cocotb bench runs.
        bench_limit: Frames of its first test; None for the bench's default.
        testbenches: Simulators of the SystemVerilog testbench.

    Returns:
        0 seconds if a step has not been measured: Icarus Verilog, or a report without cycles.
    """
    # Only folders of hardware need the package, which needs Amaranth.
    from rlx_fpga.packaging.bench import bench_frames

    interval, latency = report.get("interval"), report.get("latency")
    if interval is None or latency is None or "icarus" in testbenches:
        return 0.0, ""
    cycles = latency + (frames - 1) * interval
    run = cycles * megabytes * _HARNESS_CYCLE
    harness = _step(_LINT, megabytes) + _step(_HARNESS, megabytes) + run
    total = harness if verilator else 0.0
    total += len(testbenches) * (_step(_HARNESS, megabytes) + run)
    advice = "longer if the machine has other work"
    if not cocotb:
        return total, advice
    # All frames, two with pauses, one after a reset.
    cycles = 3 * latency + (bench_limit or bench_frames(interval)) * interval
    total += _step(_COCOTB, megabytes) + cycles * _COCOTB_CYCLE
    return total, f"{advice}; --with verilator takes {length_text(harness)}"


def _step(cost: tuple[float, float], megabytes: float) -> float:
    always, each = cost
    return always + each * megabytes
