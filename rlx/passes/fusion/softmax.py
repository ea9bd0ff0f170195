"""Softmax as one op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.ops.fused import FusedSoftmax
from rlx.ops.fused.softmax import softmax_at
from rlx.passes.fusion.options import Pattern

if TYPE_CHECKING:
    from rlx.passes.fusion.matching import Matching


def fuse_softmax(matching: Matching) -> None:
    """exp(x - max(x)) / sum(exp(x - max(x))) -> one op."""
    for node in matching.nodes(real.RealDiv):
        found = softmax_at(node.results[0])
        if found is None or not matching.is_free(found.nodes):
            continue
        pattern, result = Pattern.SOFTMAX, node.results[0]
        if matching.closed(pattern, found.nodes, result) and matching.allowed(
            pattern, FusedSoftmax, node
        ):
            detail = f"axis {found.axis}"
            matching.group(pattern, FusedSoftmax, found.nodes, [result], {"x": found.x}, detail)
