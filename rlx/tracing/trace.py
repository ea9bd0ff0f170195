"""Graphs recorded from Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlx.tracing.graph import Graph
from rlx.tracing.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import TensorType


def trace(name: str, function: Callable[..., Any], *specs: TensorType) -> Graph:
    """Run ``function`` once on tensors that record the operations on them.

    With ``specs`` the function gets one tensor for each, named like its parameters. Without, it
    gets the graph, to declare inputs and parameters itself. Tensors must not be used any more
    after that.

    Args:
        name: Name of the graph.
        function: Returns a tensor, a list or tuple of them, or a dict with names of outputs.
        specs: Types of the inputs.

    Raises:
        TypeError: The name is missing, or the function returns something else or has another number
            of parameters.

    Example:
        >>> graph = rlx.trace("hello", lambda x, w: (x @ w).relu(), rlx.f32(4, 8), rlx.f32(8, 2))
        >>> [value.name for value in graph.graph.inputs]
        ['x', 'w']
    """
    if not callable(function):
        raise TypeError(
            f"expected a name and a function, got {name!r} and {function!r}: write"
            " rlx.trace('net', function, *types)"
        )
    graph = Graph(name)
    names = _input_names(function, len(specs))
    inputs = [graph.input(n, spec) for n, spec in zip(names, specs, strict=True)]
    result = function(*inputs) if specs else function(graph)
    _declare(graph, result)
    graph.close("the trace is over")
    return graph


def _input_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return a name for each input: the function's parameters, numbered where they repeat."""
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}{i}" for i in range(count - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY and len(names) < count:
            names.append(parameter.name)
    if len(names) < count:
        raise TypeError(f"the function takes {len(names)} tensors, but {count} types are given")
    return names


def _declare(graph: Graph, result: object) -> None:
    """Declare the function's results as outputs."""
    if isinstance(result, Tensor):
        graph.output(result)
    elif isinstance(result, Mapping) and all(isinstance(t, Tensor) for t in result.values()):
        graph.output(*result.values(), names=list(result))
    elif isinstance(result, list | tuple) and all(isinstance(t, Tensor) for t in result):
        graph.output(*result)
    else:
        raise TypeError(
            "the function must return a tensor, a list or a dict of tensors,"
            f" got {type(result).__name__}"
        )
