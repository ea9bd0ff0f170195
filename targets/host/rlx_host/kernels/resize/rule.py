"""Nearest elements, and means of the four around a position.

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
    from rlx.ops.q import QResizeBilinear, QResizeNearest
    from rlx_host.instruction_set import InstructionSet


_MAX_INDICES: Final = 1 << 14
"""Indices of an axis that are written into the code."""


def resize_nearest(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer that copies pixels."""
    del instructions
    op = cast("QResizeNearest", node.op)
    if max(op.size) > _MAX_INDICES:
        return Refusal(f"it has an axis of more than {_MAX_INDICES} elements")
    rows, columns = op.axes(node.operands[0].type.static_shape[1:3])
    indices = tuple(columns.nearest.tolist())
    constants = {
        **_image(node),
        "rows": tuple(rows.nearest.tolist()),
        "columns": indices,
        "whole": indices == tuple(range(columns.old)),
    }
    return NativeLayer(Kernel.of("resize_nearest", "resize/nearest", constants), (0,))


def resize_bilinear(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer that weights four pixels around each position, channels side by side."""
    del instructions
    op = cast("QResizeBilinear", node.op)
    axes = op.axes(node.operands[0].type.static_shape[1:3])
    rows, columns = ((axis.first, axis.step, axis.new) for axis in axes)
    constants = {**_image(node), "rows": rows, "columns": columns}
    return NativeLayer(Kernel.of("resize_bilinear", "resize/bilinear", constants), (0,))


def _image(node: Node) -> dict[str, Hashable]:
    """Return the sizes of the image."""
    batch, height, width, channels = node.operands[0].type.static_shape
    return {"batch": batch, "height": height, "width": width, "channels": channels}
