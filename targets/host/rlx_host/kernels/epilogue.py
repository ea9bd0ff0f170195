"""Functions that follow a product while its sums are in registers.

Tests: tests/targets/host/test_float_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Refusal
from rlx_host.kernels.expressions import statements

if TYPE_CHECKING:
    from rlx.ops.fused import Activation


def activation_lines(activation: Activation | None) -> tuple[tuple[str, ...], str] | Refusal:
    """Return the C statements of a function of the vector ``v``, and the name of its result."""
    if activation is None:
        return (), "v"
    graph = activation.graph
    written = statements(tuple(graph.op_nodes), {graph.inputs[0]: "v"})
    if isinstance(written, Refusal):
        return written
    lines, names = written
    return lines, names[graph.outputs[0]]
