"""One network on every target, with equal bits.

Compiles ``digits.rlx`` (see ``train.py``) to C and to SystemVerilog, runs the C on this machine and
on an emulated Cortex-M4, simulates the SystemVerilog, and prints accuracy, speed and size of
each. Run it with ``make demo``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

from rlx.golden import read_golden

HERE = Path(__file__).parent
MODEL = Path(os.path.relpath(HERE / "digits.rlx"))
OUT = Path("out") / "demo"
FRAMES = 100
FPGA_FRAMES = 24
HELD_OUT = 397
"""Images at the end of the data set that ``train.py`` does not train on."""

PLATFORMS = {
    "host": "C on this machine",
    "qemu": "C on a Cortex-M4\n(QEMU)",
    "unicorn": "C on a Cortex-M4\n(Unicorn)",
}
"""Row titles of the verifier's simulators."""

console = Console(width=None if sys.stdout.isatty() else 100)


def main() -> int:
    """Run the demo; return 0 if every target gave the reference's bits."""
    pixels, labels = held_out_digits(FRAMES)
    vectors = write_vectors(pixels)
    console.print(f"[bold]rlx demo[/]: {MODEL.name}, {FRAMES} unseen handwritten digits\n")
    results = {}
    for target, frames in (("cortexm", FRAMES), ("fpga", FPGA_FRAMES)):
        folder = OUT / target
        step(f"rlx emit {MODEL} --target {target} -o {folder}")
        rlx("emit", MODEL, "--target", target, "-o", folder, "--force",
            "--vectors", vectors, "--frames", frames)  # fmt: skip
        step(f"rlx verify {folder}")
        results[target] = rlx("verify", folder)
    golden = read_golden(OUT / "cortexm")
    hits = golden.outputs[0].reshape(FRAMES, -1).argmax(axis=1) == labels
    right = int(hits.sum())
    print_comparison(results["cortexm"], results["fpga"], right, int(hits[:FPGA_FRAMES].sum()))
    return 0 if all(r["equal"] == r["inputs"] for r in results.values()) else 1


def held_out_digits(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return int8 images [count, 1, 8, 8, 1] (pixel value minus 128) and their labels."""
    data = load_digits()
    images = data.images[-HELD_OUT:][:count] / 16
    quantized = np.round(images * 255 - 128).astype(np.int8)
    return quantized.reshape(count, 1, 8, 8, 1), data.target[-HELD_OUT:][:count]


def write_vectors(pixels: np.ndarray[Any, Any]) -> Path:
    """Write the images where ``rlx emit --vectors`` finds them."""
    path = Path(tempfile.mkdtemp(prefix="rlx-demo-")) / "digits.npz"
    np.savez(path, image=pixels)
    return path


def step(text: str) -> None:
    """Show a command that is about to run."""
    console.print(f"[dim]$[/] {text}", soft_wrap=True)


def rlx(*arguments: object) -> dict[str, Any]:
    """Run the command line with ``--json`` and return what it prints."""
    command = [sys.executable, "-m", "rlx.cli", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        console.print(done.stderr, markup=False)
        raise SystemExit(done.returncode or 1)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def print_comparison(
    c: dict[str, Any], hardware: dict[str, Any], right: int, hardware_right: int
) -> None:
    """Print a row for each platform.

    Equal bits give equal predictions: ``right`` frames are classified correctly in C, and
    ``hardware_right`` of the fewer ones in the hardware simulation.
    """
    table = Table(title="\none network, equal bits", title_justify="left")
    table.add_column("platform")
    for column in ("correct", "equal bits", "instructions", "cycles", "bytes"):
        table.add_column(column, justify="right")
    table.add_row("reference (NumPy)", f"{right} of {FRAMES}", "-", "-", "-", "-")
    flash = f"{c['text_bytes'] + c['const_bytes']:,} flash\n{c['ram_bytes']:,} RAM"
    for run in c["runs"]:
        count = run.get("instructions")
        counted = [f"{count:,}", "-", flash] if count else ["-", "-", "-"]
        compared = _compared(run["equal"], c["inputs"])
        same = f"{right} of {FRAMES}" if run["equal"] == c["inputs"] else "-"
        table.add_row(PLATFORMS[run["simulator"]], same, compared, *counted)
    cycles = f"{hardware['interval']:,} interval\n{hardware['latency']:,} latency"
    table.add_row(
        "SystemVerilog\n(Verilator)",
        f"{hardware_right} of {FPGA_FRAMES}" if hardware["equal"] == hardware["inputs"] else "-",
        _compared(hardware["equal"], hardware["inputs"]),
        "-",
        cycles,
        "-",
    )
    console.print(table)
    console.print(f"C: {OUT}/cortexm   SystemVerilog: {OUT}/fpga   each with a README.md\n")


def _compared(equal: int, inputs: int) -> str:
    """Return whether all frames were equal, and how many were compared."""
    verdict = "[green]yes[/]" if equal == inputs else "[red]NO[/]"
    return f"{verdict}, {equal} of {inputs}"


if __name__ == "__main__":
    sys.exit(main())
