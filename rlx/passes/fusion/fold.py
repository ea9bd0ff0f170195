"""Factors and sums with constants or parameters become part of weights and bias.

``activation((x w + b) * s + t)`` is ``activation(x (w s) + (b s + t))``: a batch normalization
after a convolution costs nothing. Sums are then rounded in another order; no result moves by more
than a few units in the last place of the largest addend.

Tests: tests/unit/passes/fusion/test_product.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType
from rlx.ir.dims import product as size_of
from rlx.ops import real
from rlx.ops.fused.reading import number_of
from rlx.passes.fusion.options import Pattern
from rlx.passes.fusion.report import MissReason
from rlx.passes.fusion.rewriting import WeightRewriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import Graph, Node, Value
    from rlx.passes.fusion.matching import Matching

_MAX_FACTOR: Final = 2.0**60
"""Largest and, inverted, smallest constant factor: beyond it weights might leave their range."""

_BINARY = (real.RealMul, real.RealDiv, real.RealAdd, real.RealSub)


@dataclass(slots=True)
class Affine:
    """A product with weights, and the nodes that scale and shift it.

    Attributes:
        product: The product.
        before: The multiplication of ``x`` by a number, None without one.
        steps: The nodes after it that scale and shift, in order.
        moves: The reshapes and transposes among them.
    """

    product: Node
    before: Node | None = None
    steps: list[Node] = field(default_factory=list)
    moves: list[Node] = field(default_factory=list)

    @property
    def pays(self) -> bool:
        """Whether folding changes more than one addition right after the product."""
        if self.before is not None or any(not isinstance(n.op, real.RealAdd) for n in self.steps):
            return True
        transposes = [n for n in self.moves if isinstance(n.op, real.RealTranspose)]
        return len(self.steps) > 1 or (bool(transposes) and bool(self.steps))

    @property
    def exact(self) -> bool:
        """Whether only a single addition changes its place."""
        return (
            self.before is None
            and all(isinstance(n.op, real.RealAdd) for n in self.steps)
            and (len(self.steps) == 1)
        )

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The product and the nodes that become part of it."""
        first = () if self.before is None else (self.before,)
        return (*first, self.product, *self.steps)


@dataclass(slots=True)
class _ChannelAxis:
    """Place of a chain after a product.

    Attributes:
        value: The last value.
        axis: Axis of the channels; None after a reshape that does not keep them apart.
    """

    value: Value
    axis: int | None


def find_affine(matching: Matching) -> list[Affine]:
    """Return the products with scales and shifts that can become part of their weights."""
    affines: list[Affine] = []
    folded_nodes: set[Node] = set()
    for node in matching.nodes(real.RealMatmul, real.RealConv):
        affine = Affine(node)
        if node.types[0].dtype not in (DType.F32, DType.F64):
            _note(matching, affine, _ChannelAxis(node.results[0], node.types[0].rank - 1))
            continue
        if matching.is_weight(node.operands[1]):
            _take_before(matching, affine, folded_nodes)
            _take_behind(matching, affine)
        else:
            _note(matching, affine, _ChannelAxis(node.results[0], node.types[0].rank - 1))
        if affine.pays and _is_enabled(matching, node):
            affines.append(affine)
            folded_nodes.update(affine.nodes)
    return affines


def _is_enabled(matching: Matching, node: Node) -> bool:
    """Return whether weights are to be folded; else it is a miss."""
    weights = node.operands[1]
    if not matching.options.wants(Pattern.FOLD):
        text = f"the policy of {Pattern.FOLD} is keep"
        matching.miss(Pattern.FOLD, node, MissReason.POLICY, text)
        return False
    if weights.constant is not None and weights.type.nbytes > matching.options.limit_bytes:
        text = f"the weights have more than {matching.options.limit_bytes:,} bytes"
        matching.miss(Pattern.FOLD, node, MissReason.LIMIT, text)
        return False
    return True


def _take_before(matching: Matching, affine: Affine, folded_nodes: set[Node]) -> None:
    """Take the multiplication of ``x`` by a number, if nothing else reads it or has taken it."""
    x = affine.product.operands[0]
    node = x.node
    if matching.readers.only(x) is not affine.product or node in folded_nodes:
        return
    if not isinstance(node.op, real.RealMul) or _scaled_operand_index(node) is None:
        return
    if _in_range(matching, node):
        affine.before = node


def _scaled_operand_index(node: Node) -> int | None:
    """Return the index of the operand that a multiplication scales by a number, None for others."""
    for index, operand in enumerate(node.operands):
        factor = node.operands[1 - index]
        if number_of(factor) is not None and operand.type == node.types[0]:
            return index
    return None


