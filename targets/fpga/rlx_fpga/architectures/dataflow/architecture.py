"""The dataflow architecture, as an implementation of the common interface.

Tests: tests/targets/fpga/architectures/test_choice.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from rlx_fpga.architectures.dataflow.design import design_of
from rlx_fpga.architectures.dataflow.lower import RULES
from rlx_fpga.architectures.dataflow.lower.rules import planned
from rlx_fpga.architectures.dataflow.report import layers, report_of
from rlx_fpga.architectures.interface import Core, CorePort, Ruled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import GraphModule, Node, Refusal, RuleTable
    from rlx.support.text.tables import Table
    from rlx.targets import Lowering
    from rlx_fpga.options import FpgaOptions


class Dataflow(Ruled):
    """See ``rlx_fpga.architectures.interface.Architecture``. Its designs fit the device."""

    rules: ClassVar[RuleTable[Any]] = RULES

    def lowering(self, node: Node) -> Lowering | Refusal:
        """See the interface."""
        return planned(node)

    def build(self, module: GraphModule, options: FpgaOptions) -> Core:
        """See the interface."""
        design = design_of(module.graph, options)
        pipeline = design.pipeline
        program = pipeline.program
        inputs = zip(pipeline.input_names, program.graph.run_inputs, strict=True)
        results = [value for _, value in program.graph.run_outputs]
        outputs = zip(pipeline.output_names, program.outputs, results, strict=True)
        return Core(
            component=pipeline,
            inputs=tuple(
                CorePort(member=name, value=value, lanes=pipeline.lanes(value))
                for name, value in inputs
            ),
            outputs=tuple(
                CorePort(member=name, value=value, lanes=pipeline.lanes(stream))
                for name, stream, value in outputs
            ),
            graph=program.graph,
            nodes=tuple(stage.node for stage in program.stages),
            report=report_of(design),
        )

    def layers(self, title: str, report: Mapping[str, Any]) -> Table:
        """See the interface."""
        return layers(title, report)


ARCHITECTURE: Final = Dataflow()
