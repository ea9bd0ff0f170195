"""What is known of an unrolled design without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir.inspect import node_macs

if TYPE_CHECKING:
    from rlx_fpga.unrolled.design import Unrolled


def report_of(design: Unrolled) -> dict[str, Any]:
    """Return ``layers``, ``sources`` and totals, ready for JSON.

    A layer has ``name`` (of its module), ``op``, ``macs`` of a frame, ``cycles`` (1), ``latency``,
    ``adders``, ``adder_bits`` (about as many lookup tables), ``multipliers`` and ``memory_bits``
    (0). ``latency`` is that of the pipeline, without the output queue.
    """
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
        }
        for layer, pipeline in zip(design.layers, design.pipelines, strict=True)
    ]
    return {
        "style": "unrolled",
        "layers": rows,
        "sources": {layer.name: layer.node.name for layer in design.layers},
        "interval": 1,
        "latency": design.latency,
        "slowest": "ports",
        "adders": sum(row["adders"] for row in rows),
        "adder_bits": sum(row["adder_bits"] for row in rows),
        "multipliers": 0,
        "memory_bits": design.memory_bits,
    }
