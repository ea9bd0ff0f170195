"""The page of the documentation with the stored results beside those of other systems."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks import stored
from benchmarks.cortexm.networks import NETWORKS, ROOT, STORED
from benchmarks.markdown import markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGE = ROOT / "docs" / "reference" / "benchmarks-cortexm.md"
PEERS = ROOT / "benchmarks" / "peers"

Row = dict[str, Any]

_INTRODUCTION = """\
# Benchmarks on a Cortex-M4

This page is written by `python -m benchmarks cortexm --update`; do not edit it. The networks are
the int8 models of MLPerf Tiny: keyword spotting (KWS), image classification (IC), visual wake words
(VWW), anomaly detection (AD). One inference is counted under QEMU (`mps2-an386`, `-icount
shift=6`): instructions, not cycles of a board. Every output is equal to the reference's, byte for
byte.
"""


def files() -> dict[Path, str]:
    """Return what is written for the stored results, by path."""
    return {PAGE: page()}


def page() -> str:
    """Return the page for what is stored."""
    rows = {row["network"]: row for row in stored.read(STORED) if row["cpu"] == "cortex-m4"}
    known = [name for name in NETWORKS if name in rows]
    peers = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(PEERS.glob("*.json"))]
    own = {"name": "**rlx**", "networks": rows}
    with_ports = {
        "name": "**rlx**, inputs and outputs too (`--io arena`)",
        "networks": {
            name: {"arena_bytes": row["arena_with_io_bytes"]} for name, row in rows.items()
        },
    }
    systems = [own, *peers]
    parts = [
        _INTRODUCTION,
        "## Instructions\n\n" + _table(systems, known, ("instructions",)),
        "Compared with the best of the others:\n\n" + _ratios(rows, peers, known),
        "## Flash: code and constants, bytes\n\n"
        + _table(systems, known, ("text_bytes", "const_bytes")),
        "## RAM: arena and scratch memory, bytes\n\n"
        + _table([own, with_ports, *peers], known, ("arena_bytes",))
        + "\nThe others keep inputs and outputs in the arena, where they share bytes with what is"
        "\ncomputed; those of rlx are the caller's in the first line, in the arena in the second"
        " one.\n",
        "## Where the others' figures come from\n\n"
        + "\n".join(f"- **{peer['name']}**: {peer['source']}." for peer in peers)
        + "\n",
        "## Layer by layer\n\n" + _compilers(rows, known),
        *(_layers(rows[name]) for name in [*known, *(n for n in rows if n not in known)]),
    ]
    return "\n".join(parts)


def _table(systems: Sequence[Row], networks: Sequence[str], entries: Sequence[str]) -> str:
    body = [
        [system["name"], *(_sum(system["networks"].get(name, {}), entries) for name in networks)]
        for system in systems
    ]
    return markdown_table(["", *networks], body)


def _sum(row: Row, entries: Sequence[str]) -> str:
    if any(entry not in row for entry in entries):
        return "-"
    return f"{sum(row[entry] for entry in entries):,}"


def _ratios(rows: dict[str, Row], peers: Sequence[Row], networks: Sequence[str]) -> str:
    cells = []
    for name in networks:
        best = min(peer["networks"][name]["instructions"] for peer in peers)
        cells.append(f"{rows[name]['instructions'] / best:.2f}")
    return markdown_table(["", *networks], [["instructions", *cells]])


def _compilers(rows: dict[str, Row], networks: Sequence[str]) -> str:
    used = sorted({f"{rows[n]['compiler']} {rows[n]['optimization']}" for n in networks})
    return f"Compiled by {', '.join(used)}.\n"


def _layers(row: Row) -> str:
    body = []
    for index, layer in enumerate(row["layers"]):
        count, macs = layer["instructions"], layer["macs"]
        body.append([
            str(index), f"`{layer['op']}`", f"`{layer['result']}`", f"{macs:,}", f"{count:,}",
            f"{count / macs:.2f}" if macs else "-", f"{100 * count / row['instructions']:.1f} %",
        ])  # fmt: skip
    head = ["layer", "op", "result", "MACs", "instructions", "for each MAC", "share"]
    title = f"### {row['network']}: {row['instructions']:,} instructions\n\n"
    return title + markdown_table(head, body, texts=3)
