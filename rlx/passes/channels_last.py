"""Graphs of channels-first images become graphs of channels-last ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, Graph, Input, Node, QuantParams, Value, copy_node
from rlx.ops import nn, q, real
from rlx.ops.nn import Layout
from rlx.ops.nn.layout import to_channels_first, to_channels_last
from rlx.passes.axis_orders import (
    Order,
    identity,
    inverse,
    is_pointwise,
    may_follow,
    moved_quant,
    only_moves_ones,
    reorder,
)
from rlx.passes.base import Pass

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array, Dim, Op
    from rlx.ir.types import Shape

_WEIGHTED = (nn.NnConv, nn.NnConvTranspose, nn.NnQuantizedConv)
_LINEAR = (nn.NnLinear, nn.NnQuantizedLinear, q.QDense)
_TRANSPOSES = (real.RealTranspose, q.QTranspose)
_RESHAPES = (real.RealReshape, q.QReshape)


@dataclass(frozen=True, slots=True)
class ChannelsLast(Pass):
    """Give every layer of images the layout channels-last, and move transposes to the ends.

    Transposes are not carried out at their place, but as late as possible: layers, elementwise ops,
    reductions, pads, concatenations and so on compute in the order in which their operands are, and
    transposes that meet cancel. Constants are re-ordered at once, quantized ones too. Of a
    flattened image, the columns of the weights after it are re-ordered instead. The remaining
    transposes are at an input or an output, or where an op needs one order (a matrix product, a
    reshape).
    """

    name: ClassVar[str] = "channels-last"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with channels-last layers."""
        return _Reordering(graph).run()


