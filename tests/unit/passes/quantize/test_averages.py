"""Averages in graphs that have scales of their own: rounded once, from the exact sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir.evaluate import evaluate
from rlx.passes.quantize import convert
from support.files.onnx_builder import by_runtime, load, model, node

CHANNELS = 3


def image(seed, size):
    return np.random.default_rng(seed).normal(0, 3, (1, CHANNELS, *size)).astype(np.float32)


def quantizer(name, result, scale, point):
    """Return the two nodes of a scale of the file, and their constants."""
    s, z = f"{result}_s", f"{result}_z"
    nodes = [
        node("QuantizeLinear", f"{name} {s} {z}", f"{result}_q"),
        node("DequantizeLinear", f"{result}_q {s} {z}", result),
    ]
    return nodes, {s: np.float32(scale), z: point}


def pooled(size, scales, points, **attributes):
    """Return a model of an average pool between two scales."""
    first, one = quantizer("x", "a", scales[0], points[0])
    last, other = quantizer("p", "y", scales[1], points[1])
    pool = node("AveragePool", "a", "p", **attributes)
    shapes = {"x": [1, CHANNELS, *size]}, {"y": None}
    return model([*first, pool, *last], *shapes, one | other)


def steps(array, scale):
    """Return reals as steps of a scale, and whether each is far from a half where it was taken."""
    return np.asarray(array, np.float64) / np.float64(np.float32(scale))


@st.composite
def pools(draw):
    size = draw(st.tuples(st.integers(4, 9), st.integers(4, 9)))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    pads = [draw(st.integers(0, k - 1)) for k in (*kernel, *kernel)]
    return size, {
        "kernel_shape": kernel,
        "strides": draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "pads": pads,
        "count_include_pad": draw(st.integers(0, 1)),
    }


@given(
    pools(),
    st.floats(0.01, 0.1),
    st.floats(0.2, 4),
    st.sampled_from([(np.int8(3), np.int8(-20)), (np.uint8(130), np.uint8(9))]),
    st.integers(0, 99),
)
def test_a_pool_into_another_scale_is_rounded_once(form, scale, ratio, points, seed):
    size, attributes = form
    scales = scale, scale * ratio
    data = pooled(size, scales, points, **attributes)
    graph, x = load(data), image(seed, size)
    (wanted,) = by_runtime(data, x)
    (found,) = evaluate(convert(graph, {}).graph, {"x": x})
    # What the pool averages, in steps of the result: at a half, float32 decides by chance.
    exact = steps(by_runtime(without_last(data), x)[0], scales[1])
    apart = np.abs(exact - np.floor(exact) - 0.5) > 1e-3
    assert np.array_equal(np.rint(steps(found, scales[1]))[apart],
                          np.rint(steps(wanted, scales[1]))[apart])  # fmt: skip


def without_last(data):
    """Return the model with the pool's own result as the output."""
    import onnx

    made = onnx.load_from_string(data)
    made.graph.output[0].name = "p"
    del made.graph.node[-2:]
    return made.SerializeToString()


@pytest.mark.parametrize("between", [[], ["Relu"]])
@pytest.mark.parametrize("seed", range(6))
def test_a_layer_in_front_of_an_average_keeps_a_range_of_its_own(between, seed):
    """Nothing says its scale; that of the mean is too fine for it."""
    random = np.random.default_rng(seed)
    size, outputs = (8, 8), 6
    weights = random.integers(-127, 128, (outputs, CHANNELS, 3, 3)).astype(np.int8)
    constants = {
        "w": weights,
        "ws": random.uniform(0.01, 0.03, outputs).astype(np.float32),
        "wz": np.zeros(outputs, np.int8),
    }
    first, one = quantizer("x", "a", 0.03, np.int8(0))
    last, other = quantizer("m", "y", 0.1, np.int8(-9))
    chain = ["c", *(f"r{i}" for i in range(len(between)))]
    nodes = [
        *first,
        node("DequantizeLinear", "w ws wz", "wd", axis=0),
        node("Conv", "a wd", "c", pads=[1, 1, 1, 1]),
        *(node(op, chain[i], chain[i + 1]) for i, op in enumerate(between)),
        node("AveragePool", chain[-1], "m", kernel_shape=[4, 4], strides=[4, 4]),
        *last,
    ]
    shapes = {"x": [1, CHANNELS, *size]}, {"y": None}
    data = model(nodes, *shapes, constants | one | other)
    x = image(seed, size)
    converted = convert(load(data), {})
    (layer,) = [n for n in converted.graph.op_nodes if n.op.name == "q.conv2d" and n.op.groups == 1]
    inner = evaluate(prefix(converted.graph, layer.result), {"x": x})[0]
    assert inner.min() > -128
    assert inner.max() < 127
    assert ["Conv" in place for place in converted.bounded] == [True]
    # Sixteen numbers, each off by half a step at most, and the mean by half a step of its own.
    step = layer.types[0].quant.scale[0]
    (wanted,), (found,) = by_runtime(data, x), evaluate(converted.graph, {"x": x})
    assert np.abs(wanted - found).max() <= step / 2 + 0.1