def _take_behind(matching: Matching, affine: Affine) -> None:
    """Take the nodes that scale, shift, reshape and transpose the product, up to another node."""
    channels = _ChannelAxis(affine.product.results[0], affine.product.types[0].rank - 1)
    while (node := matching.readers.only(channels.value)) is not None:
        if isinstance(node.op, real.RealReshape | real.RealTranspose):
            affine.moves.append(node)
            channels = _ChannelAxis(node.results[0], _channel_axis_after(node, channels))
        elif _is_affine(matching, node, channels):
            affine.steps.append(node)
            channels = _ChannelAxis(node.results[0], channels.axis)
        else:
            break
    _note(matching, affine, channels)
    last = affine.steps[-1].index if affine.steps else -1
    affine.moves = [n for n in affine.moves if n.index < last]


def _channel_axis_after(node: Node, position: _ChannelAxis) -> int | None:
    """Return the axis of the channels after a reshape or transpose, None if there is none."""
    if position.axis is None:
        return None
    if isinstance(node.op, real.RealTranspose):
        return node.op.axes.index(position.axis)
    old, new = position.value.type.shape, node.types[0].shape
    before, channels = size_of(old[: position.axis]), old[position.axis]
    for axis, size in enumerate(new):
        if size == channels and size_of(new[:axis]) == before:
            return axis
    return None


def _is_affine(matching: Matching, node: Node, position: _ChannelAxis) -> bool:
    """Return whether a node scales or shifts by a scalar, or by one value for each channel."""
    if not isinstance(node.op, _BINARY) or node.types[0] != position.value.type:
        return False
    x, y = node.operands
    if x == y:
        return False
    other = y if x == position.value else x
    if isinstance(node.op, real.RealDiv) and x != position.value:
        return False
    if not matching.is_weight(other) or not _per_channel(other, position):
        return False
    return not isinstance(node.op, real.RealMul | real.RealDiv) or _in_range(matching, node)


def _per_channel(value: Value, position: _ChannelAxis) -> bool:
    """Return whether a value is a scalar, or has one element for each channel of a place."""
    shape, rank = value.type.shape, position.value.type.rank
    axes = [a + rank - len(shape) for a, n in enumerate(shape) if n != 1]
    return not axes or axes == [position.axis]


def _in_range(matching: Matching, node: Node) -> bool:
    """Return whether no constant factor of a node could drive weights out of their range."""
    for operand in node.operands:
        if operand.constant is not None:
            size = np.abs(operand.constant.astype(np.float64))
            fits = (size <= _MAX_FACTOR) & (size >= 1.0 / _MAX_FACTOR)
            if not bool(np.all(fits | (size == 0))) or (
                isinstance(node.op, real.RealDiv) and not bool(np.all(size))
            ):
                text = f"{matching.notes[node]} has a factor beyond 2^60 or below 2^-60"
                matching.miss(Pattern.FOLD, node, MissReason.LIMIT, text)
                return False
    return True


def _note(matching: Matching, affine: Affine, position: _ChannelAxis) -> None:
    """Note the reason for which a scale or a shift for each channel after a product stays."""
    product = affine.product
    for node, factor in _vector_factors(matching, position.value):
        if product.types[0].dtype not in (DType.F32, DType.F64):
            text = f"{matching.notes[product]} is {product.types[0].dtype.value}, not f32 or f64"
            matching.miss(Pattern.FOLD, node, MissReason.DTYPE, text)
        elif not matching.is_weight(product.operands[1]):
            text = f"the right factor of {matching.notes[product]} is computed in each run"
            matching.miss(Pattern.FOLD, node, MissReason.WEIGHTS, text)
        elif not _per_channel(factor, position):
            text = f"{factor.type} is not one number for each output channel"
            matching.miss(Pattern.FOLD, node, MissReason.AXIS, text)
        elif matching.readers.only(position.value) is None:
            matching.miss_inner(Pattern.FOLD, position.value)


def _vector_factors(matching: Matching, value: Value) -> Iterator[tuple[Node, Value]]:
    """Yield the nodes that multiply or divide a value by several known numbers, and these."""
    for node in dict.fromkeys(matching.readers.users[value]):
        factors = [o for o in node.operands if o != value]
        if (
            isinstance(node.op, real.RealMul | real.RealDiv)
            and len(factors) == 1
            and matching.is_weight(factors[0])
            and any(n != 1 for n in factors[0].type.shape)
            and node.types[0] == value.type
        ):
            yield node, factors[0]


