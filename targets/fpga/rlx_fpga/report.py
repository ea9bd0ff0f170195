"""What is known of a design without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir.inspect import node_macs

if TYPE_CHECKING:
    from rlx_fpga.lower import Layer
    from rlx_fpga.pipeline import Pipeline, Queue, Stage


def report_of(design: Pipeline) -> dict[str, Any]:
    """Return ``layers``, ``sources`` and totals, ready for JSON.

    A layer has ``name`` (of its module), ``op``, ``macs`` of a frame, ``pe`` and ``simd``,
    ``cycles`` for a frame, ``multipliers`` (products in one cycle), ``memory_bits`` (weights,
    tables, line buffers) and ``queue_bits`` (in front of its operands). ``sources`` gives each
    layer's name in the model.
    """
    stages = design.program.stages
    rows = [_row(*parts) for parts in zip(stages, design.layers, design.queues, strict=True)]
    interval = design.interval
    return {
        "layers": rows,
        "sources": {stage.name: stage.node.name for stage in stages},
        "interval": interval,
        "slowest": next((r["name"] for r in rows if r["cycles"] == interval), "ports"),
        "multipliers": sum(row["multipliers"] for row in rows),
        "memory_bits": sum(row["memory_bits"] + row["queue_bits"] for row in rows),
    }


def _row(stage: Stage, layer: Layer, queues: list[Queue]) -> dict[str, Any]:
    return {
        "name": stage.name,
        "op": stage.node.op.name,
        "macs": node_macs(stage.node),
        "pe": layer.fold.pe,
        "simd": layer.fold.simd,
        "cycles": layer.cycles,
        "multipliers": layer.cell.multipliers,
        "memory_bits": layer.cell.memory_bits,
        "queue_bits": sum(queue.memory_bits for queue in queues),
    }
