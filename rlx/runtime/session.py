"""Sessions compile graphs for a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rlx.ir.module import GraphModule
from rlx.runtime.backend import find_backend, fit_to_backend
from rlx.runtime.compiled import CompiledGraph
from rlx.runtime.device import Device
from rlx.runtime.options import CompileOptions
from rlx.tracing import Graph as Builder

if TYPE_CHECKING:
    from rlx.ir import Array, Graph
    from rlx.passes import DispatchReport
    from rlx.runtime.backend import Backend

Compilable: TypeAlias = "Builder | Graph | GraphModule"


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
            ValueError: The graph has no outputs.
        """
        chosen = options or self.options
        backend = self._backend(chosen)
        inner, params = _parts(graph)
        if not inner.outputs:
            raise ValueError(f"graph {inner.name!r} has no outputs; declare them with output()")
        report = fit_to_backend(inner, backend, chosen.policies).report
        report.require_ready()
        return CompiledGraph(inner, self.device, backend, chosen, report, params)

    def check(self, graph: Compilable, options: CompileOptions | None = None) -> DispatchReport:
        """Return how the backend would handle each op of ``graph``; nothing is compiled."""
        inner, _ = _parts(graph)
        chosen = options or self.options
        return fit_to_backend(inner, self._backend(chosen), chosen.policies).report

    def _backend(self, options: CompileOptions) -> Backend:
        return find_backend(self.device, options.backend)


def _parts(graph: Compilable) -> tuple[Graph, dict[str, Array]]:
    """Return the graph itself, and the values of its parameters."""
    if isinstance(graph, Builder):
        return graph.graph, dict(graph.parameters)
    return (graph.graph if isinstance(graph, GraphModule) else graph), {}
