"""Interface of an architecture, and the core that it builds from a graph.

Tests: tests/targets/fpga/architectures/test_choice.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from amaranth.lib import wiring

    from rlx.ir import Graph, GraphModule, Node, Op, Refusal, RuleTable, Value
    from rlx.support.text.tables import Table
    from rlx.targets import Lowering
    from rlx_fpga.options import FpgaOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CorePort:
    """A stream of a core: a tensor in row-major order.

    Attributes:
        member: Name of the component's member.
        value: The input or output of the graph, whose shape, element type and scale it has.
        lanes: Elements of a beat.
    """

    member: str
    value: Value
    lanes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightStream:
    """A stream of weights into a core.

    Attributes:
        member: Name of the component's member.
        content: Bytes to be sent, ``lanes`` of them a beat.
        lanes: Bytes of a beat.
        each_frame: Whether it is sent for every frame, not once.
    """

    member: str
    content: bytes
    lanes: int
    each_frame: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The hardware of a graph.

    Attributes:
        component: Its component; ports have the names of its members.
        inputs: A stream for each input of a run, in order.
        outputs: A stream for each output of a run, in order.
        graph: The graph that was built.
        nodes: The node of each layer in the report.
        report: Figures that do not need a simulation, ready for JSON: ``layers``, ``columns``,
            ``sources``, totals, and those of ``rlx_fpga.report.device_report``.
        report_for: Returns its report for other options, if the hardware would be the same; None
            if it would be built again.
        weights: The stream of weights, or None.
    """

    component: wiring.Component
    inputs: tuple[CorePort, ...]
    outputs: tuple[CorePort, ...]
    graph: Graph
    nodes: tuple[Node, ...]
    report: Mapping[str, Any]
    report_for: Callable[[FpgaOptions], Mapping[str, Any]] | None = None
    weights: WeightStream | None = None


class Architecture(Protocol):
    """Generator of hardware from a graph; ``ARCHITECTURE`` of the module ``architecture``."""

    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` has a rule, or is refused with a reason."""
        ...

    def reason(self, op: type[Op]) -> str | None:
        """Return the reason why ``op`` cannot be built at all, or None if it can."""
        ...

    def lowering(self, node: Node) -> Lowering | Refusal:
        """Return the lowering of a node, or the reason why it is refused; once for each node."""
        ...

    def build(self, module: GraphModule, options: FpgaOptions) -> Core:
        """Return the core of a graph. It may be too large: see ``rlx_fpga.explore.fit``.

        Raises:
            UnsupportedOpError: A node cannot be built exactly.
            EmitError: Inputs, outputs or parameters cannot become streams.
            DoesNotFitError: The budget is too small, or too small for the rate, or the network too
                large for the architecture.
            UsageError: A folding does not fit its layer.
        """
        ...

    def variants(self, options: FpgaOptions) -> Sequence[tuple[str, FpgaOptions]]:
        """Return variants of ``options``, as text for the command line and as options.

        The first one equals ``options``; the others use less of a device.
        """
        ...

    def layers(self, title: str, report: Mapping[str, Any]) -> Table:
        """Return the layers of a report as a table."""
        ...


class Ruled:
    """Common parts of architectures with a table of rules, and one way to build.

    Attributes:
        rules: The table.
    """

    rules: ClassVar[RuleTable[Any]]

    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` has a rule, or is refused with a reason."""
        return self.rules.knows(op)

    def reason(self, op: type[Op]) -> str | None:
        """Return the reason why ``op`` cannot be built at all, or None if it can."""
        return self.rules.reason(op)

    def variants(self, options: FpgaOptions) -> Sequence[tuple[str, FpgaOptions]]:
        """Return the one way."""
        return (("", options),)


def port_names(letter: str, count: int) -> list[str]:
    """Return names of ports: the letter, with an index if there are several."""
    return [letter] if count == 1 else [f"{letter}{index}" for index in range(count)]
