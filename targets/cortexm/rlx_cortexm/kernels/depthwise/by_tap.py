"""Shared parts of depthwise convolutions that loop over taps.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlx_c.layer import LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.narrow import WHOLE_BITS

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx.ops.q import QConv2d
    from rlx_c.layer import Kernel
    from rlx_cortexm.weighted import WeightedLayer


def is_depthwise(node: Node) -> bool:
    """Whether each channel has a window of its own."""
    return cast("QConv2d", node.op).groups == WindowedImage.of(node).in_c > 1


def layer_by_tap(
    node: Node, weighted: WeightedLayer, kernel: Kernel, instructions: int, scratch_bytes: int = 0
) -> LoweredLayer:
    """Return a layer whose weights are stored tap by tap, all channels of each."""
    image = WindowedImage.of(node)
    by_tap = np.ascontiguousarray(weighted.weights.reshape(image.out_c, -1).T).reshape(-1)
    note = f"weights of {image.window.taps} taps by {image.out_c} channels"
    return LoweredLayer(
        kernel,
        operands=node.operands[:1],
        tables=weighted.tables(by_tap, note),
        arguments=weighted.arguments,
        scratch_bytes=scratch_bytes,
        instructions=instructions,
        macs=image.windows * weighted.weights.size,
        weight_bits=WHOLE_BITS,
    )
