"""Damaged ONNX files: only errors of rlx come out, soon, and in little memory."""

import time

import numpy as np
import onnx
import pytest
from malformed import CASES
from malformed.onnx_models import sound_file
from onnx import helper

from rlx.frontends.onnx.frontend import load
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.loading import cost_of_loading
from support.files.mutation import mutate
from support.files.onnx_builder import model, node

SECONDS = 1.0
MEMORY = 512 * 1024 * 1024
SMALL = 1 << 16


def quantized_file():
    """Return a file with constants of several kinds, shapes that are computed and a function."""
    body = helper.make_function(
        "own", "Scaled", ["a"], ["b"], [node("Mul", "a a", "b")], [helper.make_opsetid("", 21)]
    )
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "d"),
        node("Conv", "d w", "c", auto_pad="SAME_UPPER"),
        helper.make_node("Scaled", ["c"], ["e"], domain="own"),
        node("Shape", "e", "t", start=0, end=1),
        node("Concat", "t m", "u", axis=0),
        node("Reshape", "e u", "f"),
        node("Softmax", "f", "y", axis=1),
    ]
    constants = {
        "s": np.float32(0.5),
        "z": np.int8(3),
        "w": np.ones((2, 3, 3, 3), np.float32),
        "m": np.array([-1]),
    }
    shapes = {"x": ["n", 3, 4, 4]}, {"y": None}
    return model(nodes, *shapes, constants, functions=[body], domains=["own"])


def load_damaged(damaged):
    """Import a damaged file and run what was accepted; return whether it was."""
    start = time.process_time()
    module, error = None, None
    try:
        module = load(damaged)
    except (FrontendError, UnsupportedOpError) as refusal:
        error = refusal
    assert time.process_time() - start < SECONDS
    if module is None:
        assert error.where is not None
        assert error.hint
        assert error.message.replace("\n", "").isprintable()
        return False
    verify(module)
    graph = module.graph
    types = [t for n in graph.nodes for t in n.types]
    if all(t.is_static and t.size < SMALL for t in types):
        inputs = {v.name: np.ones(v.type.static_shape, v.type.dtype.numpy) for v in graph.inputs}
        with np.errstate(all="ignore"):
            evaluate(graph, inputs)
    return True


@pytest.mark.parametrize("make", [sound_file, quantized_file])
def test_damaged_files_are_refused_or_read(make):
    data = make()
    assert load_damaged(data)
    accepted = sum(load_damaged(mutate(data, seed)) for seed in range(300))
    assert 10 < accepted < 200


def scrambled(proto, seed):
    """Return a model with one to three numbers or names of its graph replaced by others."""
    random = np.random.default_rng(seed)
    numbers = (0, 1, -1, 2, 3, 7, 255, 1 << 31, -(1 << 31), 1 << 40, 1 << 62)
    for _ in range(int(random.integers(1, 4))):
        target = proto.graph.node[int(random.integers(len(proto.graph.node)))]
        kind = int(random.integers(5))
        if kind == 0 and target.attribute:
            given = target.attribute[int(random.integers(len(target.attribute)))]
            if given.ints:
                given.ints[int(random.integers(len(given.ints)))] = int(random.choice(numbers))
            else:
                given.i = int(random.choice(numbers))
        elif kind == 1:
            names = [n for other in proto.graph.node for n in (*other.input, *other.output)]
            target.input[int(random.integers(len(target.input)))] = str(random.choice(names))
        elif kind == 2:
            tensor = proto.graph.initializer[int(random.integers(len(proto.graph.initializer)))]
            if tensor.dims:
                place = int(random.integers(len(tensor.dims)))
                tensor.dims[place] = int(random.choice(numbers))
        elif kind == 3:
            tensor = proto.graph.initializer[int(random.integers(len(proto.graph.initializer)))]
            tensor.data_type = int(random.integers(30))
        else:
            target.op_type = str(random.choice(["Relu", "Conv", "Gemm", "If", "Pad", "Resize"]))
    return proto.SerializeToString()


@pytest.mark.parametrize("make", [sound_file, quantized_file])
def test_scrambled_graphs_are_refused_or_read(make):
    data = make()
    accepted = sum(
        load_damaged(scrambled(onnx.load_from_string(data), seed)) for seed in range(300)
    )
    assert 3 < accepted < 250


def test_files_made_by_hand_take_little_time_and_memory(tmp_path):
    cases = {name: case for name, (suffix, case) in CASES.items() if suffix == ".onnx"}
    paths = [tmp_path / f"{number}.onnx" for number in range(len(cases))]
    for path, case in zip(paths, cases.values(), strict=True):
        path.write_bytes(case.make())
    seconds, peak_bytes = cost_of_loading(paths)
    costs = zip(cases, seconds.values(), strict=True)
    assert [name for name, cost in costs if cost >= SECONDS] == []
    assert peak_bytes < 2 * MEMORY


def drawn_node(random):
    """Return a file with one node of an operator that the standard defines by others."""
    names = ["CenterCropPad", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "HannWindow",
             "CausalConvWithState", "FlexAttention"]  # fmt: skip
    name = str(random.choice(names))
    domain = "ai.onnx.preview" if name == "FlexAttention" else ""
    schema = onnx.defs.get_schema(name, 1 if domain else 27, domain)
    values = {1: (0.0, -1.0, 1e30), 2: (0, 1, -1, 3, 1 << 40), 3: ("none", "mean", "x")}
    given = {}
    for key, attribute in schema.attributes.items():
        kind = int(attribute.type.value)
        if kind in values and random.integers(2):
            given[key] = random.choice(values[kind]).item()
        elif kind == 7 and random.integers(2):
            given[key] = random.integers(-3, 4, int(random.integers(1, 4))).tolist()
    inputs = [f"i{k}" for k in range(int(random.integers(schema.min_input, 4)))]
    dtypes = (np.float32, np.int64)
    shapes = {
        i: (random.integers(0, 5, int(random.integers(5))).tolist(), dtypes[random.integers(2)])
        for i in inputs
    }
    made = helper.make_node(name, inputs, ["y"], domain=domain, **given)
    domains = [domain] if domain else []
    return model([made], shapes, {"y": None}, opset=27, domains=domains)


def test_operators_that_the_standard_defines_are_refused_or_read():
    """The package ``onnx`` makes their definitions, of attributes that it does not check."""
    random = np.random.default_rng(7)
    for _ in range(200):
        load_damaged(drawn_node(random))
