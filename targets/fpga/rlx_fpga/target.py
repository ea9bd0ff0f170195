"""The target ``fpga``: the compiler's interface to this package."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlx.ir.hash import structural_hash
from rlx.support.errors import UsageError
from rlx.support.text.licence import with_licence
from rlx.support.version import __version__
from rlx.targets import Emission, Target
from rlx_fpga.architectures import ARCHITECTURES, architecture
from rlx_fpga.architectures.choice import build_with_advice, lowering, require_fit
from rlx_fpga.explore.fit import missed_rate, shortage
from rlx_fpga.options import FpgaOptions
from rlx_fpga.packaging.axi import (
    WEIGHT_PORT,
    Interface,
    StreamPort,
    WeightPort,
    port_names,
)
from rlx_fpga.packaging.netlist import counted_parts, design_files, layer_comments
from rlx_fpga.packaging.registers import Control, packed_version
from rlx_fpga.packaging.regroup import with_ports, with_stream_bits
from rlx_fpga.packaging.synthesis import synthesize
from rlx_fpga.sweep import SWEEP
from rlx_fpga.view import view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import GraphModule, Node, Op, Refusal, Value
    from rlx.passes.boundaries import Ports
    from rlx.support.text.tables import View
    from rlx.targets import Lowering
    from rlx_fpga.architectures.interface import Core, CorePort, WeightStream
    from rlx_fpga.packaging.axi import Direction


class Fpga(Target):
    """Streaming hardware in SystemVerilog; see ``rlx.targets.Target``."""

    api = 1
    name = "fpga"
    summary = "streaming SystemVerilog core with AXI4-Stream ports"
    options = FpgaOptions
    sweep = SWEEP

    def knows(self, op: type[Op]) -> bool:
        """Whether an architecture builds ``op``, or refuses it with a reason."""
        return any(architecture(name).knows(op) for name in ARCHITECTURES)

    def reason(self, op: type[Op], options: FpgaOptions) -> str | None:
        """Return the reason why the architecture cannot build ``op`` at all, or None if it can."""
        return architecture(options.architecture).reason(op)

    def lowering(self, node: Node, options: FpgaOptions) -> Lowering | Refusal:
        """Return the chosen architecture's lowering of a node, or the reason why it is refused."""
        return lowering(node, options.architecture)

    def alternatives(self, options: FpgaOptions) -> tuple[str, dict[str, FpgaOptions]]:
        """Return the options with each other architecture; see ``rlx.targets.Alternatives``."""
        found = {}
        for name in ARCHITECTURES:
            # Some options are of one architecture only.
            with suppress(UsageError):
                found[name] = replace(options, architecture=name)
        found.pop(options.architecture, None)
        return "--architecture", found

    def ports(self, options: FpgaOptions) -> Ports:
        """Return the elements of the streams."""
        return options.ports

    def plan(self, module: GraphModule, options: FpgaOptions) -> GraphModule:
        """Return ``module`` unchanged: streams do not occupy memory that could be shared.

        An architecture that has a memory plans it when it builds.
        """
        del options
        return module

    def emit(self, module: GraphModule, options: FpgaOptions) -> Emission:
        """Return the files of the design for ``module``.

        Raises:
            UnsupportedOpError: A node cannot be built exactly.
            EmitError: Inputs, outputs or parameters cannot become streams.
            DoesNotFitError: The budget is too small, or too small for the rate, or the network too
                large for the architecture.
            UsageError: A folding does not fit its layer.
        """
        core = build_with_advice(module, options)
        interface = _interface(module, core, options)
        report = with_ports(core.report, interface, options)
        require_fit(module, replace(core, report=report), options)
        weights = _weight_files(interface, core)
        files = weights | _files(core, interface, report, options)
        if options.synth:
            ports = json.loads(files["report.json"])["interface"]
            layers = counted_parts(report, ports)
            synthesis = synthesize(
                files, ports["sources"], interface.top, options.chosen_device, layers=layers
            )
            report |= {"synthesis": synthesis}
            files = weights | _files(core, interface, report, options)
        if options.formal:
            files |= _proofs(core)
        return Emission(
            with_licence(files),
            report,
            {"prefix": interface.prefix, "signals": {s.name: str(s) for s in interface.signals}},
            nodes=core.nodes,
            inputs=core.graph.inputs,
        )

    def estimate(self, module: GraphModule, options: FpgaOptions) -> Mapping[str, Any]:
        """Return layers with folding, cycles and cells, totals, and shares of the device.

        ``fits`` is whether the design fits and reaches the rate, ``short`` what it lacks if not.
        """
        core = build_with_advice(module, options)
        report = with_ports(core.report, _interface(module, core, options), options)
        short = shortage(report, options) or missed_rate(report, options)
        return {**report, "fits": not short, **({"short": short} if short else {})}

    def view(self, report: Mapping[str, Any], options: FpgaOptions) -> View:
        """Return the view of a report."""
        del options
        return view(report)