@dataclass(frozen=True, slots=True)
class _Replacement:
    """Replacement of a value of the old graph.

    Attributes:
        value: A value of the new graph; the old one is ``transpose(value, order)``.
        order: See ``rlx.passes.axis_orders``.
        columns: If given, the old value is ``value[..., columns]``.
    """

    value: Value
    order: Order
    columns: npt.NDArray[np.int64] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is the old value itself."""
        return self.order == identity(len(self.order)) and self.columns is None


def _last(rank: int) -> Order:
    """Return the order of a channels-first image that is stored channels last."""
    return (0, rank - 1, *range(1, rank - 1))


@dataclass(slots=True)
class _Reordering:
    """One run of the pass.

    Not a ``Rewriter``: the replacement of a value has an order, and a transpose that is made for a
    node belongs to the value that it turns, with the name and the origin of that.
    """

    old: Graph
    new: Graph = field(init=False)
    replacements: dict[Value, _Replacement] = field(default_factory=dict)
    users: dict[Value, list[Node]] = field(init=False)
    readers: dict[Value, int] = field(default_factory=dict)
    transposes: dict[tuple[Value, Order], Value] = field(default_factory=dict)
    integers: bool = field(init=False)

    def __post_init__(self) -> None:
        self.new = Graph(self.old.name)
        self.users = self.old.users()
        self.integers = any(isinstance(node.op, q.Q_OPS) for node in self.old.op_nodes)

    def run(self) -> Graph:
        """Return the new graph."""
        for node in self.old.nodes:
            for result, replacement in zip(node.results, self._visit(node), strict=True):
                self.replacements[result] = replacement
                # A transpose that is not carried out here is not a reader: those of its result are.
                is_transpose = any(
                    self.replacements[o].value == replacement.value for o in node.operands
                )
                count = len(self.users[result]) + self.old.outputs.count(result) - is_transpose
                self.readers[replacement.value] = self.readers.get(replacement.value, 0) + count
        outputs = [self._plain(o) for o in self.old.outputs]
        self.new.output(*outputs, names=self.old.output_names)
        return self.new

    def _visit(self, node: Node) -> list[_Replacement]:
        """Return the replacements of the results of a node."""
        op, operands = node.op, [self.replacements[o] for o in node.operands]
        if getattr(op, "layout", None) is Layout.CHANNELS_FIRST:
            return self._layer(node)
        if isinstance(op, _TRANSPOSES) and operands[0].columns is None:
            order = tuple(operands[0].order[a] for a in op.axes)
            return [_Replacement(operands[0].value, order)]
        if all(s.is_plain for s in operands):
            copy = copy_node(self.new, node, tuple(s.value for s in operands))
            return [_Replacement(v, identity(v.type.rank)) for v in copy.results]
        if operands[0].columns is not None:
            return [self._behind_flat(node, operands[0])]
        if isinstance(op, _RESHAPES):
            return [self._reshape(node, operands[0])]
        return self._in_order(node) or self._copy(node)

    def _copy(self, node: Node) -> list[_Replacement]:
        """Copy a node that needs its operands in the old order."""
        copy = copy_node(self.new, node, tuple(self._plain(o) for o in node.operands))
        return [_Replacement(v, identity(v.type.rank)) for v in copy.results]

    def _append(self, node: Node, op: Op, *operands: Value, order: Order) -> list[_Replacement]:
        """Append the replacement of a node."""
        given = {t.quant for t in node.types if t.quant is not None}
        quant = moved_quant(given.pop(), order) if len(given) == 1 else None
        made = self.new.append(
            op, *operands, name=node.name, quant=quant,
            origin=node.origin.through(ChannelsLast.name),
        )  # fmt: skip
        return [_Replacement(v, order) for v in made.results]

    def _layer(self, node: Node) -> list[_Replacement]:
        """Return a layer of images with the channels last, weights too."""
        rank = node.operands[0].type.rank
        count = 2 if isinstance(node.op, _WEIGHTED) else 1
        images = [self._in_memory_order(o, _last(rank)) for o in node.operands[:count]]
        rest = [self._plain(o) for o in node.operands[count:]]
        op = node.op.with_attributes(layout=Layout.CHANNELS_LAST)
        return self._append(node, op, *images, *rest, order=_last(rank))

    def _in_order(self, node: Node) -> list[_Replacement] | None:
        """Return a node that computes in the order of its operands; None if it cannot."""
        rank = max(o.type.rank for o in node.operands)
        orders = [
            s.order
            for o in node.operands
            if (s := self.replacements[o]).columns is None
            and len(s.order) == rank
            and not s.is_plain
        ]
        reordering = reorder(node.op, orders[0]) if orders else None
        if reordering is None:
            return None
        op, result = reordering
        if isinstance(op, nn.NnBatchNorm | nn.NnGroupNorm):
            image, *vectors = node.operands
            operands = [self._in_memory_order(image, orders[0]), *map(self._plain, vectors)]
        else:
            operands = [self._in_memory_order(o, orders[0]) for o in node.operands]
        return self._append(node, op, *operands, order=result)

    # Reshapes.

    def _reshape(self, node: Node, operand: _Replacement) -> _Replacement:
        """Return a reshape of a value that is stored in another order."""
        value, order = operand.value, operand.order
        if only_moves_ones(value.type, order):
            op = self._to_shape(value, node.result.type.shape)
            (reshaped,) = self._append(node, op, value, order=identity(node.result.type.rank))
            return reshaped
        return (
            self._with_ones(node, operand)
            or self._flat(node, operand)
            or self._merged(node, operand)
            or self._copy(node)[0]
        )

    def _with_ones(self, node: Node, operand: _Replacement) -> _Replacement | None:
        """Return a reshape that adds or drops axes of 1 and keeps the order; None for others."""
        shape, target_shape = node.operands[0].type.shape, node.result.type.shape
        before = [axis for axis, d in enumerate(shape) if d != 1]
        after = [axis for axis, d in enumerate(target_shape) if d != 1]
        if [shape[a] for a in before] != [target_shape[a] for a in after] or len(target_shape) < 3:
            return None
        order = _last(len(target_shape))
        # Both lists name the same axes: they must come in one order in memory.
        memory_order = sorted(range(len(before)), key=lambda i: operand.order[before[i]])
        if memory_order != sorted(range(len(after)), key=lambda i: order[after[i]]):
            return None
        op = self._to_shape(operand.value, tuple(target_shape[a] for a in inverse(order)))
        return self._append(node, op, operand.value, order=order)[0]

    def _flat(self, node: Node, operand: _Replacement) -> _Replacement | None:
        """Return a flattened image whose columns are in another order; None if somebody minds."""
        shape, target_shape = node.operands[0].type.shape, node.result.type.shape
        front = len(target_shape) - 1
        tail = [d for d in shape[front:] if isinstance(d, int)]
        fits = target_shape[:front] == shape[:front] and operand.order[:front] == identity(front)
        if not fits or len(tail) != len(shape) - front or not self._only_weighted(node.result):
            return None
        op = self._to_shape(operand.value, target_shape)
        (flat,) = self._append(node, op, operand.value, order=identity(len(target_shape)))
        tail_order = [operand.order[a] - front for a in range(front, len(shape))]
        sizes = operand.value.type.static_shape[front:] if operand.value.type.is_static else [
            d for d in operand.value.type.shape[front:] if isinstance(d, int)
        ]  # fmt: skip
        columns = np.arange(int(np.prod(sizes))).reshape(sizes).transpose(tail_order).reshape(-1)
        return replace(flat, columns=columns)

    def _merged(self, node: Node, operand: _Replacement) -> _Replacement | None:
        """Return a reshape that merges axes which are neighbours in memory too; None for others."""
        groups = _merged_axes(node.operands[0].type.shape, node.result.type.shape)
        if groups is None:
            return None
        axes = [[operand.order[axis] for axis in group] for group in groups]
        if any(group != list(range(group[0], group[0] + len(group))) for group in axes):
            return None
        order = inverse(tuple(sorted(range(len(axes)), key=lambda i: axes[i])))
        op = self._to_shape(
            operand.value, tuple(node.result.type.shape[axis] for axis in inverse(order))
        )
        return self._append(node, op, operand.value, order=order)[0]

    def _only_weighted(self, value: Value) -> bool:
        """Return whether only linear layers of constant weights read a value, perhaps re-coded."""
        users = self.users[value]
        if not users or value in self.old.outputs:
            return False
        for node in users:
            if isinstance(node.op, _LINEAR):
                if node.operands[0] != value or not _is_constant(node.operands[1]):
                    return False
            elif not (
                is_pointwise(node.op)
                and len(node.operands) == 1
                and getattr(getattr(node.op, "quant", None), "axis", None) is None
                and self._only_weighted(node.result)
            ):
                return False
        return True

    def _behind_flat(self, node: Node, operand: _Replacement) -> _Replacement:
        """Return a node on columns in another order: see ``_only_weighted``."""
        rank, columns = node.result.type.rank, operand.columns
        assert columns is not None
        if not isinstance(node.op, _LINEAR):
            (flat,) = self._append(node, node.op, operand.value, order=identity(rank))
            return replace(flat, columns=columns)
        weights = self._reorder_columns(
            self._plain(node.operands[1]), inverse(tuple(columns.tolist()))
        )
        rest = [self._plain(o) for o in node.operands[2:]]
        return self._append(node, node.op, operand.value, weights, *rest, order=identity(rank))[0]

    def _reorder_columns(self, weights: Value, columns: Order) -> Value:
        """Return constant weights [N, K] with other columns; quantized ones too."""
        array = weights.constant
        if array is not None:
            quant = _reorder_quant(weights.type.quant, columns)
            return self._constant(weights, array[:, columns], quant)
        node = weights.node
        values = self._reorder_columns(node.operands[0], columns)
        assert isinstance(node.op, real.RealDequantize)
        op = real.RealDequantize(quant=_reorder_quant(node.op.quant, columns) or node.op.quant)
        return self.new.apply(op, values, name=node.name, origin=node.origin)

    def _constant(self, of: Value, array: Array, quant: QuantParams | None) -> Value:
        origin = of.node.origin.through(ChannelsLast.name)
        return self.new.constant(array, name=of.name, quant=quant, origin=origin)

    # Orders.

    def _plain(self, old: Value) -> Value:
        """Return a value of the old graph in its own order."""
        return self._in_memory_order(old, identity(old.type.rank))

    def _in_memory_order(self, old: Value, order: Order) -> Value:
        """Return the replacement of a value in ``order``.

        One of lower rank, which broadcasts, gets axes in front first.
        """
        replacement = self.replacements[old]
        assert replacement.columns is None
        value, value_order = replacement.value, replacement.order
        if 0 < len(value_order) < len(order) and order != identity(len(order)):
            more = len(order) - len(value_order)
            value = self._add_leading_axes(value, more)
            value_order = (*range(more), *(a + more for a in value_order))
        if len(value_order) != len(order):
            return value
        # old[i] is axis value_order[i] of the value, and shall be axis order[i] of the result.
        return self._transpose(value, tuple(value_order[a] for a in inverse(order)))

    def _add_leading_axes(self, value: Value, more: int) -> Value:
        """Return a value with dimensions of 1 in front."""
        shape = (*(1,) * more, *value.type.shape)
        array = value.constant
        if array is not None:
            wider = array.reshape((1,) * more + array.shape)
            return self._constant(value, wider, value.type.quant)
        return self.new.apply(self._to_shape(value, shape), value, origin=value.node.origin)

    def _transpose(self, value: Value, axes: Order) -> Value:
        """Return ``transpose(value, axes)``, if possible without an op for it."""
        if axes == identity(len(axes)):
            return value
        if (value, axes) not in self.transposes:
            self.transposes[value, axes] = self._move(value, axes)
        return self.transposes[value, axes]

    def _move(self, value: Value, axes: Order) -> Value:
        node, origin = value.node, value.node.origin.through(ChannelsLast.name)
        if value.constant is not None:
            quant = moved_quant(value.type.quant, inverse(axes))
            return self._constant(value, value.constant.transpose(axes), quant)
        # With another reader the node would be computed twice, in two orders.
        early = self._early(node, axes) if self.readers.get(value, 0) <= 1 else None
        if early is not None:
            return early
        if only_moves_ones(value.type, axes):
            shape = tuple(value.type.shape[a] for a in axes)
            return self._reshaped(value, shape)
        op: Op = (
            q.QTranspose(axes=axes) if self._is_quantized(value) else real.RealTranspose(axes=axes)
        )
        return self.new.apply(op, value, name=node.name, origin=origin)

    def _early(self, node: Node, axes: Order) -> Value | None:
        """Return ``transpose(result, axes)`` with the transpose before a node, if it may be.

        There it meets others, or an input, whose caller can bring the values in that order.
        """
        if isinstance(node.op, _RESHAPES):
            return self._before_ones(node, axes)
        reordering = reorder(node.op, inverse(axes)) if may_follow(node.op) else None
        computed = [o for o in node.operands if o.constant is None]
        # Stored integers that are dequantized are constants that no pass may fold.
        leading = computed or node.operands
        if reordering is None or len(computed) > 1 or leading[0].type.rank != len(axes):
            return None
        if len(node.operands) > 1 and computed and not self._reaches_input(computed[0]):
            return None
        rank, quant = len(axes), node.result.type.quant
        full = [
            self._add_leading_axes(o, rank - o.type.rank) if 0 < o.type.rank < rank else o
            for o in node.operands
        ]
        operands = [self._transpose(o, axes) if o.type.rank == rank else o for o in full]
        return self.new.apply(
            reordering[0], *operands, name=node.name, quant=moved_quant(quant, inverse(axes)),
            origin=node.origin.through(ChannelsLast.name),
        )  # fmt: skip

    def _reaches_input(self, value: Value) -> bool:
        """Return whether a transpose of a value can move to an input or to another transpose.

        After a layer it would only separate the layer from the readers of its result.
        """
        while not isinstance(value.node.op, (Input, *_TRANSPOSES)):
            node = value.node
            computed = [o for o in node.operands if o.constant is None]
            follows = may_follow(node.op) or isinstance(node.op, _RESHAPES)
            if len(computed) != 1 or not follows or self.readers.get(value, 0) > 1:
                return False
            value = computed[0]
        return True

    def _before_ones(self, node: Node, axes: Order) -> Value | None:
        """Return a transpose before a reshape that adds or drops axes of 1; None for others.

        It is one between channels first and last, which an input can do without.
        """
        (source,), value = node.operands, node.result
        shape, target_shape = source.type.shape, value.type.shape
        before = [axis for axis, d in enumerate(shape) if d != 1]
        after = [axis for axis, d in enumerate(target_shape) if d != 1]
        if [shape[a] for a in before] != [
            target_shape[a] for a in after
        ] or source.constant is not None:
            return None
        permutation = [before[after.index(a)] for a in axes if a in after]
        for order in (to_channels_last(len(shape)), to_channels_first(len(shape))):
            if (
                permutation != sorted(permutation)
                and [a for a in order if a in before] == permutation
            ):
                turned = self._transpose(source, order)
                op = self._to_shape(turned, tuple(target_shape[a] for a in axes))
                origin = node.origin.through(ChannelsLast.name)
                return self.new.apply(op, turned, name=node.name, origin=origin)
        return None

    def _reshaped(self, value: Value, shape: Shape) -> Value:
        """Return a reshape; of a reshape, one of the operand of that."""
        source = value.node.operands[0] if isinstance(value.node.op, _RESHAPES) else value
        op = self._to_shape(source, shape)
        origin = value.node.origin.through(ChannelsLast.name)
        return self.new.apply(op, source, name=value.node.name, origin=origin)

    def _is_quantized(self, value: Value) -> bool:
        """Return whether ops on a value are integer ops."""
        return self.integers and value.type.dtype in (DType.I8, DType.I16)

    def _to_shape(self, value: Value, shape: Shape) -> Op:
        if self._is_quantized(value):
            return q.QReshape(shape=value.type.with_shape(shape).static_shape)
        return real.RealReshape(shape=shape)


def _merged_axes(shape: Shape, target_shape: Shape) -> list[list[int]] | None:
    """Return the axes that become each axis of a shape with fewer axes; None for other reshapes."""
    groups: list[list[int]] = []
    axis = 0
    for size in target_shape:
        group = [axis]
        if axis == len(shape):
            return None
        if shape[axis] == size:
            groups.append(group)
            axis += 1
            continue
        while math.prod(_known(shape[a]) for a in group) < _known(size) and axis + 1 < len(shape):
            axis += 1
            group.append(axis)
        if math.prod(_known(shape[a]) for a in group) != _known(size):
            return None
        groups.append(group)
        axis += 1
    return groups if axis == len(shape) and len(groups) < len(shape) else None


def _known(size: int | Dim) -> float:
    """Return a dimension; NaN, which equals nothing, for one that is open."""
    return size if isinstance(size, int) else math.nan


def _is_constant(value: Value) -> bool:
    """Return whether a value is a constant, or dequantized from constant quantized values."""
    node = value.node
    return value.constant is not None or (
        isinstance(node.op, real.RealDequantize) and node.operands[0].constant is not None
    )


def _reorder_quant(quant: QuantParams | None, columns: Order) -> QuantParams | None:
    """Return the parameters of quantized values [N, K] after their columns were re-ordered."""
    if quant is None or quant.axis not in (1, -1):
        return quant
    return QuantParams(
        tuple(quant.scale[p] for p in columns), tuple(quant.zero_point[p] for p in columns), 1
    )
