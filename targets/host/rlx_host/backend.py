"""Interface of the native backend to sessions.

Tests: tests/targets/host/test_program.py
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from rlx.runtime import Device
from rlx.runtime.numpy_backend import NumpyBackend
from rlx_host.compiler import MISSING, find_compiler, version

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import GraphModule
    from rlx.runtime import CompileOptions
    from rlx_host.program import NativeProgram


class NativeBackend(NumpyBackend):
    """C compiled on this machine; nodes without a kernel run by NumPy."""

    name = "native"
    # The flags are those of compilers on POSIX systems; Windows runs NumPy.
    devices: tuple[Device, ...] = (Device.CPU,) if hasattr(os, "fork") else ()
    rank = 1

    def unavailable(self, device: Device) -> str | None:
        """Return the reason that nothing can be compiled here."""
        del device
        return MISSING if find_compiler() is None else None

    def compile(self, module: GraphModule, options: CompileOptions) -> NativeProgram:
        """Return a program that runs ``module``, as ``plan`` returned it."""
        return self.prepare(module, options)()

    def prepare(self, module: GraphModule, options: CompileOptions) -> Callable[[], NativeProgram]:
        """Compile ``module``; return a function that makes programs of the code."""
        # Kernels and templates are imported when a graph is compiled, not with every session.
        from rlx_host.kernel_table import debug_kernels
        from rlx_host.program import NativeProgram, compile_module

        code = compile_module(module, options)
        debug_kernels(module, code)
        return partial(NativeProgram, module, options, code)

    def compiler(self) -> str:
        """Return name and version of the compiler."""
        command = find_compiler()
        return MISSING if command is None else version(command)


BACKEND = NativeBackend()