def _proofs(core: Core) -> dict[str, str | bytes]:
    """Return the files that prove the small cells of a core."""
    # The import is slow and only needed for proofs.
    from rlx_fpga.formal.proof import proof_files
    from rlx_fpga.formal.table import proofs_of

    return proof_files(proofs_of(core.component))


def _files(
    core: Core, interface: Interface, report: Mapping[str, Any], options: FpgaOptions
) -> dict[str, str | bytes]:
    return design_files(
        core.component,
        interface,
        report,
        options.chosen_device,
        comments=layer_comments(core.nodes, report),
        memory_files=options.weights == "mem",
        formal=options.formal,
    )


def _interface(module: GraphModule, core: Core, options: FpgaOptions) -> Interface:
    """Return the ports of the emitted core."""
    prefix = options.prefix_for(module.graph.name)
    found = replace(interface_of(core, prefix), control=_control(module, options))
    found = with_stream_bits(found, options.stream_bits)
    return _unsigned(found) if options.ports.inverts else found


def _weight_files(interface: Interface, core: Core) -> dict[str, str | bytes]:
    """Return the file that is sent to the weight port, if any."""
    if interface.weights is None or core.weights is None:
        return {}
    return {interface.weights.path: core.weights.content}


def interface_of(core: Core, prefix: str) -> Interface:
    """Return the ports of ``core`` for modules that begin with ``prefix``."""
    inputs = zip(
        port_names("s", [value.name for value in core.graph.run_inputs]), core.inputs, strict=True
    )
    names = [name for name, _ in core.graph.run_outputs]
    outputs = zip(port_names("m", names), core.outputs, strict=True)
    return Interface(
        prefix,
        tuple(_port("in", name, port) for name, port in inputs),
        tuple(_port("out", name, port) for name, port in outputs),
        weights=None if core.weights is None else _weight_port(core.weights, prefix),
    )


def _port(direction: Direction, name: str, port: CorePort) -> StreamPort:
    type_ = port.value.type
    return StreamPort(
        name=name,
        member=port.member,
        direction=direction,
        shape=type_.static_shape,
        bits=type_.dtype.bits,
        lanes=port.lanes,
        quant=_quant(port.value),
    )


def _weight_port(weights: WeightStream, prefix: str) -> WeightPort:
    port = StreamPort(
        name=WEIGHT_PORT,
        member=weights.member,
        direction="in",
        shape=(len(weights.content) // weights.lanes, weights.lanes),
        bits=8,
        lanes=weights.lanes,
    )
    return WeightPort(port, f"mem/{prefix}_weights.bin", weights.each_frame)


def _unsigned(interface: Interface) -> Interface:
    """Return the interface with unsigned elements where they have 8 bits."""

    def port(stream_port: StreamPort) -> StreamPort:
        if stream_port.bits != 8:
            return stream_port
        quant = (
            None
            if stream_port.quant is None
            else (stream_port.quant[0], stream_port.quant[1] + 128)
        )
        return replace(stream_port, unsigned=True, quant=quant)

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
