"""Fused ops and places of values of a network that is emitted.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Stage
from rlx.memory import host_in_place, plan_memory
from rlx.passes import pipeline
from rlx.passes.fusion import FusionOptions, fuse
from rlx_host.backend import BACKEND
from rlx_host.emission.constants import ALIGNMENT
from rlx_host.kernels.rules import RULES

if TYPE_CHECKING:
    from rlx.ir import GraphModule, Op


def plan(module: GraphModule) -> GraphModule:
    """Return ``module`` in fused ops, with every value but inputs and outputs in an arena.

    The passes are those of a session on the native backend, so that both compute in the same ops.
    """
    simplified = pipeline("host").run(module)
    fused, _ = fuse(simplified.graph, FusionOptions(), _has_kernel)
    memory_plan = plan_memory(
        fused,
        alignment=ALIGNMENT,
        in_place=host_in_place,
        search=False,
        unpacked=True,
        states=True,
    )
    return simplified.with_graph(fused).advance(Stage.LIR, memory_plan)


def _has_kernel(op: type[Op]) -> bool:
    """Whether a fused op is computed in C, and by a session as one op too."""
    return op in RULES and BACKEND.claims(op)
