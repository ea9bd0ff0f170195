"""Standard operators on quantized values: what ONNX Runtime computes, with the meaning kept."""

import numpy as np
import pytest

from rlx.ir import DType
from rlx.ir.evaluate import evaluate
from rlx.passes.quantize import convert
from support.files.onnx_builder import by_runtime, load, model, node, run

RANDOM = np.random.default_rng(5)
NUMBERS = (RANDOM.standard_normal((1, 4, 6, 8)) * 4).astype(np.float32)


def picking(name, dtype):
    """Return the nodes between quantize and dequantize, and constants."""
    few, far = np.array(dtype(70)), np.array(dtype(110))
    other = RANDOM.integers(0, 120, (1, 4, 6, 8)).astype(dtype)
    nodes, constants = {
        "Clip": ([node("Clip", "q a b", "r")], {"a": few, "b": far}),
        "Clip from": ([node("Clip", "q a", "r")], {"a": few}),
        "Clip to": ([node("Clip", "q _ b", "r")], {"b": far}),
        "Max": ([node("Max", "q k", "r")], {"k": other}),
        "Min": ([node("Min", "q k", "r")], {"k": few}),
        "MaxPool": ([node("MaxPool", "q", "r", kernel_shape=[2, 3], pads=[1, 1, 0, 1])], {}),
        "Pad": ([node("Pad", "q p a", "r")], {"p": np.int64([0, 0, 1, 2, 0, 0, 0, 1]), "a": few}),
        "Pad with 0": ([node("Pad", "q p", "r")], {"p": np.int64([0, 0, 1, 2, 0, 0, 0, 1])}),
        "ReduceMax": ([node("ReduceMax", "q a", "r")], {"a": np.int64([3])}),
        "ReduceMin": ([node("ReduceMin", "q a", "r", keepdims=0)], {"a": np.int64([1, 2])}),
        "Relu": ([node("Relu", "q", "r")], {}),
        "Resize": ([node("Resize", "q _ f", "r", mode="nearest")], {"f": np.float32([1, 1, 2, 2])}),
        "Where": ([node("Greater", "x t", "m"), node("Where", "m q a", "r")],
                  {"t": np.float32(0), "a": few}),
        "Transpose": ([node("Transpose", "q", "r", perm=[0, 2, 3, 1])], {}),
    }[name]  # fmt: skip
    return nodes, constants


CASES = ("Clip", "Clip from", "Clip to", "Max", "Min", "MaxPool", "Pad", "Pad with 0", "ReduceMax",
         "ReduceMin", "Relu", "Resize", "Where", "Transpose")  # fmt: skip


def between(name, dtype, scale=0.1, point=60):
    nodes, constants = picking(name, dtype)
    ends = [node("QuantizeLinear", "x s z", "q"), *nodes, node("DequantizeLinear", "r s z", "y")]
    constants |= {"s": np.float32(scale), "z": dtype(point)}
    return model(ends, {"x": list(NUMBERS.shape)}, {"y": None}, constants)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_onnx_runtime(name, dtype):
    if (name, dtype) == ("Relu", np.uint8):
        pytest.skip("Relu is defined on signed integers")
    for point in (60, 0):
        data = between(name, dtype, point=point)
        assert np.array_equal(run(data, NUMBERS)[0], by_runtime(data, NUMBERS)[0])


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("Where", "Max")])
def test_they_become_integer_ops(name):
    data = between(name, np.int8)
    graph = load(data)
    made = convert(graph, {}).graph
    assert {n.op.dialect for n in made.op_nodes} <= {"q", "real"}
    kept = {n.op.name for n in made.op_nodes if n.op.dialect == "real"}
    assert kept == {"real.quantize", "real.dequantize"}
    assert np.array_equal(evaluate(made, {"x": NUMBERS})[0], evaluate(graph, {"x": NUMBERS})[0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_other_operators_see_integers(dtype):
    nodes = [node("QuantizeLinear", "x s z", "q"), node("Cast", "q", "i", to=6),
             node("MatMulInteger", "q w", "m"), node("Greater", "q k", "g"),
             node("Cast", "g", "h", to=6), node("Add", "i h", "j")]  # fmt: skip
    constants = {"s": np.float32(0.1), "z": dtype(9), "w": RANDOM.integers(0, 9, (8, 2)).astype(
        dtype), "k": dtype(40)}  # fmt: skip
    data = model(nodes, {"x": list(NUMBERS.shape)}, {"j": (None, np.int32), "m": (None, np.int32)},
                 constants)  # fmt: skip
    for found, expected in zip(run(data, NUMBERS), by_runtime(data, NUMBERS), strict=True):
        assert np.array_equal(found, expected)


def quantized_input(*nodes, **constants):
    x = RANDOM.integers(-128, 128, (2, 3, 4)).astype(np.int8)
    constants = {"s": np.float32(0.5), "z": np.int8(3), **constants}
    return model(nodes, {"x": (list(x.shape), np.int8)}, {"y": None}, constants), x


def test_an_input_of_bytes_has_the_scale_that_its_readers_state():
    reads = node("DequantizeLinear", "t s z", "y")
    data, x = quantized_input(node("Transpose", "x", "t", perm=[2, 0, 1]), reads)
    graph = load(data)
    (given,) = graph.inputs
    assert (given.type.dtype, str(given.type.quant)) == (DType.I8, "q(0.5, 3)")
    made = convert(graph, {}).graph
    assert np.array_equal(evaluate(made, {"x": x})[0], by_runtime(data, x)[0])


def test_an_input_whose_readers_differ_is_of_plain_integers():
    first, second = node("DequantizeLinear", "x s z", "a"), node("DequantizeLinear", "x t z", "b")
    data, x = quantized_input(first, second, node("Add", "a b", "y"), t=np.float32(0.25))
    graph = load(data)
    assert graph.inputs[0].type.quant is None
    assert np.array_equal(run(data, x)[0], by_runtime(data, x)[0])
