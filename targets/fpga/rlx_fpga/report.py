"""The report of a design: figures that are known without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir.inspect import node_macs
from rlx_fpga.costs import PORTS

if TYPE_CHECKING:
    from rlx_fpga.costs import Resources
    from rlx_fpga.design import StreamDesign
    from rlx_fpga.devices import FpgaDevice
    from rlx_fpga.lower import Layer
    from rlx_fpga.options import FpgaOptions
    from rlx_fpga.pipeline import PipelineStage, Queue


COLUMNS: Final = ("name", "op", "pe", "simd", "cycles", "lut", "ff", "dsp", "bram")
"""Entries of a layer that are shown in tables."""


def report_of(design: StreamDesign) -> dict[str, Any]:
    """Return ``layers``, ``columns``, ``sources``, totals and shares of the device, for JSON.

    A layer has ``name`` (of its module), ``op``, ``macs`` of a frame, ``pe`` and ``simd``,
    ``cycles`` for a frame, ``lut``, ``ff``, ``dsp`` and ``bram`` of the device (predicted; see
    ``rlx_fpga.costs``), ``multipliers`` (DSP slices that the cells ask for), ``memory_bits``
    (weights, tables, line buffers) and ``queue_bits`` (in front of its operands). ``sources`` maps
    each layer to its name in the model. ``interval`` (the initiation interval) and ``latency`` are
    in cycles; ``fill`` is the number of frames that line buffers, and layers that need a whole
    frame, hold back. The other entries are those of ``device_report``.
    """
    pipeline, options = design.pipeline, design.options
    stages = pipeline.program.stages
    rows = [
        _row(stage, layer, queues, design.resources[stage.name])
        for stage, layer, queues in zip(stages, pipeline.layers, pipeline.queues, strict=True)
    ]
    interval = pipeline.interval
    return {
        "layers": rows,
        "columns": list(COLUMNS),
        "sources": {stage.name: stage.node.name for stage in stages},
        "interval": interval,
        "latency": pipeline.latency,
        "fill": round(pipeline.fill, 4),
        "slowest": next((r["name"] for r in rows if r["cycles"] == interval), PORTS),
        "multipliers": sum(row["multipliers"] for row in rows),
        "memory_bits": sum(row["memory_bits"] + row["queue_bits"] for row in rows),
        **device_report(design.total, interval, options),
    }


def device_report(total: Resources, interval: int, options: FpgaOptions) -> dict[str, Any]:
    """Return the figures of a design of any style on its device: rate, cells, shares.

    ``device``, ``clock_mhz``, ``fps``; ``lut``, ``ff``, ``dsp``, ``bram``; ``lut_percent`` and so
    on; ``logic_cells`` where LUTs and flip-flops share cells.
    """
    device = options.chosen_device
    cells = total.logic_cells if device.joint_cells else 0
    return {
        "device": options.device,
        "clock_mhz": options.clock_hz / 1e6,
        "fps": round(options.clock_hz / interval, 2),
        **cells_of(total),
        **_percent(total, device),
        **(
            {"logic_cells": cells, "logic_cells_percent": _part(cells, device.lut)} if cells else {}
        ),
    }


def _row(
    stage: PipelineStage, layer: Layer, queues: list[Queue], resources: Resources
) -> dict[str, Any]:
    return {
        "name": stage.name,
        "op": stage.node.op.name,
        "macs": node_macs(stage.node),
        "pe": layer.fold.pe,
        "simd": layer.fold.simd,
        "cycles": layer.cycles,
        **cells_of(resources),
        "multipliers": layer.cell.multipliers,
        "memory_bits": layer.cell.memory_bits,
        "queue_bits": sum(queue.memory_bits for queue in queues),
    }


def cells_of(resources: Resources) -> dict[str, float]:
    """Return the cells by name; block RAMs as an integer unless there is a half."""
    bram = resources.bram
    return {
        "lut": resources.lut,
        "ff": resources.ff,
        "dsp": resources.dsp,
        "bram": int(bram) if bram == int(bram) else bram,
    }


def _percent(resources: Resources, device: FpgaDevice) -> dict[str, float]:
    """Return the share of the device in percent; 0 of a resource that it lacks."""
    return {
        f"{name}_percent": _part(count, getattr(device, name))
        for name, count in cells_of(resources).items()
    }


def _part(count: float, there: int) -> float:
    return round(100 * count / (there or 1), 1)
