"""Normalizations as one op, with the addition before them.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops import real
from rlx.ops.fused import FusedNorm, FusedResidualNorm
from rlx.ops.fused.norm import is_last, norm_at
from rlx.passes.fusion.options import Pattern
from rlx.passes.fusion.report import MissReason

if TYPE_CHECKING:
    from rlx.ir import Node, Value
    from rlx.ops.fused.norm import NormMatch
    from rlx.passes.fusion.matching import Matching


def fuse_norms(matching: Matching) -> None:
    """layer_norm(x), rms_norm(x) in ``real.*`` ops -> one op; norm(x + y) too."""
    for node in matching.nodes(real.RealMul, real.RealDiv):
        match = norm_at(node.results[0], matching.readers)
        if match is None or not matching.is_free(match.nodes):
            continue
        core = match.core
        if not is_last(core.axes, core.x.type.rank):
            text = f"it runs over axes {core.axes} of {core.x.type}, not over the last ones"
            matching.miss(Pattern.NORM, node, MissReason.AXIS, text)
        elif matching.closed(Pattern.NORM, match.nodes, match.result):
            _fuse(matching, match)


def _fuse(matching: Matching, match: NormMatch) -> None:
    """Fuse a normalization, with the addition before it if that is possible."""
    node, pattern = match.core.result.node, Pattern.NORM
    inputs: dict[str, Value] = {}
    results = [match.result]
    op: type[FusedNorm] | type[FusedResidualNorm] = FusedNorm
    addition = _addition(matching, match)
    if addition is not None:
        op, match.addition = FusedResidualNorm, addition
        inputs["x"], inputs["y"] = addition.operands
        if matching.readers.closed([match.core.x], set(match.nodes)) is not None:
            results.insert(0, match.core.x)
    else:
        inputs["x"] = match.core.x
    if not matching.allowed(pattern, op, node):
        return
    inputs.update((k, v) for k, v in (("gamma", match.gamma), ("beta", match.beta)) if v)
    kind = "layer norm" if match.core.centred else "RMS norm"
    matching.group(pattern, op, match.nodes, results, inputs, kind)


def _addition(matching: Matching, match: NormMatch) -> Node | None:
    """Return the addition whose result is normalized, None if it cannot be fused."""
    node = match.core.x.node
    if not isinstance(node.op, real.RealAdd) or not matching.is_free([node]):
        return None
    if node in matching.weights or not matching.claims(FusedResidualNorm):
        return None
    if any(o.type != node.types[0] for o in node.operands):
        text = "the addition before it broadcasts " + " to ".join(
            str(t) for t in (*(o.type for o in node.operands if o.type != node.types[0]),
                             node.types[0])
        )  # fmt: skip
        matching.miss(Pattern.NORM, node, MissReason.SHAPE, text)
        return None
    # The sum is there before the norm, and other nodes may read it in between.
    late = [v for v in (match.gamma, match.beta) if v is not None and v.node.index > node.index]
    if late:
        text = f"{matching.notes[late[0].node]} is computed after {matching.notes[node]}"
        matching.miss(Pattern.NORM, node, MissReason.ORDER, text)
        return None
    return node
