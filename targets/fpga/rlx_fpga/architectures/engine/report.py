"""The report of an engine: figures that do not need a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import node_macs
from rlx.ir.layer_names import layer_names, origins_of
from rlx.support.text.tables import Column, Table, share_text
from rlx_fpga.architectures.engine.program import Feed
from rlx_fpga.report import device_report, places_text
from rlx_fpga.view import layers_table, plain_op, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Node
    from rlx_fpga.architectures.engine.design import Engine
    from rlx_fpga.architectures.engine.program import EngineProgram
    from rlx_fpga.options import FpgaOptions


COLUMNS: Final = ("name", "op", "macs", "lanes", "cycles")
"""Entries of a layer that are shown in tables."""


def report_of(design: Engine, options: FpgaOptions) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources`` and totals, ready for JSON.

    A layer has ``name``, ``op``, ``macs`` of a frame, ``lanes`` in use, its own ``cycles`` (layers
    run one after the other) and ``memory_bits`` (0: memories are shared). An op that is computed on
    the way out, as softmax is, has no lanes and the cycles of its output. ``weights`` is the way in
    which weights are loaded, if not with the bitstream, ``spram`` the number of SPRAMs, if any.
    ``busy`` is the share of the initiation interval in which the lanes multiply. The other entries
    are those of ``rlx_fpga.report.device_report``.
    """
    code = design.code
    rows = _rows(code)
    macs = sum(row["macs"] for row in rows)
    memories = {
        "activation_bits": 8 * code.memory,
        "weight_bits": 8 * code.lanes * code.weight_depth,
        "table_bits": 32 * 256 * len(code.tables),
    }
    large = design.large_memories
    return {
        "architecture": "engine",
        "pipelined": False,
        "layers": rows,
        "columns": list(COLUMNS),
        "sources": {
            row["name"]: places_text(node) for row, node in zip(rows, code.layers, strict=True)
        },
        "interval": code.interval,
        "slowest": max(rows, key=lambda row: row["cycles"])["name"],
        "lanes": code.lanes,
        "busy": round(macs / (code.lanes * code.interval), 4),
        "multipliers": design.multipliers,
        **memories,
        "memory_bits": sum(memories.values()),
        **({"weights": code.feed.value} if code.feed is not Feed.BUILT_IN else {}),
        **({"spram": large} if large else {}),
        **device_report(design.cost(options.chosen_device.family), code.interval, options),
    }


def _rows(code: EngineProgram) -> list[dict[str, Any]]:
    """Return a row for each layer of the network."""
    names = layer_names(code.graph)
    lanes: dict[Node, int] = {}
    for instruction in code.instructions:
        node = instruction.node
        lanes[node] = max(instruction.lanes, lanes.get(node, 0))
    return [
        {
            "name": names[node],
            "op": node.op.name,
            "origins": list(origins_of(node)),
            "macs": node_macs(node),
            "lanes": lanes.get(node, 0),
            "cycles": cycles,
            "multipliers": 0,
            "memory_bits": 0,
        }
        for node, cycles in code.layers.items()
    ]


def layers(title: str, report: Mapping[str, Any]) -> Table:
    """Return the layers of an engine, which runs them one after the other."""
    interval = report["interval"]
    columns = (
        Column("layer", shortest=12),
        Column("op", priority=2),
        Column("MACs", priority=1, total=total(report, "macs")),
        Column("lanes", priority=3, meaning="multipliers in use"),
        Column("cycles", total=interval),
        Column("%", right=True, total="100", meaning="share of the interval"),
    )
    return layers_table(
        title, report, columns,
        lambda layer: (
            layer["name"], plain_op(layer["op"]), layer["macs"], layer["lanes"], layer["cycles"],
            share_text(layer["cycles"], interval),
        ),
    )  # fmt: skip
