"""Regions under construction: functions traced into the bodies of ops.

Tests: tests/unit/tracing/test_control.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.ir import Graph as IrGraph
from rlx.ir import Input, Rewriter
from rlx.ops.expression import Expression
from rlx.support.errors import ShapeError
from rlx.tracing.graph import Graph
from rlx.tracing.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import TensorType, Value

Tensors: TypeAlias = "Tensor | tuple[Tensor, ...] | None"
"""Arguments and results of functions that become regions: one tensor, several, or none."""


class RegionGraph(Graph):
    """A graph for the body of an op; tensors of the graphs around it become inputs of it.

    Attributes:
        captured: For each value of the graph around it that is read here: the tensor, and the input
            that represents it.
    """

    def __init__(self, name: str, parent: Graph) -> None:
        super().__init__(name, parent)
        self.captured: dict[Value, tuple[Tensor, Value]] = {}

    def taken(self, tensor: Expression) -> Tensor:
        """Return ``tensor`` as one of this region, an input of it if it is one from around it.

        Raises:
            ValueError: It belongs to another graph.
        """
        if not isinstance(tensor, Expression) or tensor.graph is self.graph:
            return super().taken(tensor)
        assert self.parent is not None  # regions have a graph around them
        outer = self.parent.taken(tensor)
        if outer.value not in self.captured:
            name = f"captured{len(self.captured)}"
            inner = self.graph.input(name, outer.type, origin=self.origin())
            self.captured[outer.value] = outer, inner
        return Tensor(self, self.captured[outer.value][1])


@dataclass(frozen=True, slots=True)
class Traced:
    """A function that was traced.

    Attributes:
        region: The graph, its outputs not declared yet.
        inputs: Its inputs for the function's arguments.
        result: Result of the function.
    """

    region: RegionGraph
    inputs: tuple[Tensor, ...]
    result: Any


def trace_region(
    parent: Graph,
    name: str,
    function: Callable[..., Any],
    arguments: Sequence[tuple[str, TensorType]],
    call: Callable[[Sequence[Tensor]], Sequence[Any]] = lambda inputs: inputs,
) -> Traced:
    """Run ``function`` once on inputs of a new region.

    Args:
        parent: The graph around it.
        name: Name of the region.
        function: Function that is traced.
        arguments: Name and type of each input.
        call: Makes the function's arguments of the inputs.
    """
    region = RegionGraph(name, parent)
    inputs = tuple(region.input(input_name, type_) for input_name, type_ in arguments)
    with region.traced():
        result = function(*call(inputs))
    return Traced(region, inputs, result)


def adopt(traced: Traced, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return results of a function as tensors of its region, where some are from around it."""
    return tuple(traced.region.taken(t) for t in tensors)


def finish(traced: Traced, results: Sequence[Tensor], shared: Sequence[Tensor]) -> IrGraph:
    """Return the region in the form of an op's attribute, and refuse further ops.

    Args:
        traced: The region.
        results: Its outputs, tensors of it.
        shared: Tensors from around it that are inputs after the function's arguments; others that
            its siblings read are among them.
    """
    region = traced.region
    outputs = [t.value for t in results]
    region.close("the function was traced")
    nodes = [node for node in region.graph.nodes if not isinstance(node.op, Input)]
    rewriter = Rewriter(region.graph, nodes=nodes, name=region.name)
    for tensor in traced.inputs:
        rewriter[tensor.value] = rewriter.new.input(tensor.value.name, tensor.type)
    for number, tensor in enumerate(shared):
        value = rewriter.new.input(f"captured{number}", tensor.type)
        if tensor.value in region.captured:
            rewriter[region.captured[tensor.value][1]] = value
    return rewriter.finish(outputs, [f"y{i}" for i in range(len(outputs))])


def shared_by(*traced: Traced) -> tuple[Tensor, ...]:
    """Return the tensors from around regions that any of them reads, each once."""
    found = {value: tensor for t in traced for value, (tensor, _) in t.region.captured.items()}
    return tuple(found.values())


def flat(tensors: object, what: str) -> tuple[Tensor, ...]:
    """Return the tensors in the arguments or results of a function.

    Raises:
        TypeError: It is something else.
    """
    if tensors is None:
        return ()
    if isinstance(tensors, Tensor):
        return (tensors,)
    if isinstance(tensors, tuple | list) and all(isinstance(t, Tensor) for t in tensors):
        return tuple(tensors)
    raise TypeError(
        f"{what} must be a tensor, a tuple of tensors or None, got {_describe(tensors)}"
    )


def like(tensors: Sequence[Any], shape: object) -> Any:  # noqa: ANN401 - as Tensors
    """Return tensors in the form of ``shape``: one, several or none."""
    if shape is None:
        return None
    return tensors[0] if isinstance(shape, Tensor) else tuple(tensors)


def mismatch(parent: Graph, what: str, message: str, hint: str) -> ShapeError:
    """Return (not raise) the error for types that do not fit."""
    return ShapeError(message, where=f"{parent.origin()}: {what}", hint=hint)


def _describe(value: object) -> str:
    """Return the name in messages of a value that is not a tensor."""
    if isinstance(value, tuple | list):
        kinds = ", ".join(type(v).__name__ for v in value)
        return f"{type(value).__name__} of {kinds}"
    return type(value).__name__