def prefix(graph, value):
    """Return the part of a graph that computes a value."""
    from rlx.ir import Graph
    from rlx.ir.graph import copy_node

    new, mapped = Graph("part"), {}
    for each in graph.nodes[: value.node.index + 1]:
        if not each.operands and each.op.name == "core.input":
            mapped[each.result] = new.input(each.name, each.types[0])
            continue
        made = copy_node(new, each, tuple(mapped[o] for o in each.operands))
        mapped.update(zip(each.results, made.results, strict=True))
    new.output(mapped[value])
    return new


def quant_node(name, result, scale, bits, signed):
    inputs = f"{name} {scale} zero {bits}"
    return node("Quant", inputs, result, domain="qonnx.custom_op.general", signed=signed,
                narrow=0, rounding_mode="ROUND")  # fmt: skip


@pytest.mark.parametrize("kernel", [(2, 2), (3, 2), (4, 4), (6, 6)])
@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("bits", [4, 6, 8])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_dropped_bits_are_those_of_the_sum(kernel, signed, bits, summed, whole):
    """QONNX's Trunc behind a pool, of the mean or of the sum as Brevitas exports it."""
    count = 36 if whole else kernel[0] * kernel[1]
    constants = {
        "scale": np.float32(0.125), "zero": np.float32(0), "bits": np.float32(bits),
        "inner": np.float32(bits + np.ceil(np.log2(count))), "count": np.float32(count),
    }  # fmt: skip
    pool = (
        node("GlobalAveragePool", "q", "p")
        if whole
        else node("AveragePool", "q", "p", kernel_shape=kernel, strides=kernel)
    )
    nodes = [
        quant_node("x", "q", "scale", "bits", signed),
        pool,
        *([node("Mul", "p count", "s")] if summed else []),
        node("Trunc", f"{'s' if summed else 'p'} scale zero inner bits", "y",
             domain="qonnx.custom_op.general", rounding_mode="FLOOR"),
    ]  # fmt: skip
    shapes = {"x": [1, CHANNELS, 6, 6]}, {"y": None}
    data = model(nodes, *shapes, constants, domains=["qonnx.custom_op.general"])
    graph = load(data)
    integer = convert(graph, {}).graph
    for seed in range(4):
        x = image(seed, (6, 6)) * bits / 4
        wanted, found = (evaluate(g, {"x": x})[0] for g in (graph, integer))
        if summed or count & (count - 1) == 0:
            assert np.array_equal(wanted, found)
        else:
            # Of 36 or 6 elements a mean at a half is not a float32 number.
            assert np.abs(wanted - found).max() <= 0.125


@given(
    st.sampled_from([(1, 2), (2, 2), (4, 4), (2, 1)]),
    st.integers(-6, -2),
    st.integers(-3, 3),
    st.sampled_from([(np.int8(3), np.int8(-20)), (np.uint8(128), np.uint8(9))]),
    st.integers(0, 99),
)
def test_halves_of_a_pool_go_to_even_integers(kernel, exponent, ratio, points, seed):
    """Scales that are powers of two: every number is exact in float32, halves are frequent."""
    scales = 2.0**exponent, 2.0 ** (exponent + ratio)
    data = pooled((8, 8), scales, points, kernel_shape=kernel, strides=kernel)
    x = image(seed, (8, 8))
    (wanted,) = by_runtime(data, x)
    (found,) = evaluate(convert(load(data), {}).graph, {"x": x})
    assert np.array_equal(wanted, found)
