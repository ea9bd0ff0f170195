"""Reverse-mode derivatives: linearize, then transpose the tangents.

The gradient graph computes the outputs as the given graph does, and from them, backwards, the
gradients of inputs and parameters. All functions accept and return a graph or a module.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Rewriter
from rlx.ir.module import graph_of, with_graph
from rlx.ops.expression import Expression
from rlx.passes.transforms import transpose_rules as _rules  # noqa: F401 - fills the table
from rlx.passes.transforms.formulas import constant, or_zeros
from rlx.passes.transforms.jvp import jvp
from rlx.passes.transforms.linearize import (
    Linearized,
    float_outputs,
    free_name,
    free_names,
    prepared,
    sources_of,
)
from rlx.passes.transforms.simplify import simplified
from rlx.passes.transforms.transpose import dependent_nodes, transpose
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Graph, Value
    from rlx.ir.module import Given

    Seeds = Callable[[Graph], Mapping[str, Expression]]


def vjp(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of the outputs and of gradients times given factors (reverse mode).

    The result has an input ``d_NAME`` for each floating-point output, its factor, and, after the
    outputs, an output ``d_NAME`` for each input or parameter of ``wrt``: the sum over all outputs
    of factor times derivative. A name that is taken gets a further ``d_``.

    Args:
        model: The graph.
        wrt: Names of inputs and parameters; None for every floating-point input.

    Raises:
        UsageError: A name is unknown or its value not floating-point.
        UnsupportedOpError: Ops have no derivative.

    Example:
        >>> graph = rlx.trace("net", lambda x: {"y": x * x}, rlx.f32(3)).graph
        >>> rlx.vjp(graph).output_names
        ('y', 'd_x')
    """
    graph = prepared(graph_of(model))
    outputs = float_outputs(graph)

    def factors(target: Graph) -> Mapping[str, Expression]:
        used = {v.name for v in (*target.inputs, *target.params)}
        return {
            name: Expression(target, target.input(free_name(name, used), v.type))
            for name, v in outputs.items()
        }

    pulled, gradients = _reverse(graph, sources_of(graph, wrt), outputs, factors)
    names = list(graph.output_names)
    return with_graph(model, _finished(pulled, gradients, graph.outputs, names))


