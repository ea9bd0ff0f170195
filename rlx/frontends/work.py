"""Work and memory that a graph asks for: counted from shapes, before any of it is spent.

A few bytes can describe a huge tensor (a padding, a broadcast) or endless work (a window of
thousands of rows and columns), so the size of a file says little about its cost.

Tests: tests/unit/frontends/tflite/test_frontend.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rlx.frontends.refusal import OverLimitError
from rlx.ir.inspect import node_macs
from rlx.ir.sizes import sizes_of
from rlx.ops import cost
from rlx.ops.q import Window
from rlx.ops.real.window import SpatialWindow
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from rlx.ir import Graph, Node, TensorType
    from rlx.support.limits import Limits


def check_work(graph: Graph, limits: Limits) -> None:
    """Check the work and memory of one frame of a graph; symbolic dimensions are left out.

    Raises:
        OverLimitError: A tensor, all computed tensors, a window, the operations or the constants,
            counted at each read, are over a limit.
    """
    totals = dict.fromkeys(_WHAT, 0)
    first_over: dict[str, Node] = {}
    for node in graph.op_nodes:
        padded, results = _padded(node), [_static_size(t) for t in node.types]
        totals["elements"] = max(totals["elements"], padded, *results)
        totals["total_elements"] += padded + sum(results)
        totals["operations"] += _operations(node)
        totals["taps"] = max(totals["taps"], _taps(node))
        totals["constant_bytes"] += sum(
            o.constant.nbytes for o in node.operands if o.constant is not None
        )
        for name, total in totals.items():
            if total > getattr(limits, name):
                first_over.setdefault(name, node)
    for name, node in first_over.items():
        error = OverLimitError(
            f"{_WHAT[name].format(totals[name])}; the limit is {getattr(limits, name)}",
            hint=raise_hint(name, totals[name]),
        )
        raise error.inside(node.origin.location or node.label)


# The place is the first operator with which the graph is over the limit.
_WHAT = {
    "elements": "a tensor has {} elements, its padding counted",
    "total_elements": "the computed tensors have {} elements together",
    "operations": "one frame takes {} operations",
    "taps": "a window has {} positions",
    "constant_bytes": "layers read {} bytes of constants",
}


def _static_size(type_: TensorType) -> int:
    shape = [d for d in type_.shape if isinstance(d, int)]
    return math.prod(shape) if len(shape) == len(type_.shape) else 0


def _padded(node: Node) -> int:
    """Return the elements of a padded image, 0 for an op without padding."""
    window = getattr(node.op, "window", None)
    if not isinstance(window, Window | SpatialWindow) or not window.is_padded:
        return 0
    image = node.operands[0].type
    layout = getattr(node.op, "layout", None)
    shape = (image if layout is None else layout.type_to_last(image)).shape
    sizes = [d for d in shape if isinstance(d, int)]
    if len(sizes) != len(shape):
        return 0
    grown = (n + before + after for n, (before, after) in zip(sizes[1:-1], window.padding,
                                                             strict=True))  # fmt: skip
    return sizes[0] * math.prod(grown) * sizes[-1]


def _taps(node: Node) -> int:
    """Return the positions of a node's window, 0 if it has none."""
    window = getattr(node.op, "window", None)
    return math.prod(window.kernel) if isinstance(window, Window | SpatialWindow) else 0


def _operations(node: Node) -> int:
    """Return the multiply-accumulates of a node; else a step for each element or tap it reads."""
    if regions := node.op.regions():
        inner = sum(_operations(n) for _, region in regions for n in region.op_nodes)
        return inner * (cost.iterations(node) or 1)
    macs = node_macs(node)
    if macs:
        return macs
    results = sum(_static_size(t) for t in node.types)
    if taps := _taps(node):
        return results * taps
    return max(results, *(_static_size(o.type) for o in node.operands), 0)


def check_sizes(window: Window | SpatialWindow, limits: Limits) -> None:
    """Check kernel, stride, dilation and padding of a window.

    Raises:
        OverLimitError: One of them is over the limit of a dimension.
    """
    for path, size in sizes_of(window):
        if size > limits.dimension:
            raise OverLimitError(
                f"{path} is {size}; the limit is {limits.dimension}",
                hint=raise_hint("dimension", size),
            )
