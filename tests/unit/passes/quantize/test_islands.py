"""Float operators between int8 ones, as quantizing tools leave them in ``.tflite`` files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rlx
from rlx.driver.driver import fit_to_target
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.passes.quantize.convert import convert
from rlx.passes.quantize.islands import TabulateIslands
from rlx.support.errors import QuantizationError, UnsupportedOpError
from rlx.targets import load as load_target
from support.files.tflite_builder import TfliteBuilder, tflm
from support.messages import raises

SIZE = 32
GIVEN = {"scale": 0.05, "zero_point": 3}
FIRST = {"scale": 0.0625, "zero_point": -5}
SECOND = {"scale": 0.125, "zero_point": 7}
RESULT = {"scale": 0.125, "zero_point": -20}

Chain = list[tuple[str, dict[str, Any]]]
LEAKY: Chain = [("LEAKY_RELU", {"alpha": 0.1})]
CHAINS: dict[str, Chain] = {
    "leaky_relu": LEAKY,
    "tanh": [("TANH", {})],
    "hard_swish": [("HARD_SWISH", {})],
    "gelu": [("GELU", {})],
    "elu": [("ELU", {})],
    "relu": [("RELU", {})],
    "two in a row": [("LEAKY_RELU", {"alpha": 0.3}), ("TANH", {})],
    "no operator": [],
}


class Net(TfliteBuilder):
    """A builder of networks of dense int8 layers, with float operators between them."""

    def __init__(self) -> None:
        super().__init__()
        self.random = np.random.default_rng(1)

    def dense(self, x: int, quant: dict[str, Any], size: int = SIZE, given: int = SIZE) -> int:
        """Add a dense layer on int8."""
        stored = self.random.integers(-127, 128, (size, given)).astype(np.int8)
        weights = self.constant(stored, scale=self.random.uniform(0.0005, 0.005, size))
        bias = self.constant(self.random.integers(-500, 500, size).astype(np.int32))
        y = self.tensor([1, size], **quant)
        self.operator("FULLY_CONNECTED", [x, weights, bias], [y])
        return y

    def floating(self, x: int, chain: Chain) -> int:
        """Add a dequantize operator and float operators behind it."""
        for code, options in [("DEQUANTIZE", {}), *chain]:
            y = self.tensor(self.graph.tensors[x].shape, "float32")
            self.operator(code, [x], [y], **options)
            x = y
        return x

    def quantized(self, x: int, quant: dict[str, Any], dtype: str = "int8") -> int:
        """Add a quantize operator."""
        y = self.tensor(self.graph.tensors[x].shape, dtype, **quant)
        self.operator("QUANTIZE", [x], [y])
        return y

    def input(self) -> int:
        return self.tensor([1, SIZE], name="x", **GIVEN)


def unary(chain: Chain, result: dict[str, Any] = RESULT, repeats: int = 1) -> bytes:
    """Return a network with unary functions between dense layers."""
    net = Net()
    x = net.input()
    y = net.dense(x, FIRST)
    for _ in range(repeats):
        y = net.quantized(net.floating(y, chain), result)
    return net.build([x], [net.dense(y, SECOND)])


def binary(code: str, chain: Chain, result: dict[str, Any] = RESULT, **options: Any) -> bytes:
    """Return a network with an operator on the results of two dense layers."""
    net = Net()
    x = net.input()
    parts = [net.floating(net.dense(x, quant), chain) for quant in (FIRST, SECOND)]
    size = 2 * SIZE if code == "CONCATENATION" else SIZE
    y = net.tensor([1, size], "float32")
    net.operator(code, parts, [y], **options)
    y = net.quantized(y, result)
    return net.build([x], [net.dense(y, SECOND, given=size)])


def graph_of(data: bytes) -> Any:
    return tflite.load(data).graph


def assert_as_reference(data: bytes, graph: Any, count: int = 50) -> None:
    """Compare a graph with TensorFlow Lite Micro's run of a file."""
    random, interpreter = np.random.default_rng(2), tflm(data)
    for _ in range(count):
        x = random.integers(-128, 128, (1, SIZE)).astype(np.int8)
        interpreter.set_input(x, 0)
        interpreter.invoke()
        (y,) = evaluate(graph, {graph.inputs[0].name: x})
        np.testing.assert_array_equal(y, interpreter.get_output(0))


def ops(graph: Any) -> list[str]:
    return [node.op.name for node in graph.op_nodes]


