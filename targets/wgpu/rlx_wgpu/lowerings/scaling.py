"""Fixed-point scaling in kernels.

The functions in ``templates/wgpu`` are those of ``rlx.ops.numerics.fixed_point``.

Tests: tests/targets/wgpu/test_scaling.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.numerics.fixed_point import Rounding

if TYPE_CHECKING:
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx_wgpu.kernel import Kernel

_NEITHER = -1
"""Parity of the rounding whose halves are rounded up."""


def define_rescale(kernel: Kernel, name: str, rescale: Rescale) -> None:
    """Define ``name(x, c)``, accumulator ``x`` of channel ``c`` scaled and rounded."""
    kernel.scales = True
    if rescale.channels == 1:
        multiplier, shift = str(rescale.multiplier[0]), f"({rescale.shift[0]})"
    else:
        kernel.table(f"{name}_multiplier", np.array(rescale.multiplier, np.int32))
        kernel.table(f"{name}_shift", np.array(rescale.shift, np.int8))
        multiplier, shift = f"{name}_multiplier(c)", f"{name}_shift(c)"
    if rescale.rounding is Rounding.DOUBLE:
        scaled = f"scale_twice(x, {multiplier}, {shift})"
    else:
        parity = rescale.rounding.to_parity
        parity = _NEITHER if parity is None else parity
        scaled = f"scale_once(x, {multiplier}, u32(31 - {shift}), {parity})"
    kernel.define(f"fn {name}(x: i32, c: u32) -> i32 {{ return {scaled}; }}")


def clamped(x: str, zero_point: int, low: int, high: int) -> str:
    """Return the expression ``clamp(x + zero_point, low, high)``, whose sum does not overflow."""
    return f"clamp({x}, {low - zero_point}, {high - zero_point}) + ({zero_point})"
