"""Fusion: ops of a graph become fewer and larger ones.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.passes.fusion.attention import fuse_attention
from rlx.passes.fusion.elementwise import fuse_elementwise
from rlx.passes.fusion.fold import find_affine, fold
from rlx.passes.fusion.gated import fuse_gated
from rlx.passes.fusion.join import find_joints, join
from rlx.passes.fusion.matching import Matching, Notes
from rlx.passes.fusion.norm import fuse_norms
from rlx.passes.fusion.options import FusionOptions
from rlx.passes.fusion.product import fuse_products
from rlx.passes.fusion.report import FusionReport
from rlx.passes.fusion.softmax import fuse_softmax

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx.ir.op import Op
    from rlx.passes.fusion.options import Claims


def claims_all(op: type[Op]) -> bool:
    """Claim every fused op, as a backend with all kernels does."""
    del op
    return True


def fuse(
    graph: Graph, options: FusionOptions | None = None, claims: Claims = claims_all
) -> tuple[Graph, FusionReport]:
    """Return ``graph`` with its patterns fused, and the report of fused and missed patterns.

    Floats are the same within a few units in the last place of the largest addend, and the same to
    the last bit where the report says so; integers always are. Ops of other packages, and ``q.*``
    ops, stay unchanged.

    Args:
        graph: A graph without ``nn.*`` ops; the patterns are those of ``real.*`` ops.
        options: Patterns that are fused; None for all.
        claims: Whether the backend has a kernel for a class of fused ops. Other classes are not
            fused.
    """
    options, notes = options or FusionOptions(), Notes(graph)
    folding = Matching(graph, options, claims, notes)
    # Rewritten even if nothing is folded: nodes of weights alone come first from here on.
    folded = fold(folding, find_affine(folding))
    joining = Matching(folded, options, claims, notes)
    joints = find_joints(joining)
    with_joints = join(joining, joints) if joints else folded
    grouping = Matching(with_joints, options, claims, notes)
    # Larger patterns first: smaller ones would match parts of them.
    fuse_attention(grouping)
    fuse_norms(grouping)
    fuse_softmax(grouping)
    fuse_gated(grouping)
    fuse_products(grouping)
    fuse_elementwise(grouping)
    result = grouping.fuse()
    stages = (folding, joining, grouping)
    return result, FusionReport(
        graph.name,
        sum(1 for _ in graph.op_nodes),
        sum(1 for _ in result.op_nodes),
        tuple(f for stage in stages for f in stage.in_order()),
        tuple(m for stage in stages for m in stage.missed),
    )