# TensorFlow Lite Micro has no GELU, and RELU on float only.
@pytest.mark.parametrize("name", [name for name in CHAINS if name != "gelu"])
@pytest.mark.parametrize("scale", [0.125, 0.0437])
def test_a_function_is_a_table_with_the_bits_of_the_reference(name, scale):
    data = unary(CHAINS[name], {"scale": scale, "zero_point": -20})
    graph = rlx.convert(GraphModule.hir(graph_of(data)), min_sqnr=0).graph
    verify(GraphModule(graph, Stage.MIR))
    assert ops(graph) == ["q.dense", "q.table", "q.dense"]
    assert_as_reference(data, graph)


def test_several_in_a_row_are_tables_each():
    data = unary(LEAKY, repeats=3)
    graph = TabulateIslands().apply(graph_of(data))
    assert ops(graph).count("q.table") == 3
    assert_as_reference(data, graph)


@pytest.mark.parametrize("name", CHAINS)
def test_a_target_takes_functions_as_they_are(name):
    graph = graph_of(unary(CHAINS[name]))
    lowered = fit_to_target(GraphModule.hir(graph), load_target("cortexm"))
    assert lowered.dispatch.ready
    fitted = lowered.module.graph
    for seed in range(20):
        x = np.random.default_rng(seed).integers(-128, 128, (1, SIZE)).astype(np.int8)
        (expected,), (y,) = evaluate(graph, {"x": x}), evaluate(fitted, {"x": x})
        np.testing.assert_array_equal(y, expected)


def test_a_function_within_its_own_scale_is_a_clamp_or_nothing():
    relu = TabulateIslands().apply(graph_of(unary(CHAINS["relu"], FIRST)))
    assert ops(relu) == ["q.dense", "q.clamp", "q.dense"]
    same = TabulateIslands().apply(graph_of(unary([], FIRST)))
    assert ops(same) == ["q.dense", "q.dense"]


@pytest.mark.parametrize("chain", [[], LEAKY])
@pytest.mark.parametrize(
    ("code", "options", "made"),
    [
        ("ADD", {}, "q.add"),
        ("SUB", {}, "q.sub"),
        ("MUL", {}, "q.mul"),
        ("CONCATENATION", {"axis": 1}, "q.concat"),
    ],
)
def test_two_operands_become_the_integer_op(code, options, made, chain):
    graph = graph_of(binary(code, chain, **options))
    converted = rlx.convert(GraphModule.hir(graph)).graph
    names = ops(converted)
    assert made in names
    assert names.count("q.dense") == 3
    assert all(name.startswith("q.") for name in names)
    dense = [n.op for n in graph.op_nodes if n.op.name == "q.dense"]
    assert [n.op for n in converted.op_nodes if n.op.name == "q.dense"] == dense


@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL", "CONCATENATION"])
def test_results_in_scales_that_are_powers_of_two_have_the_bits_of_the_reference(code):
    data = binary(code, [], **({"axis": 1} if code == "CONCATENATION" else {}))
    assert_as_reference(data, convert(graph_of(data), {}).graph)


def pairs(code: str, quants: list[dict[str, Any]]) -> tuple[Any, Any, Any]:
    """Return an operator on all pairs of int8 values: integer op, its results, the reference's."""
    net = TfliteBuilder()
    codes = np.arange(-128, 128).astype(np.int8)
    values = {"a": codes.reshape(1, 256, 1), "b": codes.reshape(1, 1, 256)}
    inputs = [
        net.tensor(v.shape, name=n, **q) for (n, v), q in zip(values.items(), quants, strict=False)
    ]
    floats = []
    for x in inputs:
        floats.append(net.tensor(net.graph.tensors[x].shape, "float32"))
        net.operator("DEQUANTIZE", [x], floats[-1:])
    y, z = net.tensor([1, 256, 256], "float32"), net.tensor([1, 256, 256], **quants[2])
    net.operator(code, floats, [y])
    net.operator("QUANTIZE", [y], [z])
    data = net.build(inputs, [z])
    interpreter = tflm(data)
    for place, value in enumerate(values.values()):
        interpreter.set_input(value, place)
    interpreter.invoke()
    graph = convert(graph_of(data), {}).graph
    (node,) = graph.op_nodes
    (found,) = evaluate(graph, values)
    return node.op, found, interpreter.get_output(0)


