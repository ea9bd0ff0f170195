"""The report of a parallel design: figures that do not need a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import node_macs
from rlx.ir.layer_names import origins_of
from rlx.support.text.tables import Column, Table
from rlx_fpga.cells.credit import LATENCY as QUEUE_LATENCY
from rlx_fpga.cost.costs import Resources
from rlx_fpga.report import cells_of, device_report, places_text
from rlx_fpga.view import cell_columns, layers_table, plain_op, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.architectures.parallel.design import ParallelDesign
    from rlx_fpga.options import FpgaOptions


COLUMNS: Final = ("name", "op", "latency", "adders", "lut", "ff")
"""Entries of a layer that are shown in tables."""


def report_of(design: ParallelDesign, options: FpgaOptions) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources`` and totals, ready for JSON.

    A layer has ``name``, ``instance`` (of its module), ``op``, ``origins`` (nodes of the model),
    ``macs`` of a frame, ``cycles`` (1), ``latency``, ``adders``, ``adder_bits`` (about one LUT
    each), ``multipliers`` and ``memory_bits`` (0); and
    predicted ``lut`` and ``ff``. ``latency`` of the design includes the output queue. The other
    entries are those of ``rlx_fpga.report.device_report``.
    """
    costs = design.costs(options.chosen_device.family)
    rows = [
        {
            "name": layer.layer_name,
            "instance": layer.name,
            "op": layer.node.op.name,
            "origins": list(origins_of(layer.node)),
            "macs": node_macs(layer.node),
            "cycles": 1,
            "latency": pipeline.latency,
            "adders": layer.netlist.adders,
            "adder_bits": layer.netlist.adder_bits,
            "multipliers": 0,
            "memory_bits": 0,
            **cells_of(costs[layer.name]),
        }
        for layer, pipeline in zip(design.layers, design.pipelines, strict=True)
    ]
    return {
        "architecture": "parallel",
        "pipelined": True,
        "layers": rows,
        "columns": list(COLUMNS),
        "sources": {layer.layer_name: places_text(layer.node) for layer in design.layers},
        "interval": 1,
        "latency": design.latency + QUEUE_LATENCY,
        "slowest": "ports",
        "adders": sum(row["adders"] for row in rows),
        "adder_bits": sum(row["adder_bits"] for row in rows),
        "multipliers": 0,
        "memory_bits": design.memory_bits,
        **device_report(sum(costs.values(), Resources()), 1, options),
    }


def layers(title: str, report: Mapping[str, Any]) -> Table:
    """Return the layers of a design that accepts a frame in every cycle."""
    columns = (
        Column("layer", shortest=12),
        Column("op", priority=3),
        Column("MACs", priority=4, total=total(report, "macs")),
        Column("latency", "cycles", priority=1, total=report["latency"]),
        Column("adders", priority=2, total=report["adders"]),
        *cell_columns(report)[:2],
        Column("adder bits", priority=5, total=report["adder_bits"]),
    )
    return layers_table(
        title, report, columns,
        lambda layer: (
            layer["name"], plain_op(layer["op"]), layer["macs"], layer["latency"], layer["adders"],
            layer["lut"], layer["ff"], layer["adder_bits"],
        ),
        weight="lut",
    )  # fmt: skip
