"""Interface of the native backend to sessions.

Tests: tests/targets/host/test_program.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.runtime.numpy_backend import NumpyBackend
from rlx_host.compiler import MISSING, find_compiler
from rlx_host.program import NativeProgram

if TYPE_CHECKING:
    from rlx.ir import GraphModule
    from rlx.runtime import CompileOptions, Device


class NativeBackend(NumpyBackend):
    """C compiled on this machine; nodes without a kernel run by NumPy."""

    name = "native"
    rank = -1

    def unavailable(self, device: Device) -> str | None:
        """Return the reason that nothing can be compiled here."""
        del device
        return MISSING if find_compiler() is None else None

    def compile(self, module: GraphModule, options: CompileOptions) -> NativeProgram:
        """Return a program that runs ``module``, as ``plan`` returned it."""
        return NativeProgram(module, options)


BACKEND = NativeBackend()
