"""The engine, as an implementation of the common interface.

Tests: tests/targets/fpga/architectures/engine/test_lower.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rlx.ir import Refusal, once_per_node
from rlx.targets import Lowering
from rlx_fpga.architectures.engine import moves as moves
from rlx_fpga.architectures.engine.choice import engine_of
from rlx_fpga.architectures.engine.loader import stream_bytes
from rlx_fpga.architectures.engine.lower import RULES, refusal
from rlx_fpga.architectures.engine.program import Feed
from rlx_fpga.architectures.engine.report import layers, report_of
from rlx_fpga.architectures.interface import Core, CorePort, Ruled, WeightStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import GraphModule, Node, RuleTable
    from rlx.support.text.tables import Table
    from rlx_fpga.architectures.engine.program import EngineProgram
    from rlx_fpga.options import FpgaOptions


class TimeMultiplexed(Ruled):
    """See ``rlx_fpga.architectures.interface.Architecture``."""

    rules: ClassVar[RuleTable[Any]] = RULES

    def lowering(self, node: Node) -> Lowering | Refusal:
        """See the interface."""
        return _lowering(node)

    def build(self, module: GraphModule, options: FpgaOptions) -> Core:
        """See the interface."""
        engine = engine_of(module.graph, options)
        graph = engine.code.graph
        inputs = zip(engine.input_names, graph.inputs, strict=True)
        outputs = zip(engine.output_names, graph.outputs, strict=True)
        return Core(
            component=engine,
            inputs=tuple(CorePort(member=name, value=v, lanes=1) for name, v in inputs),
            outputs=tuple(CorePort(member=name, value=v, lanes=1) for name, v in outputs),
            graph=graph,
            nodes=tuple(engine.code.layers),
            report=report_of(engine, options),
            weights=_weights(engine.code),
        )

    def variants(self, options: FpgaOptions) -> Sequence[tuple[str, FpgaOptions]]:
        """See the interface: weights that are streamed for every frame need no memory."""
        if options.weights == "stream":
            return (("", options),)
        return (("", options), (" --weights stream", replace(options, weights="stream")))

    def layers(self, title: str, report: Mapping[str, Any]) -> Table:
        """See the interface."""
        return layers(title, report)


@once_per_node
def _lowering(node: Node) -> Lowering | Refusal:
    reason = refusal(node)
    return Lowering() if reason is None else Refusal(reason)


def _weights(code: EngineProgram) -> WeightStream | None:
    """Return the stream of weights, None if they are in the core."""
    if code.feed is Feed.BUILT_IN:
        return None
    each_frame = code.feed is Feed.STREAM
    content = stream_bytes(code)
    return WeightStream(member="w", content=content, lanes=code.lanes, each_frame=each_frame)


ARCHITECTURE: Final = TimeMultiplexed()
