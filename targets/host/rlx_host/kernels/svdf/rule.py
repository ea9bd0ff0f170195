"""SVDF layers: the newest result of each filter, and weighted sums over the last ones.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ir import Refusal
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.ops.q import QSvdf, QSvdfState
    from rlx_host.instruction_set import InstructionSet

_MAX_INPUTS: Final = (1 << 31) // (255 * 128) - 1
"""Products of centred inputs and weights whose sum fits int32."""


def svdf_state(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a state."""
    del instructions
    op = cast("QSvdfState", node.op)
    batch, size = node.types[0].static_shape
    filters, inputs = node.operands[2].type.static_shape
    if inputs > _MAX_INPUTS:
        return Refusal("its sums may leave int32")
    constants = {
        "batch": batch,
        "inputs": inputs,
        "filters": filters,
        "memory": size // filters,
        "x_zero_point": op.x_zero_point,
        **_scaling(op.rescale),
    }
    return NativeLayer(Kernel.of("svdf_state", "svdf/state", constants), (0, 1, 2))


def svdf(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of an output."""
    del instructions
    op = cast("QSvdf", node.op)
    batch, units = node.types[0].static_shape
    constants = {
        "batch": batch,
        "units": units,
        "taps": node.operands[1].type.size // units,
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
        **_scaling(op.rescale),
    }
    return NativeLayer(Kernel.of("svdf", "svdf/kernel", constants), (0, 1, 2))


def _scaling(rescale: Rescale) -> dict[str, Hashable]:
    """Return a C function that scales, and its arguments after the sum."""
    (multiplier,), (shift,) = rescale.multiplier, rescale.shift
    name = rescale.rounding.value
    if rescale.rounding.to_parity is not None:
        return {
            "scale": "scale_parity",
            "factor": (multiplier, 31 - shift, rescale.rounding.to_parity),
        }
    return {
        "scale": f"scale_{name}",
        "factor": (multiplier, shift if name == "double" else 31 - shift),
    }
