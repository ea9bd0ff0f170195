"""The target ``host``: the interface of this package to the compiler.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.ir import Refusal
from rlx.ops.control import CONTROL_OPS
from rlx.support.text.licence import with_licence
from rlx.targets import Emission, Target
from rlx_host.emission.emitter import Emitter
from rlx_host.emission.options import HostOptions
from rlx_host.emission.planning import plan
from rlx_host.emission.program import HINT, host_program
from rlx_host.emission.report import report, scratch_places
from rlx_host.kernels.rules import RULES, lower

if TYPE_CHECKING:
    from rlx.ir import GraphModule, Node, Op
    from rlx.passes.boundaries import Ports
    from rlx_host.layer import NativeLayer


class Host(Target):
    """C for processors of computers; see ``rlx.targets.Target``."""

    api = 1
    name = "host"
    summary = "C library and program for x86-64 and Arm processors: GCC or Clang, no runtime"
    options = HostOptions

    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` is lowered, or refused with a reason."""
        return RULES.knows(op) and op not in CONTROL_OPS

    def reason(self, op: type[Op], options: HostOptions) -> str | None:
        """Return the reason why ``op`` cannot be lowered at all, or None if it can."""
        del options
        return RULES.reason(op)

    def lowering(self, node: Node, options: HostOptions) -> NativeLayer | Refusal:
        """Return the C function of a node, or the reason why it is refused."""
        layer = lower(node, options.instructions)
        return Refusal(layer.reason, hint=HINT) if isinstance(layer, Refusal) else layer

    def ports(self, options: HostOptions) -> Ports:
        """Return the kind of inputs and outputs."""
        return options.ports

    def plan(self, module: GraphModule, options: HostOptions) -> GraphModule:
        """Return ``module``, fused, with a place for every value."""
        del options
        return plan(module)

    def emit(self, module: GraphModule, options: HostOptions) -> Emission:
        """Return the C files for ``module`` (stage LIR).

        Raises:
            UnsupportedOpError: A node has no kernel in C.
            EmitError: An input or output has an element type that the interface lacks.
        """
        program = host_program(module, options.instructions)
        emitter = Emitter(program, options)
        return Emission(
            files=with_licence(emitter.files()),
            report=report(program),
            facts=emitter.facts(),
            nodes=[step.node for step in program.steps],
            scratch=scratch_places(program),
        )


TARGET: Final = Host()
"""The target."""
