"""Layers with constant weights in one form: a matrix of one row for each output channel.

Tests: tests/unit/passes/quantize/test_weights.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir import rebuild
from rlx.ops.nn import Layout, NnConv, NnLinear

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Node, Value

    Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Weighted:
    """A convolution or a dense layer whose weights and bias are constant.

    Attributes:
        node: The layer.
        weights: As the layer holds them.
        bias: [outputs]; zeros where the layer has none.
    """

    node: Node
    weights: Floats
    bias: Floats

    @staticmethod
    def of(node: Node) -> Weighted | None:
        """Return ``node`` as a weighted layer, or None if it is none."""
        if not isinstance(node.op, NnConv | NnLinear):
            return None
        constants = [o.constant for o in node.operands[1:]]
        if any(c is None for c in constants):
            return None
        weights = np.asarray(constants[0])
        bias = constants[1] if len(constants) > 1 else np.zeros(len(weights), weights.dtype)
        return Weighted(node, weights, np.asarray(bias))

    @property
    def groups(self) -> int:
        """Groups of channels; a dense layer has one."""
        return self.node.op.groups if isinstance(self.node.op, NnConv) else 1

    @property
    def outputs(self) -> int:
        """Output channels."""
        return len(self.weights)

    @property
    def channel_axis(self) -> int:
        """Axis of the channels in operand and result, counted from the end."""
        op = self.node.op
        if isinstance(op, NnConv) and op.layout is Layout.CHANNELS_FIRST:
            return -1 - op.window.rank
        return -1

    def rows(self, weights: Floats | None = None) -> Floats:
        """Return weights (by default the layer's) as [outputs, taps * channels of a group]."""
        weights = self.weights if weights is None else weights
        if self.channel_axis != -1:
            weights = np.moveaxis(weights, 1, -1)
        return weights.reshape(len(weights), -1)

    def from_rows(self, rows: Floats) -> Floats:
        """Return the inverse of :meth:`rows`, in the layer's element type."""
        shape = self.weights.shape
        if self.channel_axis != -1:
            last = rows.reshape(shape[0], *shape[2:], shape[1])
            rows = np.moveaxis(last, -1, 1)
        return np.ascontiguousarray(rows.reshape(shape).astype(self.weights.dtype))

    def by_input(self) -> Floats:
        """Return the weights as [groups, input channels of a group, all that read a channel]."""
        inner = self.weights.shape[1 if self.channel_axis != -1 else -1]
        grouped = self.rows().reshape(self.groups, self.outputs // self.groups, -1, inner)
        return np.moveaxis(grouped, -1, 1).reshape(self.groups, inner, -1)

    def scale_inputs(self, factors: Floats) -> Floats:
        """Return the weights with those of each input channel multiplied by its factor."""
        inner = self.weights.shape[1 if self.channel_axis != -1 else -1]
        grouped = self.rows().reshape(self.groups, self.outputs // self.groups, -1, inner)
        scaled = grouped * factors.reshape(self.groups, 1, 1, inner)
        return self.from_rows(scaled.reshape(self.outputs, -1))

    def scale_outputs(self, factors: Floats) -> Floats:
        """Return the weights with those of each output channel multiplied by its factor."""
        return self.from_rows(self.rows() * factors[:, np.newaxis])

    def patches(self, x: Floats) -> Floats:
        """Return the patches that rows are multiplied with: [groups, positions, taps * channels].

        Args:
            x: Operand of the layer, for any number of samples.
        """
        op = self.node.op
        if not isinstance(op, NnConv):
            return x.reshape(1, -1, x.shape[-1])
        last = x if self.channel_axis == -1 else np.moveaxis(x, 1, -1)
        views: list[Any] = [v for _, v in op.window.taps(op.window.pad(last, 0))]
        together = np.stack(views, axis=-2)
        taps, channels = together.shape[-2:]
        split = together.reshape(-1, taps, self.groups, channels // self.groups)
        patches: Floats = np.moveaxis(split, 2, 0).reshape(self.groups, len(split), -1)
        return patches


def weighted_layers(graph: Graph) -> list[Weighted]:
    """Return the layers with constant weights, in the order of the graph."""
    found = (Weighted.of(node) for node in graph.op_nodes)
    return [layer for layer in found if layer is not None]


def with_weights(graph: Graph, new: Mapping[Node, tuple[Floats, Floats]], *, by: str) -> Graph:
    """Return ``graph`` with other weights and biases for some of its weighted layers.

    Args:
        graph: The graph.
        new: Weights (as the layer holds them) and bias, by node.
        by: Name of the pass.
    """

    def visit(copy: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        if node not in new:
            return None
        old = Weighted.of(node)
        assert old is not None
        weights, bias = new[node]
        constants = [
            copy.constant(_as(weights, old.weights), name=_name(node, 1, "weights")),
            copy.constant(_as(bias, old.bias), name=_name(node, 2, "bias")),
        ]
        return [copy.apply(node.op, operands[0], *constants)]

    return rebuild(graph, visit, by=by)


def _as(array: Floats, like: Array) -> Array:
    return np.asarray(array, like.dtype)


def _name(node: Node, index: int, word: str) -> str:
    """Return the name of a layer's constant, or one made of the layer's."""
    if index < len(node.operands) and node.operands[index].name:
        return node.operands[index].name
    return f"{node.name}.{word}" if node.name else ""
