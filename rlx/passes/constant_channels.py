"""Compute away channels that are constant for all inputs, or that no op reads.

A pruned network has many of them: in MLPerf Tiny's visual-wake-words network 971 of the 1498 output
channels of pointwise layers have weights that are all zero. Their value is known at compile time,
and so is their share of every accumulator after them; no target needs to compute, store or read
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.ir import Constant, DType, QuantParams, rebuild
from rlx.ops.q import QConv2d, QDense, QPad, QReshape, computes_int16
from rlx.passes.base import Pass
from rlx.passes.ranges import channel_ranges, may_leave_image

if TYPE_CHECKING:
    from rlx.ir import Array, Graph, Node, Value
    from rlx.passes.ranges import Range

Kept: TypeAlias = "npt.NDArray[np.bool_]"
"""Mask of the channels of a value: True for each that stays."""


@dataclass(frozen=True, slots=True)
class DropConstantChannels(Pass):
    """Remove constant and unread channels; fold their share of accumulators into biases."""

    name: ClassVar[str] = "drop-constant-channels"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph without the channels that no op needs."""
        ranges = channel_ranges(graph)
        masks = _kept_channels(graph, ranges)
        if all(k.all() for k in masks.values()):
            return graph

        def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
            around = (*node.operands, *node.results)
            if all(v not in masks or masks[v].all() for v in around):
                return None
            if isinstance(node.op, QConv2d | QDense):
                return [_shrink_product(new, node, operands, masks, ranges)]
            return [_shrink_channelwise(new, node, operands, masks)]

        return rebuild(graph, visit, by=self.name)


def _kept_channels(graph: Graph, ranges: dict[Value, Range]) -> dict[Value, Kept]:
    """Return the channels of each int8 value that must stay.

    A channel stays if some reader needs it: one whose weights for it are not all zero, and that
    cannot fold it because it is not constant. Demands spread until nothing changes; an op that is
    separate for each channel keeps the same channels on both sides.
    """
    masks = {
        value: np.zeros(len(range_.low), np.bool_)
        for value, range_ in ranges.items()
        # Constants follow their readers: weights are cut with the layer that owns them.
        if not isinstance(value.node.op, Constant)
    }
    for value in (*graph.inputs, *graph.outputs):
        if value in masks:
            masks[value][:] = True
    changed = True
    while changed:
        changed = False
        # From the outputs on: demands go from results to operands. Masks only grow, so the loop
        # terminates.
        for node in reversed(graph.nodes):
            changed |= _spread_demands(node, masks, ranges)
    return masks


def _spread_demands(node: Node, masks: dict[Value, Kept], ranges: dict[Value, Range]) -> bool:
    """Add the channels that one node needs to the kept sets; return whether any grew."""
    around = [v for v in (*node.operands, *node.results) if v in masks]
    before = [masks[v].copy() for v in around]
    _apply_demands(node, around, masks, ranges)
    for value in node.results:
        if value in masks and not masks[value].any():
            # A tensor needs a channel, needed or not.
            masks[value][0] = True
    return any((masks[v] != b).any() for v, b in zip(around, before, strict=True))


def _apply_demands(
    node: Node, around: list[Value], masks: dict[Value, Kept], ranges: dict[Value, Range]
) -> None:
    """Enlarge the kept sets of the values ``around`` one node."""
    match node.op:
        case _ if computes_int16(node):
            # Only channels of int8 values are dropped.
            for value in around:
                masks[value][:] = True
        case QConv2d(groups=groups) if groups > 1 and _is_depthwise(node):
            _link_depthwise(node, masks)
        case QDense() | QConv2d(groups=1) if _is_known(node):
            x = node.operands[0]
            masks[x] |= ~_foldable(node, ranges[x], masks[node.result])
        case QReshape() if _pixels(node):
            _link_reshape(node, masks)
        case op if op.traits.channelwise and _is_aligned(node):
            _link_all(around, masks)
        case _:
            for value in around:
                masks[value][:] = True


def _is_known(node: Node) -> bool:
    """Return whether weights and bias are constants."""
    return all(o.constant is not None for o in node.operands[1:])


def _is_depthwise(node: Node) -> bool:
    """Return whether a grouped convolution reads one channel for each output and can be cut."""
    op = node.op
    assert isinstance(op, QConv2d)
    return _is_known(node) and op.groups == node.operands[0].type.shape[-1]


def _is_aligned(node: Node) -> bool:
    """Return whether all tensors around a channelwise op have the same channels, without pads."""
    values = (*node.operands, *node.results)
    if any(v.type.rank == 0 or v.type.dtype is not DType.I8 for v in values):
        return False
    if isinstance(node.op, QPad) and (node.op.before[-1] or node.op.after[-1]):
        return False
    if any(isinstance(v.node.op, Constant) for v in node.operands):
        return False
    return len({v.type.shape[-1] for v in values}) == 1


