"""One name for a layer in everything that the commands print and write."""

import json
import re

import numpy as np
import pytest

from rlx.cli import main
from rlx.support.text.names import mangle
from support import ROOT
from support.files.tflite_builder import TfliteBuilder

pytestmark = pytest.mark.slow

DIGITS = ROOT / "examples" / "onnx_to_firmware"


def keras_like():
    """Return an int8 network with names as Keras and TensorFlow's converter give them."""
    rng, model = np.random.default_rng(0), TfliteBuilder()

    def value(shape, name, scale=0.05, zero_point=-128):
        return model.tensor(shape, "int8", name=name, scale=scale, zero_point=zero_point)

    def weights(*shape):
        array = rng.integers(-127, 128, shape).astype(np.int8)
        return model.constant(array, scale=0.01), model.constant(
            np.zeros(shape[0], np.int32), scale=0.0005
        )

    def conv(x, shape, number, shared):
        y = value(
            shape,
            f"model/activation{number}/Relu;model/batch_normalization{number}/FusedBatchNormV3;"
            f"model/conv2d{number}/BiasAdd/ReadVariableOp/resource;model/conv2d{number}/BiasAdd;"
            f"model/{shared}/Conv2D;model/conv2d{number}/Conv2D1",
        )
        w, b = weights(shape[-1], 3, 3, 4)
        model.operator("CONV_2D", [x, w, b], [y], padding="SAME", strideH=1, strideW=1,
                       fusedActivationFunction="RELU")  # fmt: skip
        return y

    x = value((1, 6, 6, 4), "serving_default_input_1:0")
    a = conv(x, (1, 6, 6, 4), "", "conv2d_1")
    b = conv(a, (1, 6, 6, 4), "_1", "conv2d_1")
    c = value((1, 6, 6, 4), "model/activation_2/Relu;model/add/add")
    model.operator("ADD", [a, b], [c], fusedActivationFunction="RELU")
    flat = value((1, 144), "model/flatten/Reshape")
    model.operator("RESHAPE", [c], [flat], newShape=[1, 144])
    logits = value((1, 3), "StatefulPartitionedCall:0", zero_point=0)
    w, b = weights(3, 144)
    model.operator("FULLY_CONNECTED", [flat, w, b], [logits])
    return model.build([x], [logits])


class Runner:
    """Runs commands and returns their JSON."""

    def __init__(self, capsys):
        self._capsys = capsys

    def __call__(self, *words):
        self._capsys.readouterr()
        assert main([*map(str, words)]) == 0
        return self._capsys.readouterr().out

    def json(self, *words):
        return json.loads(self(*words, "--json"))


@pytest.fixture
def run(capsys):
    return Runner(capsys)


def inspected(run, path):
    """Return name and op of each layer of a network."""
    nodes = run.json("inspect", path)["nodes"]
    return {n["name"]: n["op"] for n in nodes if not n["op"].startswith("core.")}


def check_emitted(run, model, names, tmp_path):
    """Check that everything that is emitted of an integer network calls its layers ``names``."""
    code, hardware, other = (tmp_path / name for name in ("c", "f", "m0"))
    emitted = run.json("emit", model, "--target", "cortexm", "--frames", 1, "-o", code)
    assert [layer["name"] for layer in emitted["report"]["layers"]] == names
    memory = (code / "report" / "memory.txt").read_text().split("\n\n")[1]
    assert re.findall(r"^ +\d+ +[\d,]+  (\S+) \(", memory, re.M) == names
    assert all(f"{name} (" in (code / "report" / "memory.svg").read_text() for name in names)
    text = "".join(path.read_text() for path in sorted((code / "src").glob("*.c")))
    assert re.findall(r"/\* \d+: (\S+) \(q\.", text) == names
    assert re.findall(r"_LAYER_HOOK\(\d+, \"(\S+)\"\)", text) == names
    tables = set(re.findall(r"\w+_weights_(\w+)\[", text))
    assert tables
    assert tables <= {mangle(name) for name in names}
    report = run.json("report", code, "--no-run")
    assert [layer["name"] for layer in report["layers"]] == names
    network = json.loads((code / "report" / "network.json").read_text())
    assert [layer["name"] for layer in network["layers"]] == names
    assert all(layer["origins"] for layer in network["layers"])

    run.json("emit", model, "--target", "cortexm", "--cpu", "cortex-m0", "--frames", 1, "-o", other)
    changed = run.json("diff", code, other)["layers"]
    assert changed
    assert {layer["name"] for layer in changed} <= set(names)

    design = run.json("emit", model, "--target", "fpga", "--frames", 1, "-o", hardware)["report"]
    rows = design["layers"]
    streams = [name for name in names if name not in ("flatten", "image_reshape")]
    assert [row["name"] for row in rows] == streams
    (core,) = (hardware / "rtl").glob("*_core.sv")
    instances = re.findall(r"\bu_(\w+) \(", core.read_text())
    assert [one for one in instances if one in {row["instance"] for row in rows}] == [
        mangle(name) for name in streams
    ]
    readme = (hardware / "README.md").read_text()
    assert all(f"| {name} |" in readme for name in streams)
    shown = run.json("report", hardware, "--no-run")
    assert [layer["name"] for layer in shown["layers"]] == streams


def test_an_integer_network_of_keras(run, tmp_path):
    model = tmp_path / "keras.tflite"
    model.write_bytes(keras_like())
    names = inspected(run, model)
    assert list(names) == ["conv2d", "conv2d_1", "add", "flatten", "StatefulPartitionedCall"]
    samples = tmp_path / "x.npy"
    np.save(samples, np.random.default_rng(0).integers(-128, 128, (2, 6, 6, 4)).astype(np.int8))
    compared = run.json("compare", model, model, "--data", samples)
    assert {layer["name"] for layer in compared["layers"]} == set(names)
    check_emitted(run, model, list(names), tmp_path)


def test_a_float_network_that_is_quantized(run, tmp_path):
    pytest.importorskip("onnx")
    model, integers = DIGITS / "digits.onnx", tmp_path / "q.rlx"
    calib = DIGITS / "calib.npz"
    given = inspected(run, model)
    report = run.json("quantize", model, "--calib", calib, "-o", integers)
    assert [layer["name"] for layer in report["layers"]] == ["conv1", "conv2", "dense", "softmax"]
    assert report["layers"][0]["origins"] == ["digits.onnx node 0 Conv 'conv1'"]
    quantized = inspected(run, integers)
    inserted = {"image_quantize": "real.quantize", "softmax_dequantize": "real.dequantize"}
    assert {k: v for k, v in quantized.items() if k not in given} == inserted
    compared = run.json("compare", model, integers, "--data", calib)
    layers = {layer["name"] for layer in compared["layers"]}
    assert {"conv1", "conv2", "dense"} <= layers <= set(given)
    origins = {n["name"]: n["origins"] for n in run.json("inspect", integers)["nodes"]}
    assert origins["conv1"] == [
        "digits.onnx node 0 Conv 'conv1'", "digits.onnx node 1 Relu 'relu1'",
    ]  # fmt: skip
    check_emitted(run, integers, [n for n in quantized if n not in inserted], tmp_path)
    profile = run.json("profile", integers, "--runs", 1)
    assert {node["name"] for node in profile["nodes"]} <= set(quantized)