def grad(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of the gradients of a scalar output, one output ``d_NAME`` for each source.

    Next values of states and outputs that are not floating-point stay outputs.

    Args:
        model: The graph; one output holds a single floating-point number.
        wrt: Names of inputs and parameters; None for every floating-point input.

    Raises:
        UsageError: The output is not a scalar, or a name is unknown or not floating-point.
        UnsupportedOpError: Ops have no derivative.

    Example:
        >>> graph = rlx.trace("net", lambda x: (x * x).sum(), rlx.f32(3)).graph
        >>> rlx.grad(graph).output_names
        ('d_x',)
    """
    return with_graph(model, _gradients(graph_of(model), wrt, keep_value=False))


def value_and_grad(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of a scalar output, and after all outputs its gradients, as :func:`grad`.

    Example:
        >>> graph = rlx.trace("net", lambda x: {"y": (x * x).sum()}, rlx.f32(3)).graph
        >>> rlx.value_and_grad(graph).output_names
        ('y', 'd_x')
    """
    return with_graph(model, _gradients(graph_of(model), wrt, keep_value=True))


def hvp(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of the product of the second derivatives with a vector.

    It is the forward derivative of the gradient: for each source ``NAME`` there is an input
    ``d_NAME``, its part of the vector, and an output ``d_d_NAME`` of the product.

    Args:
        model: The graph; one output holds a single floating-point number.
        wrt: Names of inputs and parameters; None for every floating-point input.

    Example:
        >>> graph = rlx.trace("net", lambda x: (x * x).sum(), rlx.f32(3)).graph
        >>> [value.name for value in rlx.hvp(graph).inputs]
        ['x', 'd_x']
    """
    graph = graph_of(model)
    names = [v.name for v in sources_of(graph, wrt)]
    gradients = jvp(_gradients(graph, names, keep_value=False), names)
    return with_graph(model, last_outputs(gradients, len(names)))


def last_outputs(graph: Graph, count: int) -> Graph:
    """Return a graph with the next values of states and the last outputs, the derivatives."""
    states = {state.name for state, _ in graph.states}
    first = len(graph.outputs) - count
    named = enumerate(zip(graph.output_names, graph.outputs, strict=True))
    pairs = [pair for i, pair in named if i >= first or pair[0] in states]
    return simplified(Rewriter(graph).finish([v for _, v in pairs], [n for n, _ in pairs]))


def _gradients(graph: Graph, wrt: Sequence[str] | str | None, *, keep_value: bool) -> Graph:
    """Return the graph of the gradients of a scalar output, with or without the output."""
    graph = prepared(graph)
    outputs = float_outputs(graph)
    (name, value), *further = outputs.items()
    if further or value.type.shape != ():
        listed = ", ".join(f"{n} {v.type}" for n, v in outputs.items())
        raise UsageError(
            f"expected one floating-point output of shape [] to take the gradient of, got {listed}",
            hint="sum the output (x.sum()), or use vjp or jacrev",
        )

    def one(target: Graph) -> Mapping[str, Expression]:
        return {name: constant(target, np.ones((), value.type.dtype.numpy))}

    pulled, gradients = _reverse(graph, sources_of(graph, wrt), outputs, one)
    named = zip(graph.output_names, graph.outputs, strict=True)
    kept_outputs = [(n, v) for n, v in named if keep_value or n != name]
    return _finished(pulled, gradients, [v for _, v in kept_outputs], [n for n, _ in kept_outputs])


class _Reversed:
    """A linearized graph whose tangents have been transposed.

    Attributes:
        forward: The linearized graph.
        rewriter: Copies the nodes that are not tangents to the new graph.
    """

    def __init__(self, forward: Linearized, rewriter: Rewriter) -> None:
        self.forward = forward
        self.rewriter = rewriter

    def __getitem__(self, value: Value) -> Value:
        """Return the new value of a value of the differentiated graph."""
        return self.rewriter[self.forward[value]]


def _reverse(
    graph: Graph, wrt: Sequence[Value], outputs: Mapping[str, Value], seeds: Seeds
) -> tuple[_Reversed, dict[str, Expression]]:
    """Return a graph in the making and the gradient of each of ``wrt`` by name.

    Args:
        graph: A graph that ``prepared`` returned.
        wrt: The sources to differentiate by.
        outputs: The outputs to differentiate.
        seeds: Called with the new graph; returns the gradient of each output.
    """
    forward = Linearized(graph, wrt, list(outputs.values()))
    linear = dependent_nodes(forward.graph, forward.inputs)
    skipped = {*linear, *(v.node for v in forward.inputs)}
    kept_outputs = [n for n in forward.graph.nodes if n not in skipped]
    rewriter = Rewriter(forward.graph, nodes=kept_outputs)
    for _ in rewriter:
        pass
    new = rewriter.new
    gradients: dict[Value, Expression] = {}
    for name, seed in seeds(new).items():
        tangent = forward.tangent(outputs[name])
        if tangent is not None:
            before = gradients.get(tangent.value)
            gradients[tangent.value] = seed if before is None else before + seed
    values = {v: rewriter[v] for n in kept_outputs for v in n.results}
    listed = transpose(linear, forward.inputs, gradients, values, new)
    filled = {v.name: or_zeros(g, new, v.type) for v, g in zip(wrt, listed, strict=True)}
    return _Reversed(forward, rewriter), filled


def _finished(
    pulled: _Reversed,
    gradients: Mapping[str, Expression],
    outputs: Sequence[Value],
    names: Sequence[str],
) -> Graph:
    """Declare outputs and gradients, and return the simplified graph."""
    new = pulled.rewriter.new
    new.output(*(pulled[v] for v in outputs), names=names)
    new.output(*(g.value for g in gradients.values()), names=free_names(gradients, names))
    return simplified(new)
