"""Results of each pass for small graphs, node by node."""

import numpy as np
import pytest

from rlx.ir import Dim, Graph, QuantParams, f32, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QClamp,
    QConv2d,
    QPad,
    QRequantize,
    QReshape,
    QResizeBilinear,
    QResizeNearest,
    QTranspose,
    Window,
)
from rlx.ops.real import RealBroadcastTo, RealSlice
from rlx.passes.canonicalize import Canonicalize
from rlx.passes.common_subexpressions import CommonSubexpressions
from rlx.passes.dead_code import DeadCode
from rlx.passes.fold_constants import FoldConstants
from rlx.passes.fuse_clamps import FuseClamps, clamp_of_clamp
from rlx.passes.fuse_pads import FusePads
from rlx.passes.pipelines import pipeline
from rlx.passes.transforms.bind import bind
from rlx.support.errors import UsageError
from support.messages import raises


def names(graph):
    return [n.op.name for n in graph.op_nodes]


def conv_graph(*, pad_value=3, x_zero_point=3, before=(0, 1, 2, 0), after=(0, 0, 1, 0)):
    g = Graph("g")
    x = g.input("x", i8(1, 4, 4, 1))
    padded = g.apply(QPad(before=before, after=after, value=pad_value), x)
    w = g.constant(np.ones((2, 2, 2, padded.type.shape[3]), np.int8))
    b = g.constant(np.zeros(2, np.int32))
    op = QConv2d(
        window=Window((2, 2), padding=((0, 1), (0, 0))),
        x_zero_point=x_zero_point,
        rescale=Rescale.of(0.1),
        zero_point=0,
    )
    g.output(g.apply(op, padded, w, b, name="conv"))
    return g


def test_fuse_pads_adds_the_pad_to_the_window():
    after = DeadCode().apply(FusePads().apply(conv_graph()))
    assert names(after) == ["q.conv2d"]
    (node,) = after.op_nodes
    assert node.op.window.padding == ((1, 1), (2, 1))
    assert node.name == "conv"
    assert node.origin.passes == ("fuse-pads",)


@pytest.mark.parametrize(
    "changed",
    [{"pad_value": 4}, {"before": (0, 0, 0, 1)}, {"after": (0, 0, 0, 2)}],
    ids=["another value", "channels before", "channels behind"],
)
def test_fuse_pads_leaves_other_pads(changed):
    assert names(FusePads().apply(conv_graph(**changed))) == ["q.pad", "q.conv2d"]


def chain(*ops, shape=(1, 2, 3, 1), quant=None):
    g = Graph("g")
    value = g.input("x", i8(*shape, quant=quant))
    for op in ops:
        value = g.apply(op, value, quant=quant)
    g.output(value)
    return g


REQUANTIZE = QRequantize(x_zero_point=1, rescale=Rescale.of(0.7), zero_point=2)


def test_fuse_clamps_narrows_the_producer():
    after = DeadCode().apply(FuseClamps().apply(chain(REQUANTIZE, QClamp(low=-3, high=9))))
    (node,) = after.op_nodes
    assert (node.op.name, node.op.low, node.op.high) == ("q.requantize", -3, 9)


def test_fuse_clamps_leaves_a_producer_with_other_readers():
    g = Graph("g")
    x = g.input("x", i8(2))
    wide = g.apply(REQUANTIZE, x)
    g.output(g.apply(QClamp(low=0), wide), wide)
    assert names(FuseClamps().apply(g)) == ["q.requantize", "q.clamp"]


@pytest.mark.parametrize("inner", [(-128, 127), (-5, 5), (3, 3), (90, 120), (-100, -90)])
@pytest.mark.parametrize("outer", [(-128, 127), (-2, 8), (0, 0), (-50, -20), (60, 70)])
def test_clamp_of_clamp_is_one_clamp(inner, outer):
    codes = np.arange(-128, 128)
    low, high = clamp_of_clamp(*inner, QClamp(low=outer[0], high=outer[1]))
    assert np.array_equal(np.clip(codes, low, high), np.clip(np.clip(codes, *inner), *outer))


def test_canonicalize_drops_identities():
    graph = chain(
        QReshape(shape=(1, 2, 3, 1)),
        QClamp(),
        QTranspose(axes=(0, 1, 2, 3)),
        QPad(before=(0,) * 4, after=(0,) * 4, value=0),
    )
    assert names(Canonicalize().apply(graph)) == []


