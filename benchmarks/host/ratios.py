"""Latency of rlx as a ratio to ONNX Runtime, each network and backend in a process of its own.

A process keeps to one core and one thread. ``milliseconds`` are for information only: they differ
from machine to machine. Integer networks are compared with their form of
:mod:`benchmarks.host.networks.quantized`, on the native backend. Keyword spotting on the NumPy
backend is measured in processor time for one input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from benchmarks import reference
from benchmarks.host.machine import NATIVE, ROOT, RUNTIME, versions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORED: Final = ROOT / "benchmarks" / "results" / "host.jsonl"
KEY: Final = ("what", "runtime")
COSTS: Final = {"ratio": 0.75}
"""Figures that must not grow. The slack is for another machine; it still shows lost fusion."""

QUANTIZED: Final = {
    "KWS int8, batch 1": ("KWS", 1),
    "ResNet-8 int8, batch 1": ("ResNet-8", 1),
    "ResNet-8 int8, batch 64": ("ResNet-8", 64),
    "VWW int8, batch 1": ("VWW", 1),
    "AD int8, batch 1": ("AD", 1),
}
"""Integer networks: name of the file's network, and the batch."""

ITERATIONS: Final = {
    "MLP, batch 1": 50,
    "ResNet-8, batch 1": 4,
    "ResNet-8, batch 64": 1,
    "encoder": 1,
    "decode step": 4,
    "KWS int8, batch 1": 20,
    "ResNet-8 int8, batch 1": 10,
    "ResNet-8 int8, batch 64": 1,
    "VWW int8, batch 1": 10,
    "AD int8, batch 1": 50,
}
"""Networks, with the number of calls of each engine in a turn."""

FLOATS: Final = tuple(name for name in ITERATIONS if name not in QUANTIZED)
"""Networks of float32."""

KWS: Final = "KWS int8, batch 64"


def kws_file() -> Path:
    """Return the path of that network, which may be missing."""
    return reference.tiny() / "kws_ref_model.tflite"


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each network."""
    integers = kws_file().is_file()
    planned = [*FLOATS, *([KWS] if integers else [])]
    native = [*FLOATS, *(QUANTIZED if integers else [])]
    pairs = [*((n, RUNTIME) for n in planned), *((n, NATIVE) for n in native)]
    for name, runtime in pairs:
        completed = subprocess.run(
            [sys.executable, "-m", "benchmarks.host.worker", name, runtime],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            check=True,
            cwd=ROOT,
        )
        yield {
            "what": name,
            "runtime": runtime,
            **json.loads(completed.stdout),
            **versions(runtime),
        }
