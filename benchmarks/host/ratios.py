"""Latency of the NumPy backend as a ratio to ONNX Runtime, each network in a process of its own.

A process keeps to one core and one thread. ``milliseconds`` are for information only: they differ
from machine to machine. Keyword spotting in int8, which has no form for ONNX Runtime, is measured
in processor time for one input, and its outputs are held against ``evaluate``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.host.machine import ROOT, RUNTIME, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED: Final = ROOT / "benchmarks" / "results" / "host.jsonl"
KEY: Final = ("what", "runtime")
COSTS: Final = {"ratio": 0.75}
"""What must not grow. The slack is for another machine; it still shows that fusion was lost."""

ITERATIONS: Final = {
    "MLP, batch 1": 50,
    "ResNet-8, batch 1": 4,
    "ResNet-8, batch 64": 1,
    "encoder": 1,
    "decode step": 4,
}
"""Networks, and calls in a turn of each engine."""

KWS: Final = "KWS int8, batch 64"
KWS_FILE: Final = (
    Path(os.environ.get("RLX_SHARED") or ROOT.parent / "shared")
    / "models" / "mlperf-tiny" / "kws_ref_model.tflite"
)  # fmt: skip


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each network."""
    for name in (*ITERATIONS, *([KWS] if KWS_FILE.is_file() else [])):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.host.worker", name],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            check=True,
            cwd=ROOT,
        )
        yield {"what": name, "runtime": RUNTIME, **json.loads(done.stdout), **versions()}
