"""Softmax as one op.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

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
        match = softmax_at(node.results[0])
        if match is None or not matching.is_free(match.nodes):
            continue
        pattern, result = Pattern.SOFTMAX, node.results[0]
        if matching.closed(pattern, match.nodes, result) and matching.allowed(
            pattern, FusedSoftmax, node
        ):
            detail = f"axis {match.axis}"
            matching.group(pattern, FusedSoftmax, match.nodes, [result], {"x": match.x}, detail)
