"""The target ``fpga``: the compiler's interface to this package."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rlx import __version__
from rlx.ir.hash import structural_hash
from rlx.licence import with_licence
from rlx.target import Emission
from rlx_fpga.axi import Interface, StreamPort, WeightPort, port_names
from rlx_fpga.fit import shortage
from rlx_fpga.lower import RULES
from rlx_fpga.netlist import design_files
from rlx_fpga.options import FpgaOptions
from rlx_fpga.registers import Control, packed_version
from rlx_fpga.styles import build, layer_nodes, lowering, require_fit
from rlx_fpga.sweep import SWEEP
from rlx_fpga.synthesis import synthesize
from rlx_fpga.view import view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import GraphModule, Node, Op, Refusal, Value
    from rlx.passes.boundaries import Ports
    from rlx.tables import View
    from rlx.target import Lowering, Sweep
    from rlx_fpga.axi import Direction
    from rlx_fpga.styles import Design


class Fpga:
    """Streaming dataflow hardware in Verilog; see ``rlx.target.Target``."""

    name: ClassVar[str] = "fpga"
    summary: ClassVar[str] = "streaming SystemVerilog core with AXI4-Stream ports"
    pipeline: ClassVar[str] = "default"
    options: ClassVar[type[Any]] = FpgaOptions
    sweep: ClassVar[Sweep] = SWEEP

    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` is lowered, or refused with a reason."""
        return RULES.knows(op)

    def reason(self, op: type[Op]) -> str | None:
        """Return why ``op`` cannot be lowered at all, or None if it can."""
        return RULES.reason(op)

    def lowering(self, node: Node, options: FpgaOptions) -> Lowering | Refusal:
        """Return what the chosen style builds for a node, or why it cannot build it."""
        return lowering(node, options.style)

    def ports(self, options: FpgaOptions) -> Ports:
        """Return what the streams carry."""
        return options.ports

    def plan(self, module: GraphModule, options: FpgaOptions) -> GraphModule:
        """Return ``module`` as it is: streams keep no bytes that could be shared.

        Style ``folded`` has a memory, and plans it when it makes the program of its machine.
        """
        del options
        return module

    def emit(self, module: GraphModule, options: FpgaOptions) -> Emission:
        """Return the files of the design for ``module``.

        Raises:
            UnsupportedOpError: A node cannot be built exactly.
            EmitError: Inputs, outputs or parameters cannot become streams.
            DoesNotFitError: The budget is too small, or too small for the rate, or the network too
                large for the style.
            UsageError: A folding does not fit its layer.
        """
        design, report = build(module, options)
        require_fit(module, design, report, options)
        prefix = options.prefix_for(module.graph.name)
        interface = replace(interface_of(design, prefix), control=_control(module, options))
        if options.ports.inverts:
            interface = _unsigned(interface)
        interface, weights = _with_weights(interface, design)
        device = options.chosen_device
        files = weights | _files(design, interface, report, options)
        if options.synth:
            sources = json.loads(files["report.json"])["interface"]["sources"]
            report |= {"synthesis": synthesize(files, sources, interface.top, device)}
            files = weights | _files(design, interface, report, options)
        return Emission(
            with_licence(files),
            report,
            {"prefix": prefix},
            nodes=layer_nodes(design),
            inputs=design.program.graph.inputs,
        )

    def estimate(self, module: GraphModule, options: FpgaOptions) -> Mapping[str, Any]:
        """Return layers with folding, cycles and cells, totals, and shares of the device.

        ``fits`` is whether the design fits, ``short`` what it lacks if it does not.
        """
        _, report = build(module, options)
        short = shortage(report, options)
        return {**report, "fits": not short, **({"short": short} if short else {})}

    def view(self, report: Mapping[str, Any], options: FpgaOptions) -> View:
        """Return how a report is shown; see ``rlx.target.view_of``."""
        del options
        return view(report)


def _files(
    design: Design, interface: Interface, report: Mapping[str, Any], options: FpgaOptions
) -> dict[str, str | bytes]:
    return design_files(
        design,
        interface,
        report,
        options.chosen_device,
        memory_files=options.weights == "mem",
    )


def _with_weights(interface: Interface, design: Design) -> tuple[Interface, dict[str, str | bytes]]:
    """Return the interface with the weight port, and the file to send to it."""
    # Imported with the style, only if it is used.
    from rlx_fpga.folded import Folded
    from rlx_fpga.folded.loader import stream_bytes
    from rlx_fpga.folded.program import Feed

    if not isinstance(design, Folded) or design.code.feed is Feed.BUILT_IN:
        return interface, {}
    content, lanes = stream_bytes(design.code), design.code.lanes
    port = StreamPort(
        name="s_axis_weights", member="w", direction="in", shape=(len(content) // lanes, lanes),
        bits=8, lanes=lanes,
    )  # fmt: skip
    path = f"mem/{interface.prefix}_weights.bin"
    each_frame = design.code.feed is Feed.STREAM
    return replace(interface, weights=WeightPort(port, path, each_frame)), {path: content}


def interface_of(design: Design, prefix: str) -> Interface:
    """Return the ports of ``design`` for modules that begin with ``prefix``."""
    graph = design.program.graph
    return Interface(
        prefix,
        tuple(
            _port(design, "in", *parts)
            for parts in zip(
                port_names("s", len(graph.inputs)), design.input_names, graph.inputs, graph.inputs,
                strict=True,
            )
        ),
        tuple(
            _port(design, "out", *parts)
            for parts in zip(
                port_names("m", len(graph.outputs)), design.output_names, design.program.outputs,
                graph.outputs, strict=True,
            )
        ),
    )  # fmt: skip


def _port(
    design: Design, direction: Direction, name: str, member: str, stream: Value, value: Value
) -> StreamPort:
    """Return a port for ``value``, whose elements are the stream of ``stream``."""
    return StreamPort(
        name=name,
        member=member,
        direction=direction,
        shape=value.type.static_shape,
        bits=value.type.dtype.bits,
        lanes=design.lanes(stream),
        quant=_quant(value),
    )


def _unsigned(interface: Interface) -> Interface:
    """Return the interface with unsigned elements where they have 8 bits."""

    def port(one: StreamPort) -> StreamPort:
        if one.bits != 8:
            return one
        quant = None if one.quant is None else (one.quant[0], one.quant[1] + 128)
        return replace(one, unsigned=True, quant=quant)

    return replace(
        interface,
        inputs=tuple(port(one) for one in interface.inputs),
        outputs=tuple(port(one) for one in interface.outputs),
    )


def _control(module: GraphModule, options: FpgaOptions) -> Control | None:
    if options.control == "none":
        return None
    model = int(structural_hash(module.graph)[:16], 16)
    return Control(model, packed_version(__version__))


def _quant(value: Value) -> tuple[float, int] | None:
    quant = value.type.quant
    if quant is None or len(quant.scale) != 1:
        return None
    return float(quant.scale[0]), int(quant.zero_point[0])


TARGET = Fpga()
