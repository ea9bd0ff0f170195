"""Images of another size.

Tests: tests/unit/driver/exporters/test_onnx.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.driver.exporters.onnx.call import AxisOrder
from rlx.driver.exporters.onnx.rules import RULES
from rlx.ops.q import QResizeBilinear, QResizeNearest

if TYPE_CHECKING:
    from rlx.driver.exporters.onnx.call import ExportedNode


@RULES.rule(QResizeNearest)
def export_resize_nearest(call: ExportedNode) -> None:
    """``Gather`` along each axis: ``Resize`` has other places."""
    op = cast("QResizeNearest", call.op)
    (x,) = call.node.operands
    real = call.real(x)
    axes = op.axes(x.type.static_shape[1:3])
    for axis, (what, resampling) in enumerate(zip(("rows", "columns"), axes, strict=True), start=1):
        indices = call.integers(what, resampling.nearest)
        real = call.emit("Gather", real, indices, axis=axis)
    call.finish(real)


@RULES.rule(QResizeBilinear)
def export_resize_bilinear(call: ExportedNode) -> None:
    """``Resize`` of mode linear, where positions are multiples of 1/1024."""
    op = cast("QResizeBilinear", call.op)
    (x,) = call.node.operands
    if not all(axis.is_exact for axis in op.axes(x.type.static_shape[1:3])):
        raise call.refused(
            "rounds positions to 1/1024 of a pixel, and Resize does not",
            "resize by a factor that is a power of two",
        )
    mode = "half_pixel" if op.half_pixel_centers else "asymmetric"
    batch, *_, channels = x.type.static_shape
    real = call.emit(
        "Resize",
        call.real(x, AxisOrder.FIRST),
        "",
        "",
        call.integers("size", (batch, channels, *op.size)),
        mode="linear",
        coordinate_transformation_mode="align_corners" if op.align_corners else mode,
    )
    call.finish(real, AxisOrder.FIRST)
