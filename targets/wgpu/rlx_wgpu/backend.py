"""Interface of the backend to sessions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import Stage
from rlx.memory import plan_memory
from rlx.runtime import Device
from rlx_wgpu.adapters import absence, hardware_of, open_gpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import GraphModule, Node, Op, Refusal
    from rlx.runtime import CompileOptions
    from rlx_wgpu.program import WgpuProgram


@dataclass(frozen=True, slots=True)
class WgpuBackend:
    """WebGPU, by way of the package wgpu.

    Attributes:
        devices: Kinds of devices that it can run on; one for a backend that compiles.
    """

    name: ClassVar[str] = "wgpu"
    rank: ClassVar[int] = -10
    devices: tuple[Device, ...] = (Device.GPU, Device.VULKAN)

    def on(self, device: Device) -> WgpuBackend:
        """Return the backend for one device."""
        return WgpuBackend((device,))

    def unavailable(self, device: Device) -> str | None:
        """Return the reason that ``device`` cannot be used on this machine, or None if it can."""
        return absence(device)

    def hardware(self, device: Device) -> str:
        """Return the name of the adapter that ``device`` is on this machine."""
        return hardware_of(device)

    def compiler(self) -> str:
        """Return the versions of wgpu and the driver, for messages."""
        import wgpu

        return f"wgpu {wgpu.__version__}, {open_gpu(self.devices[0]).name}"

    def refusal(self, node: Node) -> Refusal | None:
        """Return the reason that a node is not run directly, or None if it is."""
        from rlx_wgpu.lowerings import refusal_of

        return refusal_of(node)

    def claims(self, op: type[Op]) -> bool:
        """Whether a fused op of this class has a kernel: none has."""
        del op
        return False

    def plan(self, module: GraphModule, options: CompileOptions) -> GraphModule:
        """Return ``module`` at stage LIR; places on the device are chosen by ``compile``."""
        del options
        return module.advance(
            Stage.LIR, plan_memory(module.graph, search=False, unpacked=True, states=True)
        )

    def compile(self, module: GraphModule, options: CompileOptions) -> WgpuProgram:
        """Return a program that runs ``module``, as ``plan`` returned it."""
        return self.prepare(module, options)()

    def prepare(self, module: GraphModule, options: CompileOptions) -> Callable[[], WgpuProgram]:
        """Compile ``module``; return a function that makes programs of the code."""
        from rlx_wgpu.program import WgpuCode, WgpuProgram

        del options
        return partial(WgpuProgram, WgpuCode(module, open_gpu(self.devices[0])))


BACKEND = WgpuBackend()
