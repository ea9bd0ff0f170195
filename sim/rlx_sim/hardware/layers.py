"""Cells of each layer after synthesis, next to the predicted ones.

Layers of an engine share its parts: those have rows in their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx_fpga.packaging.synthesis import RESOURCES, resources

if TYPE_CHECKING:
    from collections.abc import Mapping

REST: Final = "ports and control"
"""Name of the rest, which belongs to no layer: stream adapters, registers, beat counters."""

PREDICTED: Final = ("lut", "ff", "dsp", "bram")
"""Cells that are predicted for each layer."""


def layer_rows(
    report: Mapping[str, Any], synthesis: Mapping[str, Any], family: str
) -> list[dict[str, Any]]:
    """Return a row for each layer or part, and one for the rest: together, the design's cells.

    Empty for designs of an older rlx, which name no parts.

    Args:
        report: Content of ``report.json``.
        synthesis: Results of ``rlx_fpga.packaging.synthesis.synthesize``.
        family: Family of the device.
    """
    layers = synthesis.get("layers", {})
    if not layers:
        return []
    predicted = {row.get("instance", row["name"]): row for row in report["layers"]}
    known = synthesis["device"] == report["device"] and predicted.keys() >= layers.keys()
    rows = [
        {
            "layer": predicted[name]["name"] if name in predicted else name,
            "op": predicted[name]["op"] if name in predicted else None,
            "node": report.get("sources", {}).get(predicted[name]["name"])
            if name in predicted
            else None,
            "estimate": {kind: predicted[name][kind] for kind in PREDICTED} if known else None,
            "synthesis": resources(cells, family),
        }
        for name, cells in layers.items()
    ]
    return [*rows, _rest(report, synthesis, rows)]


def rest_of(report: Mapping[str, Any]) -> str:
    """Return the name of the parts without a row: an engine's memory is in the core itself."""
    return REST if report.get("pipelined", True) else f"memory, {REST}"


def _rest(
    report: Mapping[str, Any], synthesis: Mapping[str, Any], rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the row of the rest of the design."""
    predicted = all(row["estimate"] for row in rows)
    return {
        "layer": rest_of(report),
        "op": None,
        "node": None,
        "estimate": _remainder(report, rows, "estimate", PREDICTED) if predicted else None,
        "synthesis": _remainder(synthesis, rows, "synthesis", RESOURCES),
    }


def _remainder(
    whole: Mapping[str, Any], rows: list[dict[str, Any]], key: str, names: tuple[str, ...]
) -> dict[str, float]:
    return {name: whole[name] - sum(row[key][name] for row in rows) for name in names}
