"""What a network will need, known without compiling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx_cortexm.program import Program, Step


def estimate(program: Program, row: Callable[[Step], dict[str, Any]]) -> Mapping[str, Any]:
    """Return layers and totals, ready for JSON."""
    layers = [row(step) for step in program.steps]
    return {
        "layers": layers,
        "macs": sum(layer["macs"] for layer in layers),
        "instructions": sum(layer["instructions"] for layer in layers),
        "constant_bytes": program.constant_bytes,
        "arena_bytes": program.arena_bytes,
    }
