"""Graphs compute the same with the channels last, and transposes are left at the ends only."""

import numpy as np
import pytest

from rlx.ir import Graph, QuantParams, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule
from rlx.ir.verify import verify
from rlx.ops import nn, q, real
from rlx.ops.nn import Layout
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import Window
from rlx.ops.real import SpatialWindow
from rlx.passes.channels_last import ChannelsLast
from rlx.passes.dead_code import DeadCode

FIRST = Layout.CHANNELS_FIRST
RANDOM = np.random.default_rng(5)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


class Net:
    """A graph with channels-first layers."""

    def __init__(self, *shape):
        self.graph = Graph("g")
        self.x = self.graph.input("x", f32(*shape))

    def apply(self, op, *operands):
        values = [self.graph.constant(o) if isinstance(o, np.ndarray) else o for o in operands]
        return self.graph.apply(op, *values)

    def conv(self, x, outputs, kernel=3):
        rank = x.type.rank - 2
        window = SpatialWindow((kernel,) * rank, padding=((kernel // 2,) * 2,) * rank)
        w = numbers(outputs, x.type.shape[1], *(kernel,) * rank)
        return self.apply(nn.NnConv(window=window, layout=FIRST), x, w, numbers(outputs))

    def check(self, *outputs, inside=0):
        """Compare before and after; return the names of the ops that are left."""
        self.graph.output(*outputs)
        after = DeadCode().apply(ChannelsLast().apply(self.graph))
        verify(GraphModule.hir(after))
        assert [o.type for o in after.outputs] == [o.type for o in self.graph.outputs]
        x = numbers(*self.x.type.shape)
        for old, new in zip(evaluate(self.graph, {"x": x}), evaluate(after, {"x": x}),
                            strict=True):  # fmt: skip
            np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-5)
        left = [
            n
            for n in after.op_nodes
            if n.op.name == "real.transpose"
            and n.operands[0] not in after.inputs
            and n.result not in after.outputs
        ]
        assert len(left) == inside
        assert all(getattr(n.op, "layout", None) is not FIRST for n in after.op_nodes)
        return [n.op.name for n in after.op_nodes]


@pytest.mark.parametrize("shape", [(2, 3, 9), (1, 3, 6, 5), (1, 2, 4, 3, 5)])
def test_layers_of_one_to_three_axes(shape):
    net = Net(*shape)
    rank = len(shape) - 2
    y = net.apply(nn.NnRelu(), net.conv(net.x, 4))
    pooled = net.apply(nn.NnMaxPool(window=SpatialWindow((2,) * rank), layout=FIRST), y)
    names = net.check(net.conv(pooled, 2))
    assert names.count("real.transpose") == 2


def test_elementwise_ops_with_channels_and_skips():
    net = Net(1, 4, 5, 5)
    a = net.conv(net.x, 4)
    scaled = net.apply(real.RealMul(), a, numbers(4, 1, 1))
    shifted = net.apply(real.RealAdd(), numbers(1, 4, 1, 1), scaled)
    total = net.apply(real.RealAdd(), shifted, net.x)
    y = net.apply(nn.NnPrelu(), total, numbers(4, 1, 1))
    assert net.check(net.conv(y, 3)).count("real.transpose") == 2


def test_axes_are_named_anew():
    net = Net(2, 4, 6, 5)
    y = net.conv(net.x, 4)
    joined = net.apply(real.RealConcat(axis=1), y, net.apply(nn.NnSoftmax(axis=1), y))
    padded = net.apply(real.RealPad(before=(0, 1, 0, 2), after=(0, 0, 1, 0)), joined)
    part = net.apply(
        real.RealSlice(start=(0, 2, 0, 1), stop=(2, 9, 6, 7), step=(1, 1, 1, 2)), padded
    )
    normal = net.apply(nn.NnBatchNorm(axis=1), part, *(abs(numbers(7)) for _ in range(4)))
    grouped = net.apply(nn.NnGroupNorm(groups=7, axis=1), normal, numbers(7), numbers(7))
    means = net.apply(real.RealReduceMean(axes=(2, 3)), grouped)
    kept = net.apply(real.RealReduceMax(axes=(-1,), keep_dims=True), grouped)
    chosen = net.apply(real.RealArgmax(axis=1), grouped)
    net.check(means, kept, chosen)


def test_parts_of_a_split():
    net = Net(1, 6, 4, 4)
    parts = net.graph.append(nn.NnSplit(sizes=(2, 4), axis=1), net.conv(net.x, 6)).results
    net.check(net.conv(parts[0], 2), net.conv(parts[1], 3))


def test_columns_of_a_flattened_image_move_into_the_weights():
    net = Net(2, 3, 4, 5)
    y = net.apply(real.RealReshape(shape=(2, 60)), net.conv(net.x, 3))
    z = net.apply(nn.NnLinear(), net.apply(nn.NnRelu(), y), numbers(7, 60), numbers(7))
    names = net.check(z)
    assert names == [
        "real.transpose", "nn.conv", "real.reshape", "nn.relu", "nn.linear",
    ]  # fmt: skip


def test_columns_of_codes_move_too():
    net = Net(2, 3, 4, 5)
    y = net.apply(real.RealReshape(shape=(2, 60)), net.conv(net.x, 3))
    codes = RANDOM.integers(-127, 128, (7, 60)).astype(np.int8)
    quant = QuantParams(tuple(0.01 * (i + 1) for i in range(60)), (0,) * 60, 1)
    w = net.apply(real.RealDequantize(quant=quant), net.graph.constant(codes, quant=quant))
    assert "real.gather" not in net.check(net.apply(nn.NnLinear(), y, w))


def test_a_flattened_image_that_somebody_reads_keeps_its_order():
    net = Net(2, 3, 4, 5)
    y = net.apply(real.RealReshape(shape=(2, 60)), net.conv(net.x, 3))
    net.check(y, net.apply(nn.NnLinear(), y, numbers(7, 60)), inside=1)


def test_transposes_that_meet_cancel():
    net = Net(1, 5, 5, 3)
    x = net.apply(real.RealTranspose(axes=(0, 3, 1, 2)), net.x)
    y = net.apply(real.RealTranspose(axes=(0, 2, 3, 1)), net.conv(x, 4))
    assert net.check(y) == ["nn.conv"]


def test_what_moves_no_numbers_is_a_reshape():
    net = Net(1, 10)
    x = net.apply(real.RealReshape(shape=(1, 1, 2, 5)), net.x)
    y = net.conv(x, 4)
    means = net.apply(real.RealReduceMean(axes=(2, 3), keep_dims=True), y)
    flat = net.apply(real.RealReshape(shape=(1, 4)), means)
    names = net.check(net.apply(nn.NnLinear(), flat, numbers(2, 4)))
    assert "real.transpose" not in names


def test_codes_move_to_the_input():
    net = Net(1, 3, 4, 4)
    quant = QuantParams((0.1, 0.2, 0.3), (0, 1, 2), 1)
    codes = net.apply(real.RealQuantize(quant=quant), net.x)
    y = net.conv(net.apply(real.RealDequantize(quant=quant), codes), 2)
    names = net.check(y)
    assert names == [
        "real.transpose", "real.quantize", "real.dequantize", "nn.conv", "real.transpose",
    ]  # fmt: skip


def test_matrix_products_get_the_order_that_they_need():
    net = Net(1, 4, 3, 5)
    y = net.conv(net.x, 4)
    net.check(net.apply(real.RealMatmul(), y, numbers(5, 2)), inside=1)


def turned(net, random, x, y):
    axes = tuple(int(a) for a in random.permutation([1, 2, 3]))
    back = tuple(int(a) for a in np.argsort((0, *axes)))
    moved = net.apply(real.RealTranspose(axes=(0, *axes)), x)
    soft = net.apply(nn.NnSoftmax(axis=int(random.integers(1, 4))), moved)
    return net.apply(real.RealTranspose(axes=back), soft)


def gated(net, random, x, y):
    mean = net.apply(real.RealReduceMean(axes=(2, 3), keep_dims=True), x)
    return net.apply(real.RealMul(), y, net.apply(nn.NnHardSigmoid(), mean))


def pooled(net, random, x, y):
    window = SpatialWindow((3, 3), padding=((1, 1), (1, 1)))
    return net.apply(nn.NnAveragePool(window=window, layout=FIRST), x)


STEPS = (
    lambda net, random, x, y: net.conv(x, 4, 3),
    lambda net, random, x, y: net.conv(x, 4, 1),
    lambda net, random, x, y: net.apply(nn.NnHardSwish(), x),
    lambda net, random, x, y: net.apply(real.RealAdd(), x, y),
    lambda net, random, x, y: net.apply(real.RealMul(), x, numbers(4, 1, 1)),
    turned,
    gated,
    pooled,
)


def random_net(seed):
    """Return a net of layers and elementwise ops drawn at random, and its end."""
    random = np.random.default_rng(seed)
    net = Net(1, 4, 6, 6)
    values = [net.x]
    for _ in range(10):
        x, y = (values[random.integers(len(values))] for _ in range(2))
        values.append(STEPS[random.integers(len(STEPS))](net, random, x, y))
    return net, values[-1]


@pytest.mark.parametrize("seed", range(40))
def test_random_networks_compute_the_same(seed):
    net, last = random_net(seed)
    net.graph.output(last)
    after = ChannelsLast().apply(net.graph)
    verify(GraphModule.hir(after))
    x = numbers(1, 4, 6, 6)
    (old,), (new,) = evaluate(net.graph, {"x": x}), evaluate(after, {"x": x})
    np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-4 * max(1.0, float(abs(old).max())))


@pytest.mark.parametrize("shape", [(1, 9, 3), (2, 9, 3)])
def test_axes_of_one_that_come_and_go_keep_the_order(shape):
    """As PyTorch exports AdaptiveAvgPool1d: an axis for the height, a mean, and off again."""
    import rlx

    def network(x):
        wide = x.transpose(0, 2, 1).leaky_relu().expand_dims(2)
        return wide.mean(3, keep_dims=True).reshape(shape[0], 3, 1).reshape(shape[0], 3) * 2.0

    graph = rlx.trace("net", network, rlx.f32(*shape)).graph
    found = ChannelsLast().apply(graph)
    assert "real.transpose" not in [n.op.name for n in found.op_nodes]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (name,) = (v.name for v in graph.inputs)
    np.testing.assert_allclose(
        evaluate(found, {name: x})[0], evaluate(graph, {name: x})[0], rtol=1e-6
    )


def order_of_codes(graph):
    """Return the names of a graph's ops after the pass, which must not change one integer."""
    after = DeadCode().apply(ChannelsLast().apply(graph))
    verify(GraphModule.mir(after))
    (x,) = graph.inputs
    assert [o.type for o in after.outputs] == [o.type for o in graph.outputs]
    codes = RANDOM.integers(-128, 128, x.type.static_shape).astype(np.int8)
    for old, new in zip(evaluate(graph, {"x": codes}), evaluate(after, {"x": codes}), strict=True):
        np.testing.assert_array_equal(new, old)
    return [n.op.name for n in after.op_nodes]


def test_transposes_of_integer_ops_move_to_the_input():
    """As ai-edge-quantizer writes them: turned for each layer and back for the ops between."""
    graph = Graph("g")

    def apply(op, *operands):
        values = [graph.constant(o) if isinstance(o, np.ndarray) else o for o in operands]
        return graph.apply(op, *values)

    def turned(x):
        return apply(q.QTranspose(axes=(0, 2, 3, 1)), x)

    rescale = Rescale.of(0.01)
    signs = RANDOM.integers(-128, 128, (4, 1, 1)).astype(np.int8)
    x = graph.input("x", i8(1, 4, 6, 5))
    padded = apply(q.QPad(before=(0, 0, 1, 0), after=(0, 0, 1, 2), value=3), x)
    pool = apply(q.QMaxPool2d(window=Window((2, 2), padding=((0, 0), (0, 0)))), turned(padded))
    back = apply(q.QTranspose(axes=(0, 3, 1, 2)), pool)
    scaled = apply(
        q.QMul(x_zero_point=3, y_zero_point=0, rescale=rescale, zero_point=1), back, signs
    )
    part = apply(q.QSlice(start=(0, 1, 0, 2), stop=(1, 4, 7, 5), step=(1, 1, 2, 1)), scaled)
    joined = apply(q.QConcat(axis=1), part, apply(q.QClamp(low=-9), part))
    best = apply(q.QArgmax(axis=1), joined)
    again = apply(q.QMaxPool2d(window=Window((2, 2))), turned(joined))
    last = apply(q.QTranspose(axes=(0, 3, 1, 2)), again)
    mean = q.QMean(axes=(2, 3), x_zero_point=1, rescale=Rescale.of(0.2), zero_point=0)
    flat = apply(q.QReshape(shape=(1, 36)), last)
    bias, weights = np.zeros(2, np.int32), RANDOM.integers(-128, 128, (2, 36)).astype(np.int8)
    dense = apply(
        q.QDense(x_zero_point=1, rescale=rescale, zero_point=0), flat, weights, bias
    )  # fmt: skip
    graph.output(apply(mean, last), dense, best)
    names = order_of_codes(graph)
    assert names[0] == "q.transpose"
    assert names.count("q.transpose") == 1


@pytest.mark.parametrize("shape", [(1, 3, 1, 9), (1, 3, 9, 1), (1, 1, 3, 9)])
def test_axes_of_one_in_front_of_a_layer_leave_the_transpose_to_the_input(shape):
    graph = Graph("g")
    x = graph.apply(q.QReshape(shape=shape), graph.input("x", i8(1, 3, 9)))
    axes = (0, 3, 1, 2) if shape == (1, 1, 3, 9) else (0, 2, 3, 1)
    graph.output(
        graph.apply(q.QMaxPool2d(window=Window((1, 1))), graph.apply(q.QTranspose(axes=axes), x))
    )
    assert order_of_codes(graph) == ["q.transpose", "q.reshape", "q.max_pool2d"]
    (node, *_) = DeadCode().apply(ChannelsLast().apply(graph)).op_nodes
    assert node.op.axes == (0, 2, 1)


def test_constants_and_pads_in_front_of_a_layer_are_turned_with_the_input():
    net = Net(1, 3, 6, 5)
    scaled = net.apply(
        real.RealMul(), net.apply(real.RealSub(), net.x, numbers(3, 1, 1)), numbers(1)
    )
    padded = net.apply(real.RealPad(before=(0, 0, 1, 2), after=(0, 0, 1, 0)), scaled)
    names = net.check(net.conv(padded, 2))
    assert names == [
        "real.transpose",
        "real.sub",
        "real.mul",
        "real.pad",
        "nn.conv",
        "real.transpose",
    ]


def test_what_others_read_in_its_own_order_is_computed_once():
    net = Net(1, 3, 6, 5)
    padded = net.apply(real.RealPad(before=(0, 0, 1, 2), after=(0, 0, 1, 0)), net.x)
    assert net.check(net.conv(padded, 2), padded, inside=1).count("real.pad") == 1
