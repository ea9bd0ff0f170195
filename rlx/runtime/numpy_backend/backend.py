"""Interface of the NumPy backend to sessions.

It runs every op that has a definition. It is the reference with which other backends are compared.

Tests: tests/unit/runtime/test_backend.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Refusal, Stage
from rlx.memory import host_in_place, plan_memory
from rlx.ops.nn import NnOp
from rlx.runtime.device import Device
from rlx.runtime.numpy_backend import kernels  # noqa: F401 - importing it fills the table
from rlx.runtime.numpy_backend.program import NumpyProgram
from rlx.runtime.numpy_backend.step import KERNELS
from rlx.runtime.numpy_backend.workspace import ALIGNMENT

if TYPE_CHECKING:
    from rlx.ir import GraphModule, Node, Op
    from rlx.runtime.options import CompileOptions


class NumpyBackend:
    """NumPy on the processor."""

    name = "numpy"
    devices: tuple[Device, ...] = (Device.CPU,)
    rank = 0

    def unavailable(self, device: Device) -> str | None:
        """Return None: NumPy is always available."""
        del device
        return None

    def refusal(self, node: Node) -> Refusal | None:
        """Return the reason that a node is not run directly: model-level ops are decomposed."""
        return Refusal("it is run as its decomposition") if isinstance(node.op, NnOp) else None

    def claims(self, op: type[Op]) -> bool:
        """Whether a fused op of this class has a kernel: a fusion without one gains nothing."""
        return op in KERNELS

    def plan(self, module: GraphModule, options: CompileOptions) -> GraphModule:
        """Return ``module`` with every value but states in one arena, inputs and outputs too."""
        del options
        # The runtime verifies the plan.
        plan = plan_memory(
            module.graph,
            alignment=ALIGNMENT,
            in_place=host_in_place,
            ports_inside=True,
            search=False,
            unpacked=True,
            states=True,
        )
        return module.advance(Stage.LIR, plan)

    def compile(self, module: GraphModule, options: CompileOptions) -> NumpyProgram:
        """Return a program that runs ``module``, as ``plan`` returned it."""
        return NumpyProgram(module, options)


BACKEND = NumpyBackend()
