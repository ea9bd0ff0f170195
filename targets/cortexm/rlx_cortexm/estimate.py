"""What a network will need, known without compiling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.plan import ScratchPlace, alive_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_cortexm.emit import Emitter
    from rlx_cortexm.program import Program


def estimate(emitter: Emitter) -> Mapping[str, Any]:
    """Return layers and totals, ready for JSON."""
    program = emitter.program
    layers = [emitter.row(step) for step in program.steps]
    return {
        "layers": layers,
        "macs": sum(layer["macs"] for layer in layers),
        "instructions": sum(layer["instructions"] for layer in layers),
        "constant_bytes": program.constant_bytes,
        "packed_bytes": sum(step.layer.packed_bytes for step in program.steps),
        "code_bytes": program.code_bytes,
        "arena_bytes": program.arena_bytes,
        "peak": _peak(program),
    }


def scratch_places(program: Program) -> list[ScratchPlace]:
    """Return where the layers' scratch memory lies."""
    return [
        ScratchPlace(step.index, step.scratch, step.layer.scratch_bytes)
        for step in program.steps
        if step.layer.scratch_bytes
    ]


def _peak(program: Program) -> dict[str, Any]:
    """Return the layer at which the most bytes of the arena are alive."""
    alive = alive_bytes(program.plan, scratch_places(program))
    if not alive:
        return {"layer": 0, "op": "", "bytes": 0}
    step = alive.index(max(alive))
    node = program.steps[step].node
    return {"layer": step, "op": node.op.name, "bytes": alive[step]}
