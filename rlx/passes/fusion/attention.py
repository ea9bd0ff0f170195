"""Attention as one op.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.ops.fused import FusedAttention
from rlx.ops.fused.attention import attention_at
from rlx.ops.fused.softmax import softmax_at
from rlx.passes.fusion.options import Pattern
from rlx.passes.fusion.report import MissReason

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.passes.fusion.matching import Matching


def fuse_attention(matching: Matching) -> None:
    """softmax(mask(scale * q k^T)) v -> one op."""
    for node in matching.nodes(real.RealMatmul):
        match = attention_at(node.results[0], matching.readers)
        if match is None:
            _note(matching, node)
            continue
        result, pattern = node.results[0], Pattern.ATTENTION
        if not matching.closed(pattern, match.nodes, result):
            continue
        if not matching.is_free(match.nodes) or not matching.allowed(pattern, FusedAttention, node):
            continue
        inputs = {"q": match.q.value, "k": match.k.value, "v": match.v}
        # Named, so that a mask of one element stays an operand.
        masks = [s.operand for s in match.steps if s.operand is not None]
        inputs.update((f"mask{i}", value) for i, value in enumerate(masks))
        steps = ", ".join(str(s.kind) for s in match.steps)
        matching.group(pattern, FusedAttention, match.nodes, [result], inputs, steps)


def _note(matching: Matching, node: Node) -> None:
    """Note the reason for which a product with a softmax is not an attention."""
    softmax = softmax_at(node.operands[0])
    if softmax is None:
        return
    if softmax.axis != softmax.x.type.rank - 1:
        text = f"the softmax runs along axis {softmax.axis} of {softmax.x.type}, not the last"
        matching.miss(Pattern.ATTENTION, node, MissReason.AXIS, text)
    else:
        text = f"{matching.notes[softmax.x.node]} does not make scores of queries and keys"
        matching.miss(Pattern.ATTENTION, node, MissReason.ACTIVATION, text)
