"""Products of one value with several weights become one product, and slices of it.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rlx.ops import real
from rlx.ops.fused.reading import is_vector, partner
from rlx.passes.fusion.options import Pattern
from rlx.passes.fusion.report import MissReason
from rlx.passes.fusion.rewriting import WeightRewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node, Value
    from rlx.passes.fusion.matching import Matching


@dataclass(slots=True)
class Joint:
    """Products of one value with weights [K, N].

    Attributes:
        products: The products, in order.
        additions: The addition of a bias after each of them, None for one without; empty if none
            has one.
    """

    products: list[Node]
    additions: list[Node | None] = field(default_factory=list)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node."""
        additions = (n for n in self.additions if n is not None)
        return tuple(sorted((*self.products, *additions), key=lambda n: n.index))

    @property
    def ends(self) -> tuple[Value, ...]:
        """For each product the last value: its own, or that of the addition."""
        additions = self.additions or [None] * len(self.products)
        pairs = zip(self.products, additions, strict=True)
        return tuple((addition or product).result for product, addition in pairs)


def find_joints(matching: Matching) -> list[Joint]:
    """Return the sets of products that can be joined."""
    by_factor: dict[Value, list[Node]] = {}
    for node in matching.nodes(real.RealMatmul):
        if node.types[0].dtype.is_float:
            by_factor.setdefault(node.operands[0], []).append(node)
    joints = []
    for products in by_factor.values():
        if len(products) < 2:
            continue
        joint = Joint([p for p in products if _has_weights(matching, p)])
        if len(joint.products) < 2:
            continue
        if not _is_enabled(matching, joint):
            continue
        additions = [_addition(matching, p) for p in joint.products]
        if any(a is not None for a in additions):
            joint.additions = additions
        joints.append(joint)
    return joints


def _is_enabled(matching: Matching, joint: Joint) -> bool:
    """Return whether products are to be joined; else it is a miss."""
    first, options = joint.products[0], matching.options
    if not options.wants(Pattern.JOIN):
        text = f"the policy of {Pattern.JOIN} is keep"
        matching.miss(Pattern.JOIN, first, MissReason.POLICY, text)
        return False
    if sum(p.operands[1].type.nbytes for p in joint.products) > options.limit_bytes:
        text = f"the joined weights would have more than {options.limit_bytes:,} bytes"
        matching.miss(Pattern.JOIN, first, MissReason.LIMIT, text)
        return False
    if min(_macs(p) for p in joint.products) > options.join_macs:
        text = f"each product has more than {options.join_macs:,} MACs, which outweigh a call"
        matching.miss(Pattern.JOIN, first, MissReason.LIMIT, text)
        return False
    return True


def _macs(product: Node) -> int:
    """Return the multiply-accumulates of a product; 0 if its rows are not known yet."""
    type_ = product.types[0]
    return type_.size * product.operands[1].type.static_shape[0] if type_.is_static else 0


def _has_weights(matching: Matching, product: Node) -> bool:
    """Return whether the right factor of a product is a matrix known before a run; note a miss."""
    weights = product.operands[1]
    if not matching.is_weight(weights):
        text = f"the right factor of {matching.notes[product]} is computed in each run"
        matching.miss(Pattern.JOIN, product, MissReason.WEIGHTS, text)
        return False
    if weights.type.rank != 2 or not weights.type.is_static:
        text = f"the weights of {matching.notes[product]} are {weights.type}, expected a matrix"
        matching.miss(Pattern.JOIN, product, MissReason.SHAPE, text)
        return False
    return True


def _addition(matching: Matching, product: Node) -> Node | None:
    """Return the addition of a known bias after a product, None if there is none."""
    value = product.results[0]
    node = matching.readers.only(value)
    if node is None or not isinstance(node.op, real.RealAdd) or node.types[0] != value.type:
        return None
    bias = partner(node, value)
    if bias is None or not matching.is_weight(bias) or not is_vector(bias.type, value.type):
        return None
    return node


def join(matching: Matching, sets: Sequence[Joint]) -> Graph:
    """Return the graph with one product for each set."""
    joints = {joint.products[0]: joint for joint in sets}
    for joint in sets:
        biased = " + real.add" if joint.additions else ""
        result = f"real.matmul{biased} + {len(joint.products)} real.slice"
        detail = f"{len(joint.products)} products"
        matching.found(Pattern.JOIN, joint.nodes, result, detail, exact=False)
    rewriter = WeightRewriter(matching, "join-matmuls")
    for node in rewriter:
        if node in joints:
            joint = joints[node]
            rewriter.join(joint.nodes, _parts(rewriter, joint))
    return rewriter.finish()


def _parts(rewriter: WeightRewriter, joint: Joint) -> dict[Value, Value]:
    """Append the joined product, and return the slice for the result of each product."""
    weights = [rewriter[p.operands[1]] for p in joint.products]
    weight = rewriter.compute(real.RealConcat(axis=1), *weights)
    first, *further = joint.products
    origin = first.origin.join(n.origin for n in (*further, *filter(None, joint.additions)))
    value = rewriter.new.apply(
        real.RealMatmul(), rewriter[first.operands[0]], weight, origin=origin.through(rewriter.by)
    )
    if joint.additions:
        pairs = zip(joint.additions, joint.products, strict=True)
        biases = [_bias(rewriter, *pair) for pair in pairs]
        bias = rewriter.compute(real.RealConcat(axis=0), *biases)
        value = rewriter.new.apply(real.RealAdd(), value, bias)
    parts, start = {}, 0
    for end, w in zip(joint.ends, weights, strict=True):
        width = w.type.static_shape[1]
        parts[end] = rewriter.new.apply(_columns(value, start, start + width), value)
        start += width
    return parts


def _bias(rewriter: WeightRewriter, addition: Node | None, product: Node) -> Value:
    """Return the addend of each column of a product; zeros for none."""
    type_ = product.types[0]
    if addition is None:
        width = product.operands[1].type.static_shape[1]
        return rewriter.new.constant(np.zeros(width, type_.dtype.numpy))
    bias = partner(addition, product.results[0])
    assert bias is not None  # by _addition
    known, shape = rewriter[bias], bias.type.shape[-1:]
    if shape == bias.type.shape:
        return known
    return rewriter.compute(real.RealReshape(shape=shape), known)


def _columns(value: Value, start: int, stop: int) -> real.RealSlice:
    """Return the slice of the last axis."""
    rank = value.type.rank
    return real.RealSlice(
        start=(*(0,) * (rank - 1), start),
        stop=(*(None,) * (rank - 1), stop),
        step=(1,) * rank,
    )
