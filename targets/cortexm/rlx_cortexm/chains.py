"""Chains of elementwise ops: tables where they are worth their flash, else the ops of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import Refusal
from rlx.ops.q import QChain
from rlx.passes import Policies, Policy
from rlx.passes.fit import fit
from rlx_c.choice import OBJECTIVES
from rlx_cortexm.kernels.channel_table.tactic import ENTRIES
from rlx_cortexm.kernels.rules import lowering

if TYPE_CHECKING:
    from rlx.ir import GraphModule, Node
    from rlx_cortexm.core import CortexCore

SAVED: Final = 10
"""Instructions for each element that tables save at least, compared with the ops of a chain."""


def table_refusal(node: Node, optimize: str) -> Refusal | None:
    """Return the reason why a node is not computed by tables; None if it may be.

    Args:
        node: A node, a chain or not.
        optimize: Name of the objective, which sets the price of flash.
    """
    if not isinstance(node.op, QChain):
        return None
    type_ = node.types[0]
    nbytes = ENTRIES * type_.static_shape[-1]
    if OBJECTIVES[optimize].flash * nbytes <= SAVED * type_.size:
        return None
    return Refusal(
        f"its tables of {nbytes:,} bytes save too few instructions for --optimize {optimize}"
    )


def chains_as_ops(module: GraphModule, core: CortexCore) -> GraphModule | None:
    """Return a module with the ops of all chains; None without chains, or if an op is refused."""
    if not any(isinstance(n.op, QChain) for n in module.graph.op_nodes):
        return None

    def claim(node: Node) -> Refusal | None:
        answer = lowering(node, core)
        return answer if isinstance(answer, Refusal) else None

    policies = Policies(ops={QChain.name: Policy.COMMON})
    fitted = fit(module.graph, "cortexm", claim, policies)
    return module.with_graph(fitted.graph) if fitted.report.ready else None
