"""The core for a model and options, or a refusal with what to try."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rlx.ir import DType, Refusal
from rlx.support.errors import DoesNotFitError, EmitError
from rlx_fpga.architectures import ARCHITECTURES, architecture
from rlx_fpga.architectures.refusals import INT8_INPUT
from rlx_fpga.devices import devices
from rlx_fpga.explore.fit import does_not_fit, fitting, shortage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx.ir import Graph, GraphModule, Node
    from rlx.targets import Lowering
    from rlx_fpga.architectures.interface import Core
    from rlx_fpga.options import FpgaOptions


def lowering(node: Node, name: str) -> Lowering | Refusal:
    """Return an architecture's lowering of ``node``, or a refusal that names others with one."""
    outcome = architecture(name).lowering(node)
    if not isinstance(outcome, Refusal):
        return outcome
    other_architectures = [
        other
        for other in ARCHITECTURES
        if other != name and not isinstance(architecture(other).lowering(node), Refusal)
    ]
    if not other_architectures:
        return outcome
    names = f"--architecture {' or '.join(other_architectures)}"
    # The reason says it too: tables of operators show no hints.
    hint = f"{outcome.hint}, or use {names}" if outcome.hint else f"use {names}"
    return Refusal(f"{outcome.reason}; {names} can build it", hint)


def build(module: GraphModule, options: FpgaOptions) -> Core:
    """Return the core of ``module`` in the chosen architecture; it may be too large.

    Raises:
        EmitError: An input is not int8, or an output is a constant.
        RlxError: As ``Architecture.build``.
    """
    _require_streams(module.graph)
    return architecture(options.architecture).build(module, options)


def build_with_advice(module: GraphModule, options: FpgaOptions) -> Core:
    """Return the core that ``build`` makes; if there is none, say which architecture would fit.

    Raises:
        RlxError: As ``build``.
    """
    try:
        return build(module, options)
    except DoesNotFitError as e:
        # Its own hint names options of this architecture, or says what to change.
        own_hints = [e.hint] if e.hint and e.hint.startswith("--") else []
        suggestions = [*own_hints, *islice(_fitting_architectures(module, options), 1)]
        if not suggestions and not e.hint:
            # With a hint, devices have been looked at, which may take seconds for each.
            suggestions = [*islice(_fitting_devices(module, options), 1)]
        hint = ", or ".join(suggestions) or e.hint or "make the model smaller"
        raise DoesNotFitError(e.message, where=e.where, hint=hint) from None


def require_fit(module: GraphModule, core: Core, options: FpgaOptions) -> None:
    """Check that a core fits the device and the budgets.

    Raises:
        DoesNotFitError: It does not; the hint lists options to try.
    """
    if not shortage(core.report, options):
        return

    def estimate(other: FpgaOptions) -> Mapping[str, Any]:
        return (core.report_for or (lambda variant_options: build(module, variant_options).report))(
            other
        )

    _, *smaller = architecture(options.architecture).variants(options)
    raise does_not_fit(
        core.report, options, estimate, smaller, _fitting_architectures(module, options)
    )


def _fitting_architectures(module: GraphModule, options: FpgaOptions) -> Iterator[str]:
    """Yield the options with which another architecture fits the device and reaches the rate."""
    for name in ARCHITECTURES:
        if name == options.architecture:
            continue
        other = replace(options, architecture=name, weights="mem", fold=())
        for text, variant in architecture(name).variants(other):
            report = fitting(variant, lambda variant_options: build(module, variant_options).report)
            if report and report["interval"] <= (options.max_cycles or report["interval"]):
                yield f"--architecture {name}{text}"
                break


def _fitting_devices(module: GraphModule, options: FpgaOptions) -> Iterator[str]:
    """Yield the devices that the architecture fits, as options."""
    for name in devices():
        other = replace(options, device=name, dsp=None, bram=None, lut=None)
        if name != options.device and fitting(
            other, lambda variant_options: build(module, variant_options).report
        ):
            yield f"--device {name}"


def _require_streams(graph: Graph) -> None:
    """Check that inputs and outputs can be streams, in any architecture.

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
