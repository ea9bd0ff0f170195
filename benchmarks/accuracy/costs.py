"""Costs of quantizing: seconds and memory of ``rlx quantize``, each in a process of its own.

Seconds are those of the processor, and differ from machine to machine; memory must not grow with
the number of samples.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.accuracy.data import NETWORKS, ROOT, vww

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED: Final = ROOT / "benchmarks" / "results" / "accuracy_costs.jsonl"
KEY: Final = ("task",)
COSTS: Final = {"memory_ratio": 0.05}
"""Figures that must not grow: memory with 1000 samples to that with 100. Allocators
differ by a little."""

SAMPLES: Final = (100, 1000)


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each task, if the person detector is available."""
    network = NETWORKS[0]
    if not network.file.is_file():
        return
    pixels, labels = vww()
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as work:
        folder = Path(work)
        files = {}
        for count in SAMPLES:
            indices = np.arange(count) % len(pixels)
            files[count] = folder / f"{count}.npz"
            np.savez(files[count], x=pixels[indices], y=labels[indices])
        seconds, memory = _run(network.file, files[100], folder)
        yield {"task": "quantize VWW, 100 samples", "seconds": seconds, "memory_bytes": memory}
        more, larger = _run(network.file, files[1000], folder)
        yield {
            "task": "quantize VWW, 1000 samples", "seconds": more, "memory_bytes": larger,
            "memory_ratio": round(larger / memory, 3),
        }  # fmt: skip
        seconds, memory = _run(network.file, files[100], folder, "--weights", "auto")
        yield {
            "task": "quantize VWW, 100 samples, auto", "seconds": seconds, "memory_bytes": memory,
        }  # fmt: skip


_MEASURED: Final = """\
import json, re, resource, sys
from pathlib import Path
from rlx.cli import main
status = main(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
Path(sys.argv[1]).write_text(json.dumps([used.ru_utime + used.ru_stime, int(peak[1]) * 1024]))
sys.exit(status)
"""
"""Runs a command and writes its seconds and peak bytes: ``wait4`` would count its parent's too."""


def _run(model: Path, calib: Path, folder: Path, *options: str) -> tuple[float, int]:
    """Return processor seconds and peak bytes of memory of one command."""
    figures = folder / "figures.json"
    command = [sys.executable, "-c", _MEASURED, str(figures), "quantize", str(model)]
    command += ["--calib", str(calib), "-o", str(folder / "q.rlx"), "--json", *options]
    subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=True,
    )
    seconds, memory = json.loads(figures.read_text(encoding="utf-8"))
    return round(seconds, 1), memory
