"""The target ``cortexm``: the interface of this package to the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.support.text.licence import with_licence
from rlx.targets import Emission, Target
from rlx_cortexm.budget import check_budget, part_figures
from rlx_cortexm.chains import table_refusal
from rlx_cortexm.emitter import Emitter
from rlx_cortexm.estimate import estimate, scratch_places
from rlx_cortexm.kernel_table import debug_kernels
from rlx_cortexm.kernels.rules import RULES, Kernels, lowering
from rlx_cortexm.options import CortexMOptions
from rlx_cortexm.planning import plan, settings_of
from rlx_cortexm.program import program
from rlx_cortexm.self_check import check_bytes
from rlx_cortexm.sweep import part_sweep_with, sweep_with
from rlx_cortexm.view import view
from rlx_cortexm.weights_file import CODE_BYTES, VARIABLE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import GraphModule, Node, Op, Refusal
    from rlx.passes.boundaries import Ports
    from rlx.support.text.tables import View
    from rlx.targets import Sweep
    from rlx_c.program import LoweredProgram


class CortexM(Target):
    """C99 for Cortex-M; see ``rlx.targets.Target``."""

    api = 1
    name = "cortexm"
    summary = "C99 for Arm Cortex-M and any other C compiler, no heap, no runtime"
    options = CortexMOptions

    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` is lowered, or refused with a reason."""
        return RULES.knows(op)

    def reason(self, op: type[Op], options: CortexMOptions) -> str | None:
        """Return the reason why ``op`` cannot be lowered at all, or None if it can."""
        return RULES.reason(op)

    def lowering(self, node: Node, options: CortexMOptions) -> Kernels | Refusal:
        """Return the kernels for a node on the chosen core, or the reason why it is refused."""
        return table_refusal(node, options.optimize) or lowering(node, options.core)

    def ports(self, options: CortexMOptions) -> Ports:
        """Return the kind of inputs and outputs: the code converts floats and uint8."""
        return options.ports

    def plan(self, module: GraphModule, options: CortexMOptions) -> GraphModule:
        """Return ``module`` with a place for every value and for the minimum scratch memory.

        Kernels chosen later may use the rest of the arena for more scratch memory.
        """
        return plan(module, options)

    def emit(self, module: GraphModule, options: CortexMOptions) -> Emission:
        """Return the C files for ``module`` (stage LIR).

        Raises:
            UnsupportedOpError: A node cannot be lowered exactly.
            EmitError: An input or output has an element type that C code does not support.
            DoesNotFitError: It needs more memory than the options allow.
        """
        lowered = self._program(module, options)
        emitter = Emitter(lowered, options)
        report = _fitting_estimate(lowered, options, emitter)
        facts = {"prefix": emitter.prefix, "cpu": options.cpu, **_part_facts(options)}
        if "timing" in report:
            facts["timing"] = report["timing"]
        if emitter.weights_file is not None:
            facts["weights_file"] = emitter.weights_file.facts()
        return Emission(
            files=with_licence(emitter.files()),
            report=report,
            facts=facts,
            nodes=[step.node for step in lowered.steps],
            scratch=scratch_places(lowered),
            vector_files=(
                (lambda golden: with_licence(emitter.vector_files(golden)))
                if options.self_test
                else None
            ),
        )

    def _program(self, module: GraphModule, options: CortexMOptions) -> LoweredProgram:
        settings = settings_of(options)
        debug_kernels(module, settings, options.cpu)
        return program(module, settings)

    def estimate(self, module: GraphModule, options: CortexMOptions) -> Mapping[str, Any]:
        """Return layers with MACs and bytes, and totals, without emitting.

        Raises:
            As ``emit``.
        """
        lowered = self._program(module, options)
        emitter = Emitter(lowered, options)  # refuses ports that C code does not support
        return _fitting_estimate(lowered, options, emitter)

    @property
    def sweep(self) -> Sweep:
        """Comparison of a model on all processors."""
        return sweep_with(self.estimate)

    @property
    def sweeps(self) -> Sequence[Sweep]:
        """Comparisons of a model on all processors, and on all microcontrollers."""
        return (self.sweep, part_sweep_with(self.estimate))

    def view(self, report: Mapping[str, Any], options: CortexMOptions) -> View:
        """Return the view of a report."""
        return view(report, options.device, timed=options.has_timing)


def _fitting_estimate(
    lowered: LoweredProgram, options: CortexMOptions, emitter: Emitter
) -> Mapping[str, Any]:
    """Return the estimate, or raise DoesNotFitError."""
    report = estimate(lowered, options.prediction)
    if emitter.states:
        report = {**report, "states": emitter.states}
    if options.weights_in_file:
        report = {
            **report,
            "code_bytes": report["code_bytes"] + CODE_BYTES,
            "constant_bytes": 0,
            "weights_file_bytes": emitter.weights_file_bytes,
            "variable_bytes": VARIABLE_BYTES,
        }
    if options.self_check:
        check = check_bytes(len(lowered.tables) + len(lowered.constants))
        code = report["code_bytes"] + check
        report = {**report, "code_bytes": code, "self_check_bytes": check}
    chip, cycles = options.chip, options.cycles
    check_budget(lowered.graph.name, report, ram=options.ram, flash=options.flash, chip=chip)
    if chip is not None:
        report = {**report, "part": part_figures(report, chip)}
    if cycles is not None:
        time = cycles.milliseconds(report["instructions"])
        report = {**report, "milliseconds": time.as_json()}
    return report


def _part_facts(options: CortexMOptions) -> dict[str, Any]:
    """Return part, wait states and cycles at the clock, for ``rlx verify`` and reports."""
    chip, cycles = options.chip, options.cycles
    facts: dict[str, Any] = {}
    if chip is not None:
        limits = {"flash_bytes": chip.flash_bytes, "ram_bytes": chip.block_bytes}
        facts["part"] = {"name": chip.name, **limits}
    if cycles is not None:
        facts["cycles"] = cycles.as_json()
    if options.flash_wait is not None:
        facts["flash_wait"] = options.flash_wait
    return facts


TARGET = CortexM()
