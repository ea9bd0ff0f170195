"""The styles (architectures) of hardware: one builder and one report for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from rlx.errors import DoesNotFitError, EmitError
from rlx.ir import DType, Refusal, once_per_node
from rlx.target import Lowering
from rlx_fpga.design import design_of
from rlx_fpga.fit import folded_instead, shortage
from rlx_fpga.fit import refusal as fit_refusal
from rlx_fpga.lower.rules import INT8_INPUT, planned
from rlx_fpga.options import STYLES
from rlx_fpga.pipeline import Pipeline
from rlx_fpga.report import report_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Graph, GraphModule, Node, Value
    from rlx_fpga.design import StreamDesign
    from rlx_fpga.options import FpgaOptions


class Streams(Protocol):
    """The streams of a design.

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
        """Its streams."""
        ...

    def lanes(self, value: Value) -> int:
        """Return the lanes of the stream of ``value``."""
        ...


def lowering(node: Node, style: str) -> Lowering | Refusal:
    """Return what ``style`` builds for ``node``, or why it cannot, and which styles can."""
    found = _lowering(node, style)
    if not isinstance(found, Refusal):
        return found
    others = [other for other in STYLES if other != style and _can_build(node, other)]
    if not others:
        return found
    return Refusal(f"{found.reason}; --style {' or '.join(others)} can build it")


def _can_build(node: Node, style: str) -> bool:
    return not isinstance(_lowering(node, style), Refusal)


@once_per_node
def _lowering(node: Node, style: str) -> Lowering | Refusal:
    # A style is imported where it is asked for.
    if style == "unrolled":
        from rlx_fpga import unrolled

        reason = unrolled.refusal(node)
    elif style == "folded":
        from rlx_fpga import folded

        reason = folded.refusal(node)
    else:
        return planned(node)
    return Lowering() if reason is None else Refusal(reason)


def build(
    module: GraphModule, options: FpgaOptions, *, suggest: bool = True
) -> tuple[Design, dict[str, Any]]:
    """Return the hardware of ``module`` in the chosen style, and its report.

    Designs of style ``stream`` fit the device, or there is none; others may be too large: see
    :func:`rlx_fpga.fit.shortage`. With ``suggest`` a refusal says where another style would fit,
    for which that one is built.
    """
    _require_streams(module.graph)
    # A style is imported where it is asked for.
    if options.style == "unrolled":
        from rlx_fpga import unrolled

        design = unrolled.Unrolled(module.graph, unrolled.unroll(module.graph))
        return design, unrolled.report_of(design, options)
    if options.style == "folded":
        from rlx_fpga import folded

        machine = folded.machine_of(module.graph, options)
        return machine, folded.report_of(machine, options)
    stream = _stream(module, options) if suggest else design_of(module.graph, options)
    return stream.pipeline, report_of(stream)


def layer_nodes(design: Design) -> tuple[Node, ...]:
    """Return the node of each layer in the report of a design of :func:`build`."""
    if isinstance(design, Pipeline):
        return tuple(stage.node for stage in design.program.stages)
    # A style is imported where it is asked for.
    from rlx_fpga import folded, unrolled

    if isinstance(design, folded.Folded):
        return tuple(one.node for one in design.code.instructions)
    assert isinstance(design, unrolled.Unrolled)
    return tuple(layer.node for layer in design.layers)


def _require_streams(graph: Graph) -> None:
    """Check that inputs and outputs can be streams, in any style.

    Raises:
        EmitError: An input is not int8, or an output is a constant.
    """
    for value in graph.inputs:
        if value.type.dtype is not DType.I8 or not value.type.is_static:
            raise EmitError(
                f"input {value.name!r} must be an int8 tensor of fixed shape, not {value.type}",
                hint=INT8_INPUT,
            )
    for value in graph.outputs:
        if value.constant is not None:
            raise EmitError(
                "is a constant; only streams can go out",
                where=f"output {value.node.label}",
                hint="take it from the model's outputs: it is the same for every input",
            )


def require_fit(
    module: GraphModule, design: Design, report: Mapping[str, Any], options: FpgaOptions
) -> None:
    """Check that a design of :func:`build` fits the device and the budgets.

    Raises:
        DoesNotFitError: It does not; the hint lists options to try.
    """
    if not shortage(report, options):
        return
    if options.style != "unrolled":
        raise fit_refusal(report, options, lambda other: build(module, other)[1])
    from rlx_fpga import unrolled

    # The same steps whatever the device.
    assert isinstance(design, unrolled.Unrolled)
    raise fit_refusal(report, options, partial(unrolled.report_of, design))


def _stream(module: GraphModule, options: FpgaOptions) -> StreamDesign:
    """Return the design of style ``stream``; a refusal says where style ``folded`` would fit."""
    try:
        return design_of(module.graph, options)
    except DoesNotFitError as e:
        other = folded_instead(options, lambda folded: build(module, folded)[1])
        if other is None:
            raise
        hint = f"{e.hint}, or {other}" if e.hint and e.hint.startswith("--") else other
        raise DoesNotFitError(e.message, where=e.where, hint=hint) from None
