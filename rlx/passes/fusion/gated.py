"""Gated pairs, such as SwiGLU, as one op.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.ops.fused import Activation, FusedGated
from rlx.ops.fused.gated import gated_from
from rlx.passes.fusion.options import Pattern

if TYPE_CHECKING:
    from rlx.passes.fusion.matching import Matching


def fuse_gated(matching: Matching) -> None:
    """activation(p[..., :n]) * p[..., n:] with p = x w + bias -> one op.

    Two products of one value are joined before (pattern ``join``), so that they are halves of one.
    """
    for node in matching.nodes(real.RealMatmul):
        match = gated_from(node, matching.readers)
        if match is None or not matching.is_free(match.nodes):
            continue
        if not matching.allowed(Pattern.GATED, FusedGated, node):
            continue
        x, w = match.product.operands
        inputs = {"x": x, "w": w}
        if match.product.bias is not None:
            inputs["bias"] = match.product.bias
        activation = Activation.of(match.activation, match.gate.results[0])
        detail = "no activation" if activation is None else activation.name
        results = [match.last.results[0]]
        matching.group(Pattern.GATED, FusedGated, match.nodes, results, inputs, detail)
