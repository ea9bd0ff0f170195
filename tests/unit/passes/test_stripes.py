"""Images in stripes of rows: the same codes, in less memory."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Graph, GraphModule, Stage, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.layer_names import with_layer_names
from rlx.ir.verify import verify
from rlx.memory import peak_bytes, plan_memory
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QMaxPool2d,
    QSlice,
    QTable,
    Window,
)
from rlx.passes.stripes import RowChain, Rows, chains, with_stripes
from support.messages import raises

NEGATE = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))


def conv(graph, x, outputs, window, random, groups=1):
    """Append a convolution with drawn weights."""
    channels = x.type.static_shape[3] // groups
    weights = random.integers(-128, 128, (outputs, *window.kernel, channels)).astype(np.int8)
    bias = random.integers(-1000, 1000, outputs).astype(np.int32)
    op = QConv2d(window=window, groups=groups, x_zero_point=-3, zero_point=5,
                 rescale=Rescale.of(*[0.004] * outputs))  # fmt: skip
    return graph.apply(op, x, graph.constant(weights), graph.constant(bias))


@st.composite
def images(draw):
    """A graph with a chain of one to four layers on an image, and something behind it."""
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    graph = Graph("g")
    height, width = draw(st.integers(3, 12)), draw(st.integers(1, 5))
    x = graph.input("x", i8(1, height, width, 4))
    for _ in range(draw(st.integers(1, 4))):
        size = x.type.static_shape[1:3]
        kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
        stride = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
        window = Window.same(size, kernel, stride)
        kind = draw(st.sampled_from(("conv", "depthwise", "max", "average", "table")))
        if kind in ("conv", "depthwise"):
            x = conv(graph, x, 4, window, random, 4 if kind == "depthwise" else 1)
        elif kind == "table":
            x = graph.apply(NEGATE, x)
        else:
            x = graph.apply((QMaxPool2d if kind == "max" else QAveragePool2d)(window=window), x)
    if draw(st.booleans()):
        x = graph.apply(QConcat(axis=3), x, x)
    graph.output(x)
    return graph


def test_parts_are_called_after_their_layers():
    graph = Graph("g")
    x = graph.input("x", i8(1, 6, 4, 4))
    random = np.random.default_rng(1)
    for name in ("first", "second"):
        window = Window.same((6, 4), (3, 3), (1, 1))
        y = conv(graph, x, 4, window, random)
        x = graph.apply(QClamp(low=-90, high=90), y, name=name)
    graph.output(x)
    named = with_layer_names(graph)
    (chain,) = chains(named)
    layers = {node.op.name: [] for node in chain.nodes}
    for node in with_stripes(named, chain, 3).op_nodes:
        layers.setdefault(node.op.name, []).append(node.origin.layer)
    assert layers["q.clamp"] == ["first_part1", "second_part1", "first_part2", "second_part2"]
    assert layers["q.conv2d"] == [
        "conv2d_part1",
        "conv2d_2_part1",
        "conv2d_part2",
        "conv2d_2_part2",
    ]
    assert layers["q.slice"] == ["conv2d_part1", "conv2d_part2"]
    assert layers["q.concat"] == ["second"]


@settings(max_examples=60)
@given(graph=images(), rows=st.integers(1, 6), begin=st.integers(0, 3), codes=st.integers(0, 99))
def test_the_codes_are_the_same(graph, rows, begin, codes):
    (chain,) = chains(graph)
    chain = RowChain(chain.nodes[min(begin, len(chain.nodes) - 1) :])
    try:
        new = with_stripes(graph, chain, rows)
    except ValueError:
        return  # stripes of padding alone
    verify(GraphModule(new, Stage.MIR))
    x = np.random.default_rng(codes).integers(-128, 128, graph.inputs[0].type.static_shape)
    frame = {"x": x.astype(np.int8)}
    for before, after in zip(evaluate(graph, frame), evaluate(new, frame), strict=True):
        np.testing.assert_array_equal(before, after)
    plan = plan_memory(new)
    verify(GraphModule(new, Stage.LIR, plan))


def tower():
    """An image that becomes large in the middle."""
    random = np.random.default_rng(0)
    graph = Graph("tower")
    x = graph.input("x", i8(1, 32, 8, 4))
    a = conv(graph, x, 16, Window.same((32, 8), (3, 3)), random)
    b = conv(graph, a, 16, Window.same((32, 8), (3, 3)), random, groups=16)
    c = conv(graph, b, 32, Window((1, 1)), random)
    d = graph.apply(QMaxPool2d(window=Window((4, 4), (4, 4))), c)
    graph.output(graph.apply(QClamp(low=0), d), a)
    return graph


def test_chains_end_where_others_read():
    graph = tower()
    nodes = list(graph.op_nodes)
    first, second = chains(graph)
    assert (first.nodes, second.nodes) == ((nodes[0],), tuple(nodes[1:]))
    assert second.source == nodes[0].result
    assert second.height == 8


def test_stripes_overlap_by_what_windows_need():
    _, chain = chains(tower())
    top, middle, *_, bottom = chain.stripes(2)
    assert [(r.first, r.last, r.above, r.below) for r in top] == [
        (0, 9, 1, 0), (0, 8, 0, 0), (0, 8, 0, 0), (0, 2, 0, 0),
    ]  # fmt: skip
    assert middle[0] == Rows(7, 17, above=0, below=0)
    assert bottom[0] == Rows(23, 32, above=0, below=1)


def test_less_is_alive_at_one_time():
    graph = tower()
    _, chain = chains(graph)
    new = with_stripes(graph, chain, 2)
    before, after = (plan_memory(g).arena_bytes for g in (graph, new))
    assert before == 32 * 8 * (16 + 32)
    assert after < before * 0.4
    plan = plan_memory(new)
    assert peak_bytes(new, plan.schedule) <= plan.arena_bytes
    # Rows are read where they are and computed where the whole has them.
    whole = next(n for n in new.op_nodes if isinstance(n.op, QConcat))
    rows = [n.result for n in new.op_nodes if isinstance(n.op, QSlice)]
    assert all(plan.of(v).alias_of is not None for v in (*whole.operands, *rows))


def test_a_stripe_of_padding_alone_is_refused():
    graph = Graph("g")
    x = graph.input("x", i8(1, 2, 2, 1))
    window = Window((1, 1), padding=((2, 0), (0, 0)))
    graph.output(conv(graph, x, 1, window, np.random.default_rng(0)))
    (chain,) = chains(graph)
    with raises(ValueError):
        with_stripes(graph, chain, 1)