def fold(matching: Matching, affines: Sequence[Affine]) -> Graph:
    """Return the graph with scales and shifts in weights and biases."""
    products = {a.product: a for a in affines}
    bypassed: dict[Node, Value] = {}
    for affine in affines:
        if affine.before is not None:
            index = _scaled_operand_index(affine.before)
            assert index is not None  # by _take_before
            bypassed[affine.before] = affine.before.operands[index]
        for node in affine.steps:
            # A step scales the result of the chain, which is the operand that is not a weight.
            first = node.operands[0]
            bypassed[node] = node.operands[1] if matching.is_weight(first) else first

    for affine in affines:
        op = affine.product.op.name
        result = f"{op} + real.add" if affine.steps else op
        detail, exact = _detail(affine), affine.exact
        matching.found(Pattern.FOLD, affine.nodes, result, detail, exact=exact)
    rewriter = WeightRewriter(matching, "fold-weights")
    for node in rewriter:
        if node in products:
            rewriter.replace(node, _append_folded(rewriter, products[node], matching))
        elif node in bypassed:
            rewriter.replace(node, rewriter[bypassed[node]])
    return rewriter.finish()


def _detail(affine: Affine) -> str:
    """Return the folded nodes in words."""
    return ", ".join(n.op.name.partition(".")[2] for n in affine.nodes if n is not affine.product)


def _append_folded(rewriter: WeightRewriter, affine: Affine, matching: Matching) -> Value:
    """Append the product with other weights, and the addition of the bias."""
    product = affine.product
    x, weights = rewriter.operands(product)
    if affine.before is not None:
        index = _scaled_operand_index(affine.before)
        assert index is not None  # by _take_before
        x = rewriter[affine.before.operands[index]]
        factor = rewriter[affine.before.operands[1 - index]]
        weights = _times(rewriter, product, weights, factor)
    scale, shift = _scale_and_shift(rewriter, affine, matching)
    if scale is not None:
        weights = _times(rewriter, product, weights, scale)
    folded_origins = (n.origin for n in affine.nodes if n is not product)
    origin = product.origin.join(folded_origins).through(rewriter.by)
    value = rewriter.new.apply(product.op, x, weights, origin=origin)
    if shift is None:
        return value
    channels = value.type.shape[-1:]
    if shift.type.shape != channels:
        shift = rewriter.compute(real.RealBroadcastTo(shape=channels), shift)
    return rewriter.new.apply(real.RealAdd(), value, shift)


def _times(rewriter: WeightRewriter, product: Node, weights: Value, factor: Value) -> Value:
    """Return weights times one value, or one for each output channel."""
    flat = _flat(rewriter, factor)
    if flat.type.rank and isinstance(product.op, real.RealConv):
        rank = weights.type.rank
        shape = (*flat.type.shape, *(1,) * (rank - 1))
        flat = rewriter.compute(real.RealReshape(shape=shape), flat)
    return rewriter.compute(real.RealMul(), weights, flat)


def _flat(rewriter: WeightRewriter, value: Value) -> Value:
    """Return one value as rank 0, one for each channel as rank 1."""
    shape = tuple(n for n in value.type.shape if n != 1)
    if shape == value.type.shape:
        return value
    return rewriter.compute(real.RealReshape(shape=shape), value)


def _scale_and_shift(
    rewriter: WeightRewriter, affine: Affine, matching: Matching
) -> tuple[Value | None, Value | None]:
    """Return ``s`` and ``t`` of ``y s + t``, which the steps do to the product; None for none."""
    scale: Value | None = None
    shift: Value | None = None
    for node in affine.steps:
        behind = matching.is_weight(node.operands[0])
        other = _flat(rewriter, rewriter[node.operands[0 if behind else 1]])
        match node.op:
            case real.RealMul() | real.RealDiv():
                first = rewriter.number(1.0, other) if scale is None else scale
                scale = rewriter.compute(node.op, first, other)
                shift = None if shift is None else rewriter.compute(node.op, shift, other)
            case real.RealAdd():
                shift = other if shift is None else rewriter.compute(node.op, shift, other)
            case real.RealSub() if behind:
                scale = rewriter.compute(
                    real.RealNeg(), rewriter.number(1.0, other) if scale is None else scale
                )
                shift = other if shift is None else rewriter.compute(node.op, other, shift)
            case _ if shift is None:
                shift = rewriter.compute(real.RealNeg(), other)
            case _:
                shift = rewriter.compute(node.op, shift, other)
    return scale, shift
