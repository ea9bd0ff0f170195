"""Linear ``Resize`` between integers of a file is refused by name; in a float network it is not."""

import numpy as np
import pytest

from rlx.ir import QuantParams
from rlx.passes.quantize import convert
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import load, model, node
from support.messages import raises

WANTED = {"n": np.int64([1, 2, 8, 10])}
QUANT = {"s": np.float32(0.1), "z": np.uint8(3)}
MODES = ("half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "tf_crop_and_resize")


def resize(x, y, mode="linear", coordinates="half_pixel"):
    roi = "roi" if coordinates == "tf_crop_and_resize" else "_"
    return node("Resize", f"{x} {roi} _ n", y, mode=mode, name="up",
                coordinate_transformation_mode=coordinates)  # fmt: skip


def file(nodes, dtype=np.uint8, out=np.uint8):
    roi = np.float32([0, 0, 0, 0, 1, 1, 1, 1])
    return model(nodes, {"x": ([1, 2, 4, 5], dtype)}, {"y": (None, out)},
                 {**WANTED, **QUANT, "roi": roi})  # fmt: skip


def between(*nodes):
    first, last = node("DequantizeLinear", "x s z", "d"), node("QuantizeLinear", "r s z", "y")
    return file([first, *nodes, last])


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_between_quantize_nodes(mode, coordinates):
    data = between(resize("d", "r", mode, coordinates))
    with raises(UnsupportedOpError):
        convert(load(data), {})


def test_what_is_done_behind_it_does_not_hide_it():
    turned = node("Transpose", "a", "b", perm=[0, 2, 3, 1])
    nodes = [resize("d", "i"), node("Relu", "i", "a"), turned, node("Concat", "b b", "r", axis=3)]
    with raises(UnsupportedOpError):
        convert(load(between(*nodes)), {})


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_of_plain_integers(dtype, coordinates):
    data = file([resize("x", "y", "linear", coordinates)], dtype, dtype)
    with raises(UnsupportedOpError):
        convert(load(data), {})


def test_of_quantized_values():
    """As ONNX Runtime's QOperator form has it."""
    nodes = [node("QuantizeLinear", "f s z", "q"), resize("q", "r"),
             node("DequantizeLinear", "r s z", "y")]  # fmt: skip
    data = model(nodes, {"f": [1, 2, 4, 5]}, {"y": None}, {**WANTED, **QUANT})
    with raises(UnsupportedOpError):
        convert(load(data), {})


def test_the_nearest_values_are_only_picked():
    assert convert(load(between(resize("d", "r", "nearest"))), {}).graph.op_nodes


def test_a_scale_in_front_is_what_decides():
    """Between a layer without a scale and a quantize node nothing says which codes there are."""
    constants = {**WANTED, **QUANT, "w": np.ones((2, 2, 1, 1), np.float32)}
    nodes = [node("DequantizeLinear", "x s z", "d"), node("Conv", "d w", "c"), resize("c", "r"),
             node("QuantizeLinear", "r s z", "y")]  # fmt: skip
    data = model(nodes, {"x": ([1, 2, 4, 5], np.uint8)}, {"y": (None, np.uint8)}, constants)
    assert convert(load(data), {}).graph.op_nodes


def test_float_networks_take_what_integers_make_of_it():
    graph = load(model([resize("x", "y")], {"x": [1, 2, 4, 5]}, {"y": None}, WANTED))
    quant = QuantParams.per_tensor(0.1, 3)
    assert convert(graph, dict.fromkeys((*graph.inputs, *graph.outputs), quant)).graph.op_nodes


def test_other_operators_may_be_named_after_it():
    """The type of an operator decides, not the name that an exporter gave it."""
    nodes = [node("Add", "d d", "r", name="model/Resize/Add")]
    graph = convert(load(between(*nodes)), {}).graph
    assert {n.op.name for n in graph.op_nodes} == {"real.quantize", "q.table", "real.dequantize"}
