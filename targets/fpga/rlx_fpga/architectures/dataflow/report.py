"""The report of a dataflow design: figures that do not need a simulation, and its layers.

Tests: tests/targets/fpga/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import node_macs
from rlx.ir.layer_names import origins_of
from rlx.support.text.tables import Column, Table, share_text
from rlx_fpga.cost.costs import PORTS
from rlx_fpga.report import cells_of, device_report, places_text
from rlx_fpga.view import CELLS, cell_columns, layers_table, plain_op, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_fpga.architectures.dataflow.design import StreamDesign
    from rlx_fpga.architectures.dataflow.lower import LayerHardware
    from rlx_fpga.architectures.dataflow.pipeline import Pipeline, Queue
    from rlx_fpga.architectures.dataflow.staged import PipelineStage
    from rlx_fpga.cost.costs import Resources


COLUMNS: Final = ("name", "op", "pe", "simd", "cycles", "lut", "ff", "dsp", "bram")
"""Entries of a layer that are shown in tables."""


def report_of(design: StreamDesign) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources``, totals and shares of the device, for JSON.

    A layer has ``name``, ``instance`` (of its module), ``op``, ``origins`` (nodes of the model),
    ``macs`` of a frame, ``pe`` and ``simd``, ``cycles`` for a frame, ``lut``, ``ff``, ``dsp`` and
    ``bram`` of the device (predicted; see ``rlx_fpga.cost.costs``), ``multipliers`` (DSP slices
    of the cells), ``memory_bits`` (weights, tables, line buffers) and ``queue_bits`` (before its
    operands). ``sources`` maps each layer to its origins. ``interval`` (the initiation interval)
    and ``latency`` are in cycles; ``fill`` is the number of frames that line buffers, and layers
    that need a whole frame, hold back. The other entries are those of
    ``rlx_fpga.report.device_report``.
    """
    pipeline, options = design.pipeline, design.options
    stages = pipeline.program.stages
    rows = [
        _row(stage, layer, queues, design.resources[stage.name])
        for stage, layer, queues in zip(stages, pipeline.layers, pipeline.queues, strict=True)
    ]
    interval = pipeline.interval
    return {
        "architecture": "dataflow",
        "pipelined": True,
        "layers": rows,
        "columns": list(COLUMNS),
        "sources": {stage.layer_name: places_text(stage.node) for stage in stages},
        "interval": interval,
        "latency": pipeline.latency,
        "fill": round(pipeline.fill, 4),
        "slowest": next((r["name"] for r in rows if r["cycles"] == interval), _loop(pipeline)),
        "multipliers": sum(row["multipliers"] for row in rows),
        "memory_bits": sum(row["memory_bits"] + row["queue_bits"] for row in rows)
        + sum(memory.memory_bits for memory in pipeline.memories.values()),
        **device_report(design.total, interval, options),
    }


def _loop(pipeline: Pipeline) -> str:
    """Return the loop through a state that takes the interval, or the ports."""
    names = [name for name, cycles in pipeline.loops.items() if cycles == pipeline.interval]
    return f"the loop through {names[0]}" if names else PORTS


def _row(
    stage: PipelineStage, layer: LayerHardware, queues: list[Queue], resources: Resources
) -> dict[str, Any]:
    return {
        "name": stage.layer_name,
        "instance": stage.name,
        "op": stage.node.op.name,
        "origins": list(origins_of(stage.node)),
        "macs": node_macs(stage.node),
        "pe": layer.fold.pe,
        "simd": layer.fold.simd,
        "cycles": layer.cycles,
        **cells_of(resources),
        "multipliers": layer.cell.multipliers,
        "memory_bits": layer.cell.memory_bits,
        "queue_bits": sum(queue.memory_bits for queue in queues),
    }


def layers(title: str, report: Mapping[str, Any]) -> Table:
    """Return the layers of a design with one unit for each: they work at the same time."""
    interval = report["interval"]
    columns = (
        Column("layer", shortest=12),
        Column("op", priority=6),
        Column("MACs", priority=7, total=total(report, "macs")),
        Column("PE", priority=5, meaning="output channels that are computed at the same time"),
        Column("SIMD", priority=5, meaning="products of each of them at the same time"),
        Column("cycles", total=interval),
        Column("busy", "%", right=True, priority=4, meaning="share of the interval"),
        *cell_columns(report),
        Column("memory", "bits", priority=8, total=total(report, "memory_bits")),
        Column("queues", "bits", priority=9, total=total(report, "queue_bits")),
    )
    return layers_table(
        title, report, columns,
        lambda layer: (
            layer["name"], plain_op(layer["op"]), layer["macs"], layer["pe"], layer["simd"],
            layer["cycles"], share_text(layer["cycles"], interval),
            *(layer[key] for _, key in CELLS),
            layer["memory_bits"], layer["queue_bits"],
        ),
    )  # fmt: skip
