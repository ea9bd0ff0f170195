"""Invariants of each stage (first form: types only)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.errors import VerifyError

if TYPE_CHECKING:
    from rlx.ir.module import GraphModule


def verify(module: GraphModule, *, where: str | None = None) -> None:
    """Raise VerifyError unless every node has the types that its op infers."""
    for node in module.graph.nodes:
        types = node.op.infer_checked(*(o.type for o in node.operands))
        found = tuple(t.with_quant(None) for t in node.types)
        if found != tuple(t.with_quant(None) for t in types):
            raise VerifyError(f"{node.label} has types {node.types}, not {types}", where=where)
