"""Nearest elements as slices and joins, equal to the op; ratios that have no such form."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Graph, GraphModule, QuantParams, Refusal, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.ops.q import QResizeNearest
from rlx.passes.dispatch import Outcome
from rlx.passes.fit import fit
from rlx.passes.repeats import AxisCopies, axis_copies

QUANT = QuantParams.per_tensor(0.5, 3)
CORNERS, CENTERS = {"align_corners": True}, {"half_pixel_centers": True}


def resized(shape, size, **flags) -> Graph:
    graph = Graph("net")
    x = graph.input("x", i8(*shape, quant=QUANT))
    graph.output(graph.apply(QResizeNearest(size=size, **flags), x, name="y"), names=["y"])
    return graph


def fitted(graph: Graph):
    """Return the graph for a target that resizes no image."""

    def claim(node):
        return Refusal("no resizes") if isinstance(node.op, QResizeNearest) else None

    return fit(graph, "target", claim)


@pytest.mark.parametrize(
    ("shape", "size", "flags", "names"),
    [
        ((1, 3, 4, 2), (6, 8), {}, ["reshape", "concat", "reshape"] * 2),
        ((2, 3, 4, 2), (3, 12), CENTERS, ["reshape", "concat", "reshape"]),
        ((1, 1, 1, 3), (2, 8), CORNERS, ["reshape", "concat", "reshape"] * 2),
        ((1, 6, 9, 2), (2, 3), CENTERS, ["slice"]),
        ((1, 7, 5, 2), (3, 3), CORNERS, ["slice"]),
        ((1, 6, 4, 2), (3, 8), {}, ["slice", "reshape", "concat", "reshape"]),
        ((1, 2, 9, 1), (1, 1), {}, ["slice"]),
        ((1, 3, 4, 2), (3, 4), {}, []),
    ],
)
def test_regular_copies_become_slices_and_joins(shape, size, flags, names) -> None:
    graph = resized(shape, size, **flags)
    other = fitted(graph).graph
    verify(GraphModule.mir(other))
    assert [node.op.name for node in other.op_nodes] == [f"q.{name}" for name in names]
    assert other.outputs[0].type == graph.outputs[0].type
    x = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    np.testing.assert_array_equal(evaluate(other, {"x": x})[0], evaluate(graph, {"x": x})[0])


@pytest.mark.parametrize(
    ("old", "new", "flags"),
    [(3, 5, {}), (5, 3, {}), (4, 7, CORNERS), (1, 9, {}), (4, 4, CORNERS | CENTERS)],
)
def test_other_copies_are_refused(old, new, flags) -> None:
    graph = resized((1, old, 2, 1), (new, 2), **flags)
    assert axis_copies(graph.outputs[0].node) is None
    found = fitted(graph)
    assert found.graph is graph
    assert [entry.path for entry in found.report.entries] == [Outcome.REFUSED]


def test_copies_are_told_by_axis() -> None:
    graph = resized((1, 6, 4, 2), (3, 8))
    assert axis_copies(graph.outputs[0].node) == (AxisCopies(0, 2, 3, 1), AxisCopies(0, 1, 4, 2))