@pytest.mark.parametrize(
    ("op", "identity"),
    [
        (QResizeBilinear(size=(2, 3)), True),
        (QResizeBilinear(size=(2, 3), half_pixel_centers=True), True),
        (QResizeBilinear(size=(2, 4)), False),
        (QResizeNearest(size=(2, 3), align_corners=True), True),
        (QResizeNearest(size=(2, 3), half_pixel_centers=True), True),
        # Halves round up: each row but the last is replaced by the next one.
        (QResizeNearest(size=(2, 3), align_corners=True, half_pixel_centers=True), False),
    ],
    ids=str,
)
def test_canonicalize_drops_resizes_to_the_same_size(op, identity):
    x = np.arange(6, dtype=np.int8).reshape(1, 2, 3, 1)
    assert np.array_equal(op.evaluate(x)[0], x) == identity
    assert (names(Canonicalize().apply(chain(op))) == []) == identity


def test_canonicalize_merges_reshapes_and_transposes():
    graph = chain(QReshape(shape=(6,)), QReshape(shape=(3, 2)), shape=(2, 3))
    after = DeadCode().apply(Canonicalize().apply(graph))
    assert [n.op.shape for n in after.op_nodes] == [(3, 2)]
    graph = chain(QTranspose(axes=(1, 2, 0)), QTranspose(axes=(2, 1, 0)), shape=(2, 3, 4))
    after = DeadCode().apply(Canonicalize().apply(graph))
    assert [n.op.axes for n in after.op_nodes] == [(0, 2, 1)]


def test_canonicalize_turns_a_transpose_of_ones_into_a_reshape():
    after = Canonicalize().apply(chain(QTranspose(axes=(0, 3, 1, 2))))
    assert [n.op for n in after.op_nodes] == [QReshape(shape=(1, 1, 2, 3))]


def test_canonicalize_keeps_a_clamp_that_changes_codes():
    assert names(Canonicalize().apply(chain(QClamp(low=-127)))) == ["q.clamp"]


def test_fold_constants_evaluates_and_keeps_quantization():
    g = Graph("g")
    quant = QuantParams.per_tensor(0.5, 2)
    c = g.constant(np.array([1, 50], np.int8))
    g.output(g.apply(REQUANTIZE, c, quant=quant))
    after = FoldConstants().apply(g)
    (value,) = after.outputs
    assert value.constant.tolist() == REQUANTIZE.evaluate(c.constant)[0].tolist()
    assert value.type.quant == quant


def test_fold_constants_leaves_what_a_symbol_decides():
    n = Dim("n")
    g = Graph("g")
    g.input("x", f32(n))
    table = g.constant(np.arange(4, dtype=np.float32))
    row = g.apply(RealSlice(start=(n - 1,), stop=(n,), step=(1,)), table)
    g.output(row, g.apply(RealBroadcastTo(shape=(n,)), row), names=["row", "wide"])
    assert names(FoldConstants().apply(g)) == ["real.slice", "real.broadcast_to"]
    folded = FoldConstants().apply(bind(g, {"n": 3}))
    assert [v.constant.tolist() for v in folded.outputs] == [[2.0], [2.0, 2.0, 2.0]]


def test_fold_constants_leaves_results_over_the_limit():
    g = Graph("g")
    c = g.constant(np.zeros((1, 1), np.int8))
    g.output(g.apply(QPad(before=(0, 0), after=(9, 9), value=0), c))
    assert names(FoldConstants(limit_bytes=99).apply(g)) == ["q.pad"]
    assert names(FoldConstants(limit_bytes=100).apply(g)) == []


def test_common_subexpressions_merges_equal_nodes_and_constants():
    g = Graph("g")
    x = g.input("x", i8(2))
    one, two = (g.constant(np.array([1, 2], np.int8)) for _ in range(2))
    add = QAdd(
        x_zero_point=0, y_zero_point=0, x_rescale=Rescale.of(0.5), y_rescale=Rescale.of(0.5),
        rescale=Rescale.of(2**-19), zero_point=0,
    )  # fmt: skip
    g.output(g.apply(add, x, one), g.apply(add, x, two))
    after = CommonSubexpressions().apply(g)
    assert names(after) == ["q.add"]
    assert after.outputs[0] == after.outputs[1]


def test_dead_code_keeps_inputs():
    g = Graph("g")
    g.input("unused", i8(1))
    x = g.input("x", i8(1))
    g.apply(QClamp(low=0), x)
    g.output(x)
    after = DeadCode().apply(g)
    assert names(after) == []
    assert [v.name for v in after.inputs] == ["unused", "x"]


def test_pipeline_of_unknown_name():
    with raises(UsageError):
        pipeline("fast")
