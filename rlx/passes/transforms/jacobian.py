"""Jacobians: every derivative of an output by every element of an input.

``d_OUT_d_IN`` holds them; its shape is that of OUT, then that of IN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Graph, Rewriter, copy_node
from rlx.ir.graph import Source
from rlx.ir.module import graph_of, with_graph
from rlx.ops.expression import Expression
from rlx.passes.transforms.jvp import jvp
from rlx.passes.transforms.linearize import float_outputs, free_name, prepared, sources_of
from rlx.passes.transforms.simplify import simplified
from rlx.passes.transforms.vjp import grad, last_outputs, vjp
from rlx.passes.transforms.vmap import vmap
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, TensorType, Value
    from rlx.ir.module import Given


def jacfwd(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of Jacobians, one for each pair of output and source, by forward mode.

    It takes one tangent for each element of a source: of advantage for few inputs.

    Args:
        model: The graph.
        wrt: Names of inputs and parameters; None for every floating-point input.

    Raises:
        UsageError: A name is unknown, its value not floating-point or of open size.
        UnsupportedOpError: Ops have no derivative.

    Example:
        >>> graph = rlx.trace("net", lambda x: {"y": x * x}, rlx.f32(3)).graph
        >>> rlx.jacfwd(graph).outputs[0].type.shape
        (3, 3)
    """
    graph = prepared(graph_of(model))
    return with_graph(model, _forward(graph, wrt))


def jacrev(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of Jacobians as :func:`jacfwd`, by reverse mode.

    It takes one gradient for each element of an output: of advantage for few outputs.

    Example:
        >>> graph = rlx.trace("net", lambda x: {"y": x * x}, rlx.f32(3)).graph
        >>> rlx.jacrev(graph).outputs[0].type.shape
        (3, 3)
    """
    graph = prepared(graph_of(model))
    sources, outputs = sources_of(graph, wrt), float_outputs(graph)
    whole = vjp(graph, [v.name for v in sources])
    used = {v.name for v in (*graph.inputs, *graph.params)}
    factors = {name: free_name(name, used) for name in outputs}
    result = _Joined(graph)
    for name, output in outputs.items():
        zeros = {factors[n]: np.zeros(v.type.static_shape, v.type.dtype.numpy)
                 for n, v in outputs.items() if n != name}  # fmt: skip
        derivative = bound(last_outputs(whole, len(sources)), zeros)
        rows = vmap(derivative, _size(name, output.type), factors[name])
        values = result.add(bound(rows, {factors[name]: _basis(output.type)}))
        for source, value in zip(sources, values[-len(sources) :], strict=True):
            shape = (*output.type.shape, *source.type.shape)
            full = value if value.ndim > source.type.rank else value.expand_dims(0)
            full = full.broadcast_to(output.type.size, *source.type.shape)
            result.output(f"d_{name}_d_{source.name}", full.reshape(*shape))
    return with_graph(model, result.finish())


def hessian(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of the second derivatives of a scalar output: ``d_A_d_B`` for each pair.

    It is the forward Jacobian of the gradient.

    Args:
        model: The graph; one output holds a single floating-point number.
        wrt: Names of inputs and parameters; None for every floating-point input.

    Example:
        >>> graph = rlx.trace("net", lambda x: (x * x).sum(), rlx.f32(3)).graph
        >>> rlx.hessian(graph).output_names
        ('d_x_d_x',)
    """
    graph = graph_of(model)
    names = [v.name for v in sources_of(graph, wrt)]
    gradients = last_outputs(grad(graph, names), len(names))
    kept_names = gradients.output_names[: -len(names)]
    renamed = Rewriter(gradients).finish(names=[*kept_names, *names])
    return with_graph(model, _forward(renamed, names))


def _forward(graph: Graph, wrt: Sequence[str] | str | None) -> Graph:
    """Return the graph of Jacobians by forward mode."""
    sources, outputs = sources_of(graph, wrt), float_outputs(graph)
    result = _Joined(graph)
    jacobians: dict[tuple[str, str], Expression] = {}
    for source in sources:
        used = {v.name for v in (*graph.inputs, *graph.params)}
        tangent = free_name(source.name, used)
        derivative = last_outputs(jvp(graph, source.name), len(outputs))
        columns = vmap(derivative, _size(source.name, source.type), tangent)
        values = result.add(bound(columns, {tangent: _basis(source.type)}))
        for (name, output), value in zip(outputs.items(), values[-len(outputs) :], strict=True):
            jacobians[name, source.name] = _turned(value, output.type, source.type)
    for name in outputs:
        for source in sources:
            result.output(f"d_{name}_d_{source.name}", jacobians[name, source.name])
    return result.finish()


def _turned(value: Expression, output: TensorType, source: TensorType) -> Expression:
    """Return columns [elements of the source, *output] as [*output, *source]."""
    if value.ndim == output.rank:  # does not depend on the source
        value = value.expand_dims(0).broadcast_to(source.size, *output.shape)
    last = value.transpose(*range(1, value.ndim), 0)
    return last.reshape(*output.shape, *source.shape)


def _size(name: str, type_: TensorType) -> int:
    """Return the number of elements of a value."""
    if not type_.is_static or type_.size == 0:
        raise UsageError(
            f"the Jacobian by {name!r} needs its number of elements, got {type_}",
            hint="bind the symbols first (rlx.bind)",
        )
    return type_.size


def _basis(type_: TensorType) -> Array:
    """Return every unit vector of a type."""
    unit = np.eye(type_.size, dtype=type_.dtype.numpy)
    return unit.reshape(type_.size, *type_.static_shape)


def bound(graph: Graph, values: Mapping[str, Array]) -> Graph:
    """Return a graph with constants in place of some inputs."""
    rewriter = Rewriter(graph)
    for node in rewriter:
        if isinstance(node.op, Source) and node.name in values:
            rewriter.replace(node, rewriter.new.constant(values[node.name]))
    return rewriter.finish()


class _Joined:
    """Graphs over the same inputs and parameters, joined into one."""

    def __init__(self, graph: Graph) -> None:
        """Begin with the inputs and parameters of ``graph``, and the next values of its states."""
        self._graph = Graph(graph.name)
        self._sources: dict[str, Value] = {}
        self._outputs: dict[str, Value] = {}
        for value in (*graph.inputs, *graph.params):
            self._sources[value.name] = copy_node(self._graph, value.node, ()).result
        following = last_outputs(graph, 0)
        for name, result in zip(following.output_names, self.add(following), strict=True):
            self.output(name, result)

    def add(self, graph: Graph) -> list[Expression]:
        """Append a graph and return its outputs."""
        values: dict[Value, Value] = {}
        for node in graph.nodes:
            if isinstance(node.op, Source) and node.name in self._sources:
                values[node.result] = self._sources[node.name]
                continue
            node_copy = copy_node(self._graph, node, tuple(values[o] for o in node.operands))
            values.update(zip(node.results, node_copy.results, strict=True))
        return [Expression(self._graph, values[v]) for v in graph.outputs]

    def output(self, name: str, value: Expression) -> None:
        """Declare an output."""
        self._outputs[name] = value.value

    def finish(self) -> Graph:
        """Return the simplified graph."""
        self._graph.output(*self._outputs.values(), names=list(self._outputs))
        return simplified(self._graph)
