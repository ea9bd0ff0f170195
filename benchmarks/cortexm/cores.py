"""Networks as C on other emulated cores than the Cortex-M4, each with kernels chosen for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from benchmarks import stored
from benchmarks.cortexm import networks
from benchmarks.markdown import markdown_table
from rlx_sim.firmware import FirmwareBuild

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CORES: Final = ("cortex-m3", "cortex-m33", "cortex-m55")
"""Cores with an emulated board that differ in what they can compute with."""

STORED: Final = networks.ROOT / "benchmarks" / "results" / "cores.jsonl"
KEY: Final = networks.KEY
COSTS: Final = networks.COSTS

PAGE: Final = networks.ROOT / "docs" / "reference" / "benchmarks-cores.md"
PEER: Final = networks.ROOT / "benchmarks" / "peers" / "cores" / "cmsis_nn.json"

_INTRODUCTION: Final = """\
# Benchmarks on other cores

This page is written by `python -m benchmarks cores --update`; do not edit it. The networks are
those of [the Cortex-M4's page](benchmarks-cortexm.md), emitted with `--cpu` for each core:
instructions for one inference under QEMU, every output equal to the reference's, byte for byte.

| core | instructions that kernels use |
| --- | --- |
| Cortex-M3 | Thumb-2: one product at a time |
| Cortex-M33 | the DSP extension: two products at a time |
| Cortex-M55 | MVE (Helium): 16 products at a time |

"""


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each core and network that is there, without its layers."""
    for cpu in CORES:
        for name, file in networks.files().items():
            row = networks.row(name, file, FirmwareBuild(cpu))
            del row["layers"]
            yield row


def page() -> str:
    """Return the page for what is stored."""
    rows = {(row["cpu"], row["network"]): row for row in stored.read(STORED)}
    peer = json.loads(PEER.read_text(encoding="utf-8"))
    body = []
    for cpu in CORES:
        counts = {name: rows[cpu, name]["instructions"] for name in networks.NETWORKS}
        others = peer["cores"][cpu]
        body += [
            [f"**rlx**, {cpu}", *(f"{count:,}" for count in counts.values())],
            [peer["name"], *(f"{others[name]:,}" for name in counts)],
            ["ratio", *(f"{count / others[name]:.2f}" for name, count in counts.items())],
        ]
    figures = markdown_table(["", *networks.NETWORKS], body)
    return f"{_INTRODUCTION}{figures}\n{peer['name']}: {peer['source']}.\n"


def files() -> dict[Path, str]:
    """Return what is written for the stored results, by path."""
    return {PAGE: page()}
