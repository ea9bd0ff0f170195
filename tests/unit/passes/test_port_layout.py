"""Ports of images that are channels last on a target, whatever they are in the model."""

import numpy as np
import pytest

from rlx import targets
from rlx.driver import driver
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.ir import DType, Graph, QuantParams, TensorType, f32
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QRequantize, QReshape, QTranspose
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.boundaries import PortKind, with_ports

INNER, OUTER = QuantParams.per_tensor(0.5, 3), QuantParams.per_tensor(0.25, -7)
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def image_graph(dtype=DType.F32, shape=(1, 3, 4, 5), back=True):
    """Return a network on channels last, whose ends are channels first."""
    graph = Graph("net")
    last = tuple(range(2, len(shape)))
    if dtype is DType.F32:
        x = graph.apply(RealQuantize(quant=INNER), graph.input("x", f32(*shape)))
    else:
        x = graph.input("x", TensorType(shape, dtype, INNER))
    x = graph.apply(QTranspose(axes=(0, *last, 1)), x, quant=INNER)
    op = QRequantize(x_zero_point=3, rescale=Rescale.of(1.5), zero_point=-7)
    y = graph.apply(op, graph.apply(QClamp(low=-100), x))
    if back:
        y = graph.apply(
            QTranspose(axes=(0, len(shape) - 1, *(a - 1 for a in last))), y, quant=OUTER
        )
    if dtype is DType.F32:
        y = graph.apply(RealDequantize(quant=OUTER), y)
    graph.output(y, names=["y"])
    return graph


@pytest.mark.parametrize("kind", [PortKind.INT8, PortKind.UINT8])
@pytest.mark.parametrize("dtype", [DType.F32, DType.I8])
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 3, 7), (1, 4, 4, 4)])
def test_the_same_numbers_come_and_go_channels_last(dtype, kind, shape):
    graph = image_graph(dtype, shape)
    ported = with_ports(graph, kind, channels_last=True)
    assert not [n for n in ported.graph.op_nodes if isinstance(n.op, QTranspose)]
    last = (1, *shape[2:], shape[1])
    (x,), (y,) = ported.graph.inputs, ported.graph.outputs
    assert x.type.shape == y.type.shape == last
    assert y.type.quant.scale == OUTER.scale
    inputs = random_inputs(graph, 9)
    before = reference_outputs(graph, inputs).outputs[0]
    after = reference_outputs(ported.graph, ported.converted(inputs)).outputs[0]
    codes = after.astype(np.float32) - y.type.quant.zero_point[0]
    wanted = before / np.float32(0.25) if dtype is DType.F32 else before.astype(np.float32) + 7
    assert np.array_equal(np.moveaxis(codes, -1, 2), wanted)


def test_a_line_says_so():
    lines = [str(c) for c in with_ports(image_graph(), PortKind.INT8, channels_last=True).changes]
    assert lines == [
        "input 'x' is int8 (the conversion from float32 was removed): real = 0.5 * (q - 3); it is"
        " channels last: [1, 4, 5, 3], in the model [1, 3, 4, 5]",
        "output 'y' is int8 (the conversion to float32 was removed): real = 0.25 * (q + 7); it is"
        " channels last: [1, 4, 5, 3], in the model [1, 3, 4, 5]",
    ]
    ported = with_ports(image_graph(DType.I8, back=False), PortKind.INT8, channels_last=True)
    assert [str(c) for c in ported.changes] == [
        "input 'x' is channels last: [1, 4, 5, 3], in the model [1, 3, 4, 5]"
    ]


def test_targets_with_memory_keep_the_layout_of_the_model():
    assert with_ports(image_graph(DType.I8), PortKind.INT8).graph.inputs[0].type.shape == (
        1, 3, 4, 5,
    )  # fmt: skip


def test_what_is_read_in_both_orders_stays():
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 3, 4, 5), DType.I8, INNER))
    last = graph.apply(QTranspose(axes=LAST), x)
    graph.output(graph.apply(QReshape(shape=(60,)), x), last, names=["a", "b"])
    assert with_ports(graph, PortKind.INT8, channels_last=True).graph is graph


def test_a_transpose_that_moves_nothing_stays():
    graph = image_graph(DType.I8, (1, 1, 4, 5))
    assert with_ports(graph, PortKind.INT8, channels_last=True).graph is graph


@pytest.mark.parametrize("dtype", [DType.F32, DType.I8])
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 4, 4, 4)])
def test_vectors_are_taken_in_the_layout_of_the_model(dtype, shape):
    graph, fpga = image_graph(dtype, shape), targets.load("fpga")
    (given,) = random_inputs(graph, 5, seed=3)
    wanted = [evaluate(graph, {"x": one})[0] for one in given]
    scale = np.float32(0.25) if dtype is DType.F32 else 1
    for name in ("x", "y"):
        vectors = {"x": given} if name == "x" else {"x": given, "y": np.stack(wanted)}
        golden = driver.golden_for(graph, fpga, vectors=vectors)
        codes = np.moveaxis(golden.outputs[0], -1, 2).astype(np.float32)
        codes = codes + 7 if dtype is DType.F32 else codes
        assert np.array_equal(codes, np.stack(wanted) / scale)


def test_codes_are_taken_in_both_layouts():
    graph, fpga = image_graph(), targets.load("fpga")
    codes = np.random.default_rng(0).integers(-128, 128, (5, 1, 3, 4, 5)).astype(np.int8)
    last = np.moveaxis(codes, 2, -1)
    first, second = (
        driver.golden_for(graph, fpga, vectors={"x": v}).inputs[0] for v in (codes, last)
    )
    assert np.array_equal(first, last)
    assert np.array_equal(second, last)
