"""Latency of the NumPy backend as a ratio to ONNX Runtime, each network in a process of its own.

A process keeps to one core and one thread. ``milliseconds`` are for information only: they differ
from machine to machine. Keyword spotting in int8, which ONNX Runtime cannot run, is measured in
processor time for one input, and its outputs are compared with those of ``evaluate``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from benchmarks import reference
from benchmarks.host.machine import ROOT, RUNTIME, versions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORED: Final = ROOT / "benchmarks" / "results" / "host.jsonl"
KEY: Final = ("what", "runtime")
COSTS: Final = {"ratio": 0.75}
"""Figures that must not grow. The slack is for another machine; it still shows lost fusion."""

ITERATIONS: Final = {
    "MLP, batch 1": 50,
    "ResNet-8, batch 1": 4,
    "ResNet-8, batch 64": 1,
    "encoder": 1,
    "decode step": 4,
}
"""Networks, with the number of calls of each engine in a turn."""

KWS: Final = "KWS int8, batch 64"


def kws_file() -> Path:
    """Return the path of that network, which may be missing."""
    return reference.tiny() / "kws_ref_model.tflite"


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each network."""
    for name in (*ITERATIONS, *([KWS] if kws_file().is_file() else [])):
        completed = subprocess.run(
            [sys.executable, "-m", "benchmarks.host.worker", name],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            check=True,
            cwd=ROOT,
        )
        yield {"what": name, "runtime": RUNTIME, **json.loads(completed.stdout), **versions()}
