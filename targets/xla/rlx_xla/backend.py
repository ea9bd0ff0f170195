"""Interface of the backend to sessions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Refusal, Stage
from rlx.memory import plan_memory
from rlx.ops.nn import NnOp
from rlx.ops.q import computes_int16
from rlx_xla.platforms import PLATFORMS, absence, compiler_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import GraphModule, Node, Op, RuleTable
    from rlx.runtime import CompileOptions, Device
    from rlx_xla.program import XlaProgram
    from rlx_xla.rules import Lowering


@dataclass(frozen=True)
class XlaBackend:
    """XLA, by way of JAX.

    Attributes:
        devices: Kinds of devices that it can run on; one for a backend that compiles.
        axes: Name and size of each axis of a mesh of devices; none for one device.
        splits: Names of values, and how they are split (``rlx_xla.parallel.shard``).
    """

    name: ClassVar[str] = "xla"
    rank: ClassVar[int] = -10  # on a CPU NumPy comes first
    devices: tuple[Device, ...] = tuple(PLATFORMS)
    axes: tuple[tuple[str, int], ...] = ()
    splits: tuple[tuple[str, tuple[str | None, ...]], ...] = ()

    def on(self, device: Device) -> XlaBackend:
        """Return the backend for one device."""
        return XlaBackend((device,))

    def unavailable(self, device: Device) -> str | None:
        """Return the reason that ``device`` cannot be used on this machine, or None if it can."""
        return absence(device)

    def compiler(self) -> str:
        """Return the versions of compiler and device, for messages."""
        return compiler_of(self.devices[0])

    def refusal(self, node: Node) -> Refusal | None:
        """Return the reason that a node is not run directly, or None if it is."""
        if isinstance(node.op, NnOp):
            return Refusal("it is run as its decomposition")
        table = _rules()
        if computes_int16(node):
            return Refusal("its activations are int16, and its lowering computes int8", table.hint)
        reason = table.reason(type(node.op))
        return None if reason is None else Refusal(reason, table.hint)

    def claims(self, op: type[Op]) -> bool:
        """Whether a fused op of this class is lowered."""
        return op in _rules()

    def plan(self, module: GraphModule, options: CompileOptions) -> GraphModule:
        """Return ``module`` at stage LIR; XLA places values itself, so no order is searched."""
        del options
        return module.advance(
            Stage.LIR, plan_memory(module.graph, search=False, unpacked=True, states=True)
        )

    def compile(self, module: GraphModule, options: CompileOptions) -> XlaProgram:
        """Return a program that runs ``module``, as ``plan`` returned it."""
        return self.prepare(module, options)()

    def prepare(self, module: GraphModule, options: CompileOptions) -> Callable[[], XlaProgram]:
        """Compile ``module``; return a function that makes programs of the code."""
        from rlx_xla.placement import Placement
        from rlx_xla.program import XlaCode, XlaProgram

        code = XlaCode(module, Placement(self.devices[0], self.axes, dict(self.splits)))
        return partial(XlaProgram, code, check_finite=options.check_finite)


def _rules() -> RuleTable[Lowering]:
    """Return the table of lowerings; this imports JAX."""
    from rlx_xla.lowerings import RULES

    return RULES


BACKEND = XlaBackend()
