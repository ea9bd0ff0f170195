"""What is known of a folded design without running it."""

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
"""Entries of a layer that tables show."""


def report_of(design: Folded, options: FpgaOptions) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources`` and totals, ready for JSON.

    A layer has ``name``, ``op``, ``macs`` of a frame, ``lanes`` at work, ``cycles`` (without those
    of other layers: they run one after the other) and ``memory_bits`` (0: memories are shared).
    ``weights`` tells how weights come in, if not with the bitstream, ``spram`` the large memories
    taken, if any. ``busy`` is the part of the interval in which the lanes multiply. The rest is
    that of ``rlx_fpga.report.device_report``.
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
