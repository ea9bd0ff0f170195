"""The parallel architecture, as an implementation of the common interface.

Tests: tests/targets/fpga/architectures/parallel/test_lower.py
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rlx.ir import Refusal, once_per_node
from rlx.targets import Lowering
from rlx_fpga.architectures.interface import Core, CorePort, Ruled
from rlx_fpga.architectures.parallel import reduce as reduce
from rlx_fpga.architectures.parallel.design import ParallelDesign
from rlx_fpga.architectures.parallel.lower import refusal, unroll
from rlx_fpga.architectures.parallel.report import layers, report_of
from rlx_fpga.architectures.parallel.rules import RULES
from rlx_fpga.architectures.refusals import rounding_refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import GraphModule, Node, RuleTable
    from rlx.support.text.tables import Table
    from rlx_fpga.options import FpgaOptions


class Parallel(Ruled):
    """See ``rlx_fpga.architectures.interface.Architecture``."""

    rules: ClassVar[RuleTable[Any]] = RULES

    def lowering(self, node: Node) -> Lowering | Refusal:
        """See the interface."""
        return _lowering(node)

    def build(self, module: GraphModule, options: FpgaOptions) -> Core:
        """See the interface."""
        graph = module.graph
        design = ParallelDesign(graph, unroll(graph))
        inputs = zip(design.input_names, graph.inputs, strict=True)
        outputs = zip(design.output_names, graph.outputs, strict=True)
        return Core(
            component=design,
            inputs=tuple(CorePort(member=n, value=v, lanes=v.type.size) for n, v in inputs),
            outputs=tuple(CorePort(member=n, value=v, lanes=v.type.size) for n, v in outputs),
            graph=graph,
            nodes=tuple(layer.node for layer in design.layers),
            report=report_of(design, options),
            # The same additions on every device.
            report_for=partial(report_of, design),
        )

    def layers(self, title: str, report: Mapping[str, Any]) -> Table:
        """See the interface."""
        return layers(title, report)


@once_per_node
def _lowering(node: Node) -> Lowering | Refusal:
    reason = rounding_refusal(node.op) or refusal(node)
    return Lowering() if reason is None else Refusal(reason)


ARCHITECTURE: Final = Parallel()
