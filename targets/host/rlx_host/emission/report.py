"""Figures of an emitted network: operations, memory and constants of each layer.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.ir.inspect import node_macs
from rlx.ir.layer_names import origins_of
from rlx.memory import ScratchPlace
from rlx_c.calls import type_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx_host.emission.program import HostProgram
    from rlx_host.source import NativeStep


def report(program: HostProgram) -> Mapping[str, Any]:
    """Return layers and totals, ready for JSON."""
    layers = layer_rows(program)
    return {
        "columns": ["name", "op", "kernel", "result", "macs", "scratch_bytes"],
        "layers": layers,
        "macs": sum(layer["macs"] for layer in layers),
        "constant_bytes": len(program.file),
        "arena_bytes": program.arena_bytes,
        "instruction_set": program.source.instructions.name,
    }


def layer_rows(program: HostProgram) -> list[dict[str, Any]]:
    """Return each layer's row of the report."""
    return [_row(program, step) for step in program.steps]


def _row(program: HostProgram, step: NativeStep) -> dict[str, Any]:
    node = step.node
    return {
        "index": step.index,
        "op": node.op.name,
        "origins": list(origins_of(node)),
        "name": program.names[node],
        "result": type_text(node.results[0]),
        "macs": node_macs(node),
        "kernel": step.layer.kernel.template.partition("/")[0],
        "scratch_bytes": step.layer.scratch_bytes,
    }


def scratch_places(program: HostProgram) -> list[ScratchPlace]:
    """Return the places of the layers' scratch memory."""
    positions = {node: index for index, node in enumerate(program.plan.schedule)}
    return [
        ScratchPlace(positions[step.node], begin, step.layer.scratch_bytes)
        for step, begin in zip(program.steps, program.scratch, strict=True)
        if step.layer.scratch_bytes
    ]
