"""The report of an engine: figures that are known without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import node_macs
from rlx_fpga.costs import Resources, resources_by_layer
from rlx_fpga.folded.program import Feed
from rlx_fpga.report import device_report
from rlx_fpga.structure import structure_of

if TYPE_CHECKING:
    from rlx_fpga.folded.design import Folded
    from rlx_fpga.options import FpgaOptions


COLUMNS: Final = ("name", "op", "macs", "lanes", "cycles")
"""Entries of a layer that are shown in tables."""


def report_of(design: Folded, options: FpgaOptions) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources`` and totals, ready for JSON.

    A layer has ``name``, ``op``, ``macs`` of a frame, ``lanes`` in use, its own ``cycles`` (layers
    run one after the other) and ``memory_bits`` (0: memories are shared). ``weights`` is how
    weights are loaded, if not with the bitstream, ``spram`` the SPRAMs taken, if any. ``busy`` is
    the share of the initiation interval in which the lanes multiply. The other entries are those of
    ``rlx_fpga.report.device_report``.
    """
    code = design.code
    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "op": one.node.op.name,
            "macs": node_macs(one.node),
            "lanes": one.lanes,
            "cycles": code.cycles(one),
            "multipliers": 0,
            "memory_bits": 0,
        }
        for one in code.instructions
    ]
    macs = sum(row["macs"] for row in rows)
    memories = {
        "activation_bits": 8 * code.memory,
        "weight_bits": 8 * code.lanes * code.weight_depth,
        "table_bits": 32 * 256 * len(code.tables),
    }
    large = design.large_memories
    found = resources_by_layer(structure_of(design), design.parts, options.chosen_device.family)
    return {
        "style": "folded",
        "layers": rows,
        "columns": list(COLUMNS),
        "sources": {one.name: one.node.name for one in code.instructions},
        "interval": code.interval,
        "slowest": max(rows, key=lambda row: row["cycles"])["name"],
        "lanes": code.lanes,
        "busy": round(macs / (code.lanes * code.interval), 4),
        "multipliers": design.multipliers,
        **memories,
        "memory_bits": sum(memories.values()),
        **({"weights": code.feed.value} if code.feed is not Feed.BUILT_IN else {}),
        **({"spram": large} if large else {}),
        **device_report(sum(found.values(), Resources()), code.interval, options),
    }
