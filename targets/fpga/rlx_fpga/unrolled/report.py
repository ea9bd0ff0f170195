"""The report of an unrolled design: figures that are known without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import node_macs
from rlx_fpga.costs import Resources
from rlx_fpga.report import cells_of, device_report
from rlx_fpga.unrolled.cost import resources_by_netlist

if TYPE_CHECKING:
    from rlx_fpga.options import FpgaOptions
    from rlx_fpga.unrolled.design import Unrolled


COLUMNS: Final = ("name", "op", "latency", "adders", "lut", "ff")
"""Entries of a layer that are shown in tables."""


def report_of(design: Unrolled, options: FpgaOptions) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources`` and totals, ready for JSON.

    A layer has ``name`` (of its module), ``op``, ``macs`` of a frame, ``cycles`` (1), ``latency``,
    ``adders``, ``adder_bits`` (about as many LUTs), ``multipliers`` and ``memory_bits`` (0); and
    predicted ``lut`` and ``ff``. ``latency`` is that of the pipeline, without the output queue. The
    other entries are those of ``rlx_fpga.report.device_report``.
    """
    netlists = {layer.name: layer.netlist for layer in design.layers}
    found = resources_by_netlist(design.structures, netlists, options.chosen_device.family)
    rows = [
        {
            "name": layer.name,
            "op": layer.node.op.name,
            "macs": node_macs(layer.node),
            "cycles": 1,
            "latency": pipeline.latency,
            "adders": layer.netlist.adders,
            "adder_bits": layer.netlist.adder_bits,
            "multipliers": 0,
            "memory_bits": 0,
            **cells_of(found[layer.name]),
        }
        for layer, pipeline in zip(design.layers, design.pipelines, strict=True)
    ]
    return {
        "style": "unrolled",
        "layers": rows,
        "columns": list(COLUMNS),
        "sources": {layer.name: layer.node.name for layer in design.layers},
        "interval": 1,
        "latency": design.latency,
        "slowest": "ports",
        "adders": sum(row["adders"] for row in rows),
        "adder_bits": sum(row["adder_bits"] for row in rows),
        "multipliers": 0,
        "memory_bits": design.memory_bits,
        **device_report(sum(found.values(), Resources()), 1, options),
    }
