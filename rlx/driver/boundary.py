"""Inputs and outputs of a model, of its graph in a target, and of the program that is emitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rlx.passes.boundaries import PortKind, with_ports

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx.ir.module import GraphModule
    from rlx.passes.boundaries import PortChange, Ported, Ports


@dataclass(frozen=True, slots=True)
class Boundary:
    """A model with the inputs and outputs of the program that a target emits.

    Attributes:
        model: The model's graph.
        inner: The graph that the target's passes start from. Its ports are those of the program,
            but int8 where the target converts them itself.
        emitted: The graph that computes as the emitted program does.
        has_floats: Whether inputs of the program may be floats that are not quantized at once.
    """

    model: Graph
    inner: Ported
    emitted: Ported
    has_floats: bool = False

    @classmethod
    def of(cls, graph: Graph, ports: Ports) -> Boundary:
        """Return the boundary of a model at a target that exchanges ``ports``.

        Raises:
            QuantizationError: Inputs or outputs cannot be of this kind.
            UnsupportedOpError: The conversion of an input or output cannot be removed.
        """
        emitted = with_ports(graph, ports.kind, channels_last=ports.channels_last)
        if not ports.inverts:
            return cls(graph, emitted, emitted, ports.kind is PortKind.MODEL)
        inner = with_ports(graph, PortKind.INT8, channels_last=ports.channels_last)
        return cls(graph, inner, emitted)

    @property
    def changes(self) -> tuple[PortChange, ...]:
        """Inputs and outputs of the emitted program that differ from the model's."""
        return self.emitted.changes

    def opened(self, module: GraphModule) -> GraphModule:
        """Return the model with the inner inputs and outputs; the same one if none differs."""
        return replace(module, graph=self.inner.graph) if self.inner.changes else module
