"""Resources of a network, estimated without compiling it.

Tests: tests/targets/cortexm/test_estimates.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir.layer_names import origins_of
from rlx.memory import ScratchPlace, alive_bytes
from rlx_c.calls import type_text
from rlx_cortexm.code_size import code_bytes, kernel_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_c.program import LayerStep, LoweredProgram
    from rlx_cortexm.cycles import CyclePrediction


def estimate(
    program: LoweredProgram, prediction: CyclePrediction | None = None
) -> Mapping[str, Any]:
    """Return layers and totals, ready for JSON; with cycles if there is a predictor of them."""
    layers = layer_rows(program, prediction)
    timing = {}
    if prediction is not None:
        cycles = sum(layer["cycles"] for layer in layers)
        timing = {"cycles": cycles, "timing": prediction.timing(cycles).as_json()}
    return {
        "layers": layers,
        "macs": sum(layer["macs"] for layer in layers),
        "instructions": sum(layer["instructions"] for layer in layers),
        **timing,
        "constant_bytes": program.constant_bytes,
        "packed_bytes": sum(step.layer.packed_bytes for step in program.steps),
        "code_bytes": code_bytes(program.kernels, len(program.steps)),
        "arena_bytes": program.arena_bytes,
        "peak": _peak(program),
    }


def layer_rows(
    program: LoweredProgram, prediction: CyclePrediction | None = None
) -> list[dict[str, Any]]:
    """Return each layer's row of the report; ``ram_bytes`` are those of the arena in use."""
    alive = alive_bytes(program.plan, scratch_places(program))
    return [_row(step, ram, prediction) for step, ram in zip(program.steps, alive, strict=True)]


def _row(step: LayerStep, ram_bytes: int, prediction: CyclePrediction | None) -> dict[str, Any]:
    timing = {}
    if prediction is not None:
        cycles = prediction.layer(step, constant_bytes(step))
        timing = {"cycles": cycles, "milliseconds": prediction.milliseconds(cycles)}
    return {
        "index": step.index,
        "op": step.node.op.name,
        "origins": list(origins_of(step.node)),
        "name": step.name,
        "result": type_text(step.node.results[0]),
        "macs": step.layer.macs,
        "weight_bits": step.layer.weight_bits,
        "kernel": step.candidate.name,
        "instructions": step.candidate.instructions,
        **timing,
        "constant_bytes": constant_bytes(step),
        "code_bytes": kernel_bytes(step.layer.kernel),
        "scratch_bytes": step.layer.scratch_bytes,
        "ram_bytes": ram_bytes,
    }


def constant_bytes(step: LayerStep) -> int:
    """Return the bytes of a layer's tables and constant operands."""
    constants = {value for value in step.layer.operands if value.constant is not None}
    tables = sum(table.nbytes for table in step.layer.tables)
    return tables + sum(value.type.nbytes for value in constants)


def scratch_places(program: LoweredProgram) -> list[ScratchPlace]:
    """Return the places of the layers' scratch memory."""
    return [
        ScratchPlace(step.index, step.scratch, step.layer.scratch_bytes)
        for step in program.steps
        if step.layer.scratch_bytes
    ]


def _peak(program: LoweredProgram) -> dict[str, Any]:
    """Return the layer at which the most bytes of the arena are alive."""
    alive = alive_bytes(program.plan, scratch_places(program))
    if not alive:
        return {"layer": 0, "name": "", "op": "", "bytes": 0}
    step = alive.index(max(alive))
    peak = program.steps[step]
    return {
        "layer": step,
        "name": peak.name,
        "op": peak.node.op.name,
        "bytes": alive[step],
    }