def _pixels(node: Node) -> int:
    """Return the number of whole pixels in a reshape's last axis, or 0 if it splits pixels."""
    if not node.types[0].rank or not node.operands[0].type.rank:
        return 0
    before, after = node.operands[0].type.static_shape[-1], node.types[0].static_shape[-1]
    return after // before if after % before == 0 else 0


def _link_all(values: list[Value], masks: dict[Value, Kept]) -> None:
    """Give all ``values`` the union of their kept sets."""
    union = np.logical_or.reduce([masks[v] for v in values])
    for value in values:
        masks[value] = union.copy()


def _link_reshape(node: Node, masks: dict[Value, Kept]) -> None:
    """Keep a channel in every pixel of the last axis, or in none."""
    x, y = node.operands[0], node.result
    union = masks[x] | masks[y].reshape(_pixels(node), -1).any(axis=0)
    masks[x], masks[y] = union, np.tile(union, _pixels(node))


def _link_depthwise(node: Node, masks: dict[Value, Kept]) -> None:
    """Keep an input channel with all its outputs, or none of them."""
    x, y = node.operands[0], node.result
    multiplier = len(masks[y]) // len(masks[x])
    union = masks[x] | masks[y].reshape(-1, multiplier).any(axis=1)
    masks[x], masks[y] = union, np.repeat(union, multiplier)


def _foldable(node: Node, x: Range, outputs: Kept) -> Kept:
    """Return the input channels that add the same value to each accumulator of ``outputs``."""
    weights = node.operands[1].constant
    assert weights is not None
    read = weights[outputs]
    foldable = x.constant
    if isinstance(node.op, QConv2d):
        foldable &= _same_at_border(node, x, read)
    return foldable | _all_zero(read.reshape(-1, read.shape[-1]))


def _same_at_border(node: Node, x: Range, weights: Array) -> Kept:
    """Return the channels that add the same at the border: unread, or equal to the padding."""
    op = node.op
    assert isinstance(op, QConv2d)
    _, height, width, _ = node.operands[0].type.static_shape
    outside = may_leave_image(op.window, (height, width))
    idle = _all_zero(weights[:, outside, :].reshape(-1, weights.shape[-1]))
    same: Kept = idle | (x.low == op.x_zero_point)
    return same


def _all_zero(rows: Array) -> Kept:
    """Return the columns that hold nothing but zeros."""
    return np.asarray(np.count_nonzero(rows, axis=0) == 0, np.bool_)


def _shrink_product(
    new: Graph,
    node: Node,
    operands: tuple[Value, ...],
    masks: dict[Value, Kept],
    ranges: dict[Value, Range],
) -> Value:
    """Append the convolution or dense layer with fewer channels on either side."""
    op, (x, w, b) = node.op, node.operands
    assert isinstance(op, QConv2d | QDense)
    weights, bias = w.constant, b.constant
    assert weights is not None
    assert bias is not None
    inputs, outputs = masks[x], masks[node.result]
    if isinstance(op, QConv2d) and op.groups > 1:
        small, folded = weights[outputs], bias[outputs]
        op = replace(op, groups=int(inputs.sum()))
    else:
        known = ranges[x].low[~inputs] - op.x_zero_point
        added = (weights[..., ~inputs].astype(np.int64) * known).reshape(len(weights), -1).sum(1)
        small, folded = weights[outputs][..., inputs], (bias + added)[outputs]
    op = replace(op, rescale=op.rescale.take(np.flatnonzero(outputs).tolist()))
    w_new = new.constant(small, name=w.name, quant=_take_quant(w.type.quant, outputs))
    b_new = new.constant(
        folded.astype(np.int32), name=b.name, quant=_take_quant(b.type.quant, outputs)
    )
    return new.apply(op, operands[0], w_new, b_new, quant=node.types[0].quant)


def _shrink_channelwise(
    new: Graph, node: Node, operands: tuple[Value, ...], masks: dict[Value, Kept]
) -> Value:
    """Append an op that follows its operands' channels."""
    op = node.op
    if isinstance(op, QReshape):
        op = QReshape(shape=(*op.shape[:-1], int(masks[node.result].sum())))
    return new.apply(op, *operands, quant=node.types[0].quant)


def _take_quant(quant: QuantParams | None, mask: Kept) -> QuantParams | None:
    """Return per-channel parameters of axis 0 for the channels that stay."""
    if quant is None or quant.axis != 0:
        return quant
    channels = np.flatnonzero(mask).tolist()
    return QuantParams(
        tuple(quant.scale[i] for i in channels), tuple(quant.zero_point[i] for i in channels), 0
    )
