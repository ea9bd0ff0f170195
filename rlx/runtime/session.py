"""Sessions compile graphs for a device."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from rlx.ir import Graph
from rlx.ir.binding import symbols_of
from rlx.ir.module import GraphModule, HasModule, graph_of
from rlx.runtime.backend import find_backend, fit_to_backend
from rlx.runtime.compiled import CompiledGraph
from rlx.runtime.device import Device
from rlx.runtime.options import CompileOptions
from rlx.support.calls import checked_call
from rlx.tracing import Graph as Builder

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.passes import DispatchReport
    from rlx.runtime.backend import Backend

Compilable: TypeAlias = "Builder | Graph | GraphModule | HasModule"


class Session:
    """Compiles graphs for one device.

    ::

        compiled = Session(Device.CPU).compile(graph)
        compiled.set_param("w", weights)
        (y,) = compiled.run({"x": x})

    Attributes:
        device: The device.
        options: Default options of compilation.
    """

    @checked_call
    def __init__(
        self, device: Device | str = Device.CPU, options: CompileOptions | None = None
    ) -> None:
        self.device = Device(device)
        self.options = options or CompileOptions()
        self._backend(self.options)

    def __repr__(self) -> str:
        return f"Session({self.device})"

    def compile(self, graph: Compilable, options: CompileOptions | None = None) -> CompiledGraph:
        """Return ``graph`` ready to run.

        Args:
            graph: Built by hand, traced, or a graph of any stage.
            options: Options for this graph only.

        Raises:
            UnsupportedOpError: The backend cannot run some op; the message lists all of them.
            TypeError: It is not a graph, or ``options`` are not CompileOptions.
            ValueError: The graph has no outputs, or the size of a state is unknown.
        """
        chosen = options or self.options
        backend = self._backend(chosen)
        inner, params = parts_of(graph)
        _check_states(inner)
        if not inner.outputs:
            raise ValueError(f"graph {inner.name!r} has no outputs; declare them with output()")
        return CompiledGraph(inner, self.device, backend, chosen, params)

    def check(self, graph: Compilable, options: CompileOptions | None = None) -> DispatchReport:
        """Return the backend's treatment of each op of ``graph``; nothing is compiled."""
        inner, _ = parts_of(graph)
        chosen = options or self.options
        return fit_to_backend(inner, self._backend(chosen), chosen.policies).report

    def _backend(self, options: CompileOptions) -> Backend:
        if not isinstance(options, CompileOptions):
            kind = type(options).__name__
            raise TypeError(f"options must be rlx.CompileOptions, got {kind}")
        return find_backend(self.device, options.backend)


def parts_of(graph: Compilable) -> tuple[Graph, dict[str, Array]]:
    """Return the graph itself, and the values of its parameters.

    Raises:
        TypeError: It is not a graph.
    """
    match graph:
        case Builder():
            return graph.graph, dict(graph.parameters)
        case Graph() | GraphModule() | HasModule():
            return graph_of(graph), {}
        case str() | PathLike():
            raise TypeError(f"takes a graph, not the path {str(graph)!r}: read it with rlx.load")
    raise TypeError(
        f"expected a graph, got {type(graph).__name__}; rlx.trace makes one of a function"
    )


def _check_states(graph: Graph) -> None:
    """Raise ValueError if a size of a state is a symbol that no input and no parameter binds."""
    states = [state for state, _ in graph.states]
    bound_types = [v.type for v in (*graph.inputs, *graph.params) if v not in states]
    known = symbols_of(tuple(bound_types))
    for state in states:
        unknown = sorted(symbols_of(state.type) - known)
        if unknown:
            raise ValueError(
                f"state {state.name!r} is {state.type}, but no input and no parameter has the size"
                f" {unknown[0]}; bind it with rlx.bind() first"
            )
