"""Averages and maxima of windows, several channels at a time.

Tests: tests/targets/host/test_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rlx.ir import Refusal
from rlx.ops.q import QAveragePool2d
from rlx_c.layer import Kernel
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QMaxPool2d
    from rlx_host.instruction_set import InstructionSet

_MAX_TAPS: Final = 1 << 16
"""Taps of a window: a sum of so many int8 values is exact in float32."""


def pool2d(node: Node, instructions: InstructionSet) -> NativeLayer | Refusal:
    """Return the layer of a pool."""
    op = cast("QAveragePool2d | QMaxPool2d", node.op)
    batch, height, width, channels = node.operands[0].type.static_shape
    _, rows, columns, _ = node.types[0].static_shape
    window = op.window
    if window.taps > _MAX_TAPS:
        return Refusal(f"its window has more than {_MAX_TAPS} taps")
    products = columns * -(-channels // instructions.lanes) * window.taps
    split = Split.of(batch * rows, batch * rows * products)
    constants = {
        "split": split is not None,
        "units": batch * rows,
        "average": isinstance(op, QAveragePool2d),
        "batch": batch,
        "height": height,
        "width": width,
        "channels": channels,
        "rows": rows,
        "columns": columns,
        "kernel": window.kernel,
        "stride": window.stride,
        "dilation": window.dilation,
        "padding": (window.padding[0][0], window.padding[1][0]),
        "low": op.low,
        "high": op.high,
    }
    kind = op.name.removeprefix("q.")
    return NativeLayer(Kernel.of(kind, "pool2d/kernel", constants), (0,), split=split)
