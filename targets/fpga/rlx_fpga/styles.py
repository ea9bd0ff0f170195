"""The styles of hardware that a graph can become: one builder and one report for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rlx_fpga.design import design_of
from rlx_fpga.report import report_of

if TYPE_CHECKING:
    from rlx.ir import Graph, GraphModule, Value
    from rlx_fpga.options import FpgaOptions


class Streams(Protocol):
    """What a design reads and gives.

    Attributes:
        graph: The graph.
        outputs: For each output of the graph, the value whose stream it is.
    """

    @property
    def graph(self) -> Graph:
        """See the class."""
        ...

    @property
    def outputs(self) -> tuple[Value, ...]:
        """See the class."""
        ...


class Design(Protocol):
    """A component with stream ports, in any style."""

    input_names: list[str]
    output_names: list[str]

    @property
    def program(self) -> Streams:
        """What it reads and gives."""
        ...

    def lanes(self, value: Value) -> int:
        """Return the lanes of the stream of ``value``."""
        ...


def build(module: GraphModule, options: FpgaOptions) -> tuple[Design, dict[str, Any]]:
    """Return the hardware of ``module`` in the style that is asked for, and its report."""
    # A style is imported where it is asked for.
    if options.style == "unrolled":
        from rlx_fpga import unrolled

        design = unrolled.Unrolled(module.graph, unrolled.unroll(module.graph))
        return design, unrolled.report_of(design, options)
    if options.style == "folded":
        from rlx_fpga import folded

        machine = folded.machine_of(module.graph, options)
        return machine, folded.report_of(machine, options)
    stream = design_of(module.graph, options)
    return stream.pipeline, report_of(stream)
