"""Images of one or two axes in the order and number of axes that integer ops have.

Tests: tests/unit/passes/quantize/test_every_op.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rlx.ir import Refusal
from rlx.ops.nn import Layout
from rlx.ops.nn.layout import to_channels_first, to_channels_last
from rlx.ops.q import Window

if TYPE_CHECKING:
    from rlx.ir import Node, Value
    from rlx.ops.real import SpatialWindow
    from rlx.passes.quantize.rules.call import NodeConversion


def image_window(window: SpatialWindow) -> Window:
    """Return a window of one or two axes as one of two; a single axis becomes the width."""
    pad = 2 - window.rank
    ones: tuple[Any, ...] = (1,) * pad
    return Window(
        cast("tuple[int, int]", (*ones, *window.kernel)),
        cast("tuple[int, int]", (*ones, *window.stride)),
        cast("tuple[int, int]", (*ones, *window.dilation)),
        cast("Any", (*(((0, 0),) * pad), *window.padding)),
    )


def check_window(node: Node) -> Refusal | None:
    """Refuse windows of more than two axes."""
    rank = cast("Any", node.op).window.rank
    if rank not in (1, 2):
        return Refusal(f"its window has {rank} axes, and integer ops have windows of one or two")
    return None


def as_image(call: NodeConversion, layout: Layout, value: Value) -> Value:
    """Return an integer image as [N, H, W, C]."""
    rank = value.type.rank
    if layout is Layout.CHANNELS_FIRST:
        value = call.transpose(value, to_channels_last(rank))
    shape = value.type.static_shape
    return call.reshape(value, (shape[0], 1, *shape[1:])) if rank == 3 else value


def from_image(call: NodeConversion, layout: Layout, value: Value) -> Value:
    """Return the result of ``as_image`` in the order of axes that the node has."""
    rank = call.node.types[0].rank
    if rank == 3:
        shape = value.type.static_shape
        value = call.reshape(value, (shape[0], *shape[2:]))
    if layout is Layout.CHANNELS_FIRST:
        value = call.transpose(value, to_channels_first(rank))
    return value
