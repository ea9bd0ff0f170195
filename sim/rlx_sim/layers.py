"""Cells of each layer after synthesis, beside those that were predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx_fpga.packaging.synthesis import RESOURCES, resources

if TYPE_CHECKING:
    from collections.abc import Mapping

REST: Final = "ports and control"
"""What is called that belongs to no layer: stream adapters, registers, beat counters."""

PREDICTED: Final = ("lut", "ff", "dsp", "bram")
"""Cells that are predicted for each layer."""


def layer_rows(
    report: Mapping[str, Any], found: Mapping[str, Any], family: str
) -> list[dict[str, Any]]:
    """Return a row for each layer, and one for the rest; their sums are the design's cells.

    Empty for designs whose layers share their hardware.

    Args:
        report: Content of ``report.json``.
        found: Results of ``rlx_fpga.packaging.synthesis.synthesize``.
        family: Family of the device.
    """
    layers = found.get("layers", {})
    if not layers:
        return []
    same = found["device"] == report["device"]
    rows = [
        {
            "layer": row["name"],
            "op": row["op"],
            "node": report.get("sources", {}).get(row["name"]),
            "estimate": {name: row[name] for name in PREDICTED} if same else None,
            "synthesis": resources(layers[row["name"]], family),
        }
        for row in report["layers"]
        if row["name"] in layers
    ]
    return [*rows, _rest(report, found, rows)]


def _rest(
    report: Mapping[str, Any], found: Mapping[str, Any], rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the row of what is left of the whole design."""
    predicted = all(row["estimate"] for row in rows)
    return {
        "layer": REST,
        "op": None,
        "node": None,
        "estimate": _left(report, rows, "estimate", PREDICTED) if predicted else None,
        "synthesis": _left(found, rows, "synthesis", RESOURCES),
    }


def _left(
    whole: Mapping[str, Any], rows: list[dict[str, Any]], key: str, names: tuple[str, ...]
) -> dict[str, float]:
    return {name: whole[name] - sum(row[key][name] for row in rows) for name in names}
