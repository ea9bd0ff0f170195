"""Networks of channels-first frameworks, with transposes around layers and before a dense layer."""

from __future__ import annotations

import numpy as np

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.references.litert import run_litert


def test_only_the_transpose_of_the_input_is_left() -> None:
    random = np.random.default_rng(6)
    model = TfliteBuilder()

    def weights(*shape: int) -> int:
        return model.constant(random.normal(size=shape).astype(np.float32))

    def order(*axes: int) -> int:
        return model.constant(np.array(axes, np.int32))

    x, turned = model.tensor((1, 3, 8, 6), "float32"), model.tensor((1, 8, 6, 3), "float32")
    image, back = model.tensor((1, 8, 6, 4), "float32"), model.tensor((1, 4, 8, 6), "float32")
    flat, y = model.tensor((1, 192), "float32"), model.tensor((1, 5), "float32")
    model.operator("TRANSPOSE", [x, order(0, 2, 3, 1)], [turned])
    model.operator(
        "CONV_2D", [turned, weights(4, 3, 3, 3), weights(4)], [image], padding="SAME",
        strideH=1, strideW=1, fusedActivationFunction="RELU",
    )  # fmt: skip
    model.operator("TRANSPOSE", [image, order(0, 3, 1, 2)], [back])
    model.operator("RESHAPE", [back, order(1, 192)], [flat])
    model.operator("FULLY_CONNECTED", [flat, weights(5, 192), -1], [y])
    data = model.build([x], [y])
    graph = tflite.load(data).graph
    assert [n.op.name for n in graph.op_nodes].count("real.transpose") == 1
    assert graph.inputs[0].type.static_shape == (1, 3, 8, 6)
    frame = random.normal(size=(1, 3, 8, 6)).astype(np.float32)
    (wanted,) = run_litert(data, [frame])
    (found,) = evaluate(graph, {graph.inputs[0].name: frame})
    np.testing.assert_allclose(found, wanted[0], rtol=1e-5, atol=1e-5)


def test_transposes_of_int8_networks_cancel_and_the_integers_stay() -> None:
    """As ai-edge-quantizer makes it of a PyTorch network: pads, a skip, a mean, a dense layer."""
    random = np.random.default_rng(7)
    model = TfliteBuilder()
    quant = {"scale": 0.05, "zero_point": 3}

    def tensor(*shape: int) -> int:
        return model.tensor(shape, **quant)

    def weights(*shape: int) -> int:
        codes = random.integers(-127, 128, shape).astype(np.int8)
        return model.constant(codes, scale=0.01, zero_point=0)

    def order(*axes: int) -> int:
        return model.constant(np.array(axes, np.int32))

    x, turned = tensor(1, 3, 8, 6), tensor(1, 8, 6, 3)
    wide, image, back = tensor(1, 10, 8, 3), tensor(1, 8, 6, 4), tensor(1, 4, 8, 6)
    total, mean, flat = tensor(1, 4, 8, 6), tensor(1, 4), tensor(1, 192)
    y = tensor(1, 5)
    pads = model.constant(np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    bias = model.constant(np.zeros(4, np.int32), scale=0.05 * 0.01, zero_point=0)
    model.operator("TRANSPOSE", [x, order(0, 2, 3, 1)], [turned])
    model.operator("PAD", [turned, pads], [wide])
    model.operator(
        "CONV_2D", [wide, weights(4, 3, 3, 3), bias], [image], padding="VALID", strideH=1,
        strideW=1,
    )  # fmt: skip
    model.operator("TRANSPOSE", [image, order(0, 3, 1, 2)], [back])
    model.operator("ADD", [back, weights(4, 1, 1)], [total])
    model.operator("MEAN", [total, order(2, 3)], [mean])
    model.operator("RESHAPE", [total, order(1, 192)], [flat])
    model.operator("FULLY_CONNECTED", [flat, weights(5, 192), -1], [y])
    data = model.build([x], [mean, y])
    graph = tflite.load(data).graph
    assert next(n.op.name for n in graph.op_nodes) == "q.transpose"
    assert [n.op.name for n in graph.op_nodes].count("q.transpose") == 1
    codes = random.integers(-128, 128, (1, 3, 8, 6)).astype(np.int8)
    found = evaluate(graph, {graph.inputs[0].name: codes})
    for ours, theirs in zip(found, run_tflm(data, codes), strict=True):
        np.testing.assert_array_equal(ours, theirs)
