"""Images of another size.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rlx.driver.exporters.tflite.rules import RULES
from rlx.ops.q import QResizeBilinear, QResizeNearest

if TYPE_CHECKING:
    from rlx.driver.exporters.tflite.call import ExportedNode


@RULES.rule(QResizeBilinear, QResizeNearest)
def export_resize(call: ExportedNode) -> None:
    """``RESIZE_BILINEAR`` and ``RESIZE_NEAREST_NEIGHBOR``."""
    op = cast("QResizeBilinear | QResizeNearest", call.op)
    (x,) = call.node.operands
    call.require_same_quant(x)
    bilinear = isinstance(op, QResizeBilinear)
    call.finish(
        "RESIZE_BILINEAR" if bilinear else "RESIZE_NEAREST_NEIGHBOR",
        call.tensor(x),
        call.integers("size", op.size),
        version=3,
        align_corners=op.align_corners,
        half_pixel_centers=op.half_pixel_centers,
    )