def random_quants(random: Any, code: str, powers: bool) -> list[dict[str, Any]]:
    """Return random scales and zero points of two operands and a result."""
    x, y, z = 2.0 ** random.integers(-8, -2, 3) if powers else random.uniform(0.01, 0.2, 3)
    if code == "MUL":
        z = x * y * (2.0 ** random.integers(2, 9) if powers else random.uniform(10, 200))
    points = random.integers(-128, 128, 3).tolist()
    return [{"scale": float(s), "zero_point": p} for s, p in zip((x, y, z), points, strict=True)]


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize(("code", "name"), [("ADD", "q.add"), ("SUB", "q.sub"), ("MUL", "q.mul")])
def test_all_pairs_of_values_have_the_bits_of_the_reference(code, name, powers):
    random = np.random.default_rng(4)
    for _ in range(6):
        op, found, expected = pairs(code, random_quants(random, code, powers))
        assert op.name == name
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("code", ["ADD", "MUL"])
def test_halves_that_only_the_rounding_of_float32_decides_are_one_step_apart(code):
    quants = [{"scale": s, "zero_point": z} for s, z in ((0.05, 3), (0.03, -5), (0.1, 0))]
    _, found, expected = pairs(code, quants)
    apart = np.abs(found.astype(int) - expected)
    assert apart.max() == 1
    assert np.count_nonzero(apart) < 0.06 * apart.size


def test_a_concatenation_in_any_scale_has_the_bits_of_the_reference():
    data = binary("CONCATENATION", [], {"scale": 0.0971, "zero_point": 4}, axis=1)
    assert_as_reference(data, convert(graph_of(data), {}).graph)


@pytest.mark.parametrize("behind", [False, True])
def test_what_moves_values_beside_a_function_has_the_bits_of_the_reference(behind):
    net = Net()
    x = net.input()
    y = net.floating(net.dense(x, FIRST), [] if behind else LEAKY)
    for shape in ([2, SIZE // 2], [1, SIZE]):
        moved = net.tensor(shape, "float32")
        net.operator("RESHAPE", [y, net.constant(np.array(shape, np.int32))], [moved])
        y = moved
        if behind and shape[0] == 2:
            inner = net.tensor(shape, "float32")
            net.operator("LEAKY_RELU", [y], [inner], alpha=0.1)
            y = inner
    result = {"scale": 0.0437, "zero_point": 9}
    data = net.build([x], [net.dense(net.quantized(y, result), SECOND)])
    assert_as_reference(data, rlx.convert(tflite.load(data)).graph)


def test_samples_measure_values_without_a_scale():
    data = binary("ADD", [("EXP", {})], {"scale": 5.0, "zero_point": -128})
    x = np.random.default_rng(3).integers(-128, 128, (40, 1, SIZE)).astype(np.int8)
    found = rlx.quantize(GraphModule.hir(graph_of(data)), x, min_sqnr=-100, min_agreement=0)
    assert ops(found.module.graph).count("q.dense") == 3


def test_a_value_without_scale_or_bounds_asks_for_samples():
    net = Net()
    x, other = net.input(), net.tensor([1, SIZE], "float32", name="other")
    z = net.tensor([1, SIZE], "float32")
    net.operator("ADD", [net.floating(net.dense(x, FIRST), []), other], [z])
    data = net.build([x, other], [net.dense(net.quantized(z, RESULT), SECOND)])
    with raises(QuantizationError) as caught:
        convert(graph_of(data), {})
    (line,) = caught.value.message.splitlines()[1:]
    assert line == "    core.input %1 'other' (model.tflite input 1)"


def test_integers_that_float_operators_share_with_integer_ones():
    net = Net()
    x = net.tensor([1, SIZE], "uint8", name="x", scale=0.05, zero_point=131)
    first = net.quantized(x, GIVEN)
    y = net.tensor([1, SIZE], "float32")
    net.operator("ADD", [net.floating(x, []), net.floating(net.dense(first, FIRST), [])], [y])
    z = net.quantized(y, RESULT)
    last = net.quantized(net.dense(z, SECOND), {"scale": 0.125, "zero_point": 135}, "uint8")
    graph = graph_of(net.build([x], [last]))
    converted = convert(graph, {}).graph
    verify(GraphModule(converted, Stage.MIR))
    assert [o.type for o in converted.outputs] == [o.type for o in graph.outputs]
    for seed in range(20):
        value = np.random.default_rng(seed).integers(0, 256, (1, SIZE)).astype(np.uint8)
        (expected,), (got,) = (evaluate(g, {"x": value}) for g in (graph, converted))
        assert np.abs(expected.astype(int) - got).max() <= 2


def test_int16_between_is_refused_with_what_helps():
    net = Net()
    x = net.input()
    wide = net.quantized(net.floating(net.dense(x, FIRST), LEAKY), {"scale": 0.001}, "int16")
    y = net.quantized(net.floating(wide, [("TANH", {})]), RESULT)
    graph = graph_of(net.build([x], [net.dense(y, SECOND)]))
    with raises(UnsupportedOpError):
        convert(graph, {})
