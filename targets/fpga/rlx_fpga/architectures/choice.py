"""The core for a model and options, or a refusal with advice."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rlx.ir import DType, Refusal
from rlx.ops.q import computes_int16
from rlx.passes.fit import chains_as_ops
from rlx.support.errors import DoesNotFitError, EmitError
from rlx.support.text.units import counted
from rlx_fpga.architectures import ARCHITECTURES, architecture
from rlx_fpga.architectures.refusals import INT8_INPUT, INT16
from rlx_fpga.explore.advice import (
    Advice,
    DesignTooLargeError,
    Suggestion,
    fitting_devices,
    reachable_rate,
    too_large,
)
from rlx_fpga.explore.fit import fitting, missed_rate, shortage
from rlx_fpga.options import rate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rlx.ir import Graph, GraphModule, Node
    from rlx.targets import Lowering
    from rlx_fpga.architectures.interface import Core
    from rlx_fpga.options import FpgaOptions


KEEPS_STATES: Final = "dataflow"
"""Architecture whose designs may have states."""


def lowering(node: Node, name: str) -> Lowering | Refusal:
    """Return an architecture's lowering of ``node``, or a refusal that names others with one."""
    if computes_int16(node):
        return Refusal(INT16, "convert the model with int8 activations, or emit it for cortexm")
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
    # The reason repeats it: tables of operators do not show hints.
    hint = f"{outcome.hint}, or use {names}" if outcome.hint else f"use {names}"
    return Refusal(f"{outcome.reason}; {names} can build it", hint)


def build(module: GraphModule, options: FpgaOptions) -> Core:
    """Return the core of ``module`` in the chosen architecture; it may be too large.

    Where tables of chains make it too large, it has the ops of all chains.

    Raises:
        EmitError: An input is not int8, an output is a constant, or the architecture keeps no
            states.
        RlxError: As ``Architecture.build``.
    """
    _require_streams(module.graph)
    if module.graph.states and options.architecture != KEEPS_STATES:
        raise EmitError(
            f"expected a network without states for --architecture {options.architecture}",
            where=f"state {module.graph.states[0][0].name!r}",
            hint=f"use --architecture {KEEPS_STATES}",
        )
    build_module = architecture(options.architecture).build
    other = chains_as_ops(module, "fpga", lambda node: lowering(node, options.architecture))
    try:
        core = build_module(module, options)
    except DoesNotFitError:
        if other is not None:
            with suppress(DoesNotFitError):
                return build_module(other, options)
        raise
    if other is None or not shortage(core.report, options):
        return core
    return min(core, build_module(other, options), key=lambda c: bool(shortage(c.report, options)))


def build_with_advice(module: GraphModule, options: FpgaOptions) -> Core:
    """Return the core of ``build``; its error suggests options, architectures or devices that fit.

    Raises:
        RlxError: As ``build``.
    """
    try:
        return build(module, options)
    except DoesNotFitError as e:
        known_advice = e.advice if isinstance(e, DesignTooLargeError) else Advice(otherwise=e.hint)
        advice = known_advice.extended(islice(_fitting_architectures(module, options), 1))
        if not advice.suggestions and not known_advice.otherwise:
            # Only without other advice: a search may take seconds for each device.
            estimate = _estimate_of(module)
            advice = known_advice.extended(islice(fitting_devices(options, estimate), 1))
        raise DesignTooLargeError(e.message, where=e.where, advice=advice) from None


def require_fit(module: GraphModule, core: Core, options: FpgaOptions) -> None:
    """Check that a core fits the device and the budgets, and reaches the rate.

    Raises:
        DoesNotFitError: It does not; the hint lists options to try.
    """
    if not shortage(core.report, options):
        _require_rate(module, core.report, options)
        return
    _, *smaller = _variants(options)
    raise too_large(
        core.report,
        options,
        core.report_for or _estimate_of(module),
        smaller,
        _fitting_architectures(module, options),
    )


def _require_rate(module: GraphModule, report: Mapping[str, Any], options: FpgaOptions) -> None:
    """Check that a core reaches the rate: an architecture may return its fastest one.

    Raises:
        DesignTooLargeError: It does not.
    """
    if not missed_rate(report, options):
        return
    interval = report["interval"]
    raise DesignTooLargeError(
        f"{rate_text(options.fps or 0)} frames per second cannot be reached at"
        f" {options.clock_hz / 1e6:g} MHz by the architecture {options.architecture!r}: its"
        f" initiation interval is {counted(interval, 'cycle')},"
        f" {rate_text(options.clock_hz / interval)} frames per second",
        where=options.chosen_device.name,
        advice=Advice(tuple(reachable_rate(options, interval))).extended(
            islice(_fitting_architectures(module, options), 1)
        ),
    )


def _estimate_of(module: GraphModule) -> Callable[[FpgaOptions], Mapping[str, Any]]:
    """Return the function from options to the report of the core of ``module``."""
    return lambda options: build(module, options).report


def _variants(options: FpgaOptions) -> Iterator[Suggestion]:
    """Yield the variants of the chosen architecture, the first one with ``options`` themselves."""
    for flags, variant in architecture(options.architecture).variants(options):
        yield Suggestion(flags.strip(), variant)


def _fitting_architectures(module: GraphModule, options: FpgaOptions) -> Iterator[Suggestion]:
    """Yield the options with which another architecture fits the device and reaches the rate."""
    for name in ARCHITECTURES:
        if name == options.architecture:
            continue
        for variant in _variants(replace(options, architecture=name, weights="mem", fold=())):
            report = fitting(variant.options, _estimate_of(module))
            if report and not missed_rate(report, options):
                yield replace(variant, flags=f"--architecture {name} {variant.flags}".strip())
                break


def _require_streams(graph: Graph) -> None:
    """Check that inputs and outputs can be streams, in any architecture.

    Raises:
        EmitError: An input is not int8, or an output is a constant.
    """
    states = {state for state, _ in graph.states}
    for value in graph.inputs:
        if value.type.dtype is not DType.I8 or not value.type.is_static:
            raise EmitError(
                f"expected an int8 tensor of fixed shape, got {value.type}",
                where=f"{'state' if value in states else 'input'} {value.name!r}",
                hint=INT8_INPUT,
            )
    for value in graph.outputs:
        if value.constant is not None:
            raise EmitError(
                "expected a computed value, got a constant",
                where=f"output {value.node.label}",
                hint="remove it from the outputs of the model: it is the same for every input",
            )
