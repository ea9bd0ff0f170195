"""Sound ONNX files, each as another exporter writes them."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
from malformed.onnx_models import sound_file
from onnx import helper, numpy_helper

from support.files.onnx_builder import model, node, value


@cache
def files() -> tuple[bytes, ...]:
    """Return files of PyTorch, TensorFlow, quantizers, scikit-learn and old tools."""
    makers = (
        sound_file, _open_shapes, _quantized, _operators_on_codes, _qonnx, _branches, _classifier,
        _old, _functions, _normalized,
    )  # fmt: skip
    return tuple(make() for make in makers)


def _numbers(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _open_shapes() -> bytes:
    """Shapes computed from an open batch, as PyTorch and tf2onnx write them."""
    nodes = [
        node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Unsqueeze", "n axis", "b"),
        node("Concat", "b eight", "c", axis=0), node("ConstantOfShape", "c", "z"),
        node("Slice", "x first last axes", "t"), node("Reshape", "t to", "f"),
        node("Sub", "f z", "d"), node("Expand", "k s", "e"), node("Mul", "x e", "g"),
        node("MatMul", "d w", "y"),
    ]  # fmt: skip
    constants = {
        "zero": np.array(0), "axis": np.array([0]), "eight": np.array([8]),
        "first": np.array([0, 0]), "last": np.array([10**9, 10**9]), "axes": np.array([0, 1]),
        "to": np.array([0, -1]), "k": _numbers(2, 4), "w": _numbers(8, 3),
    }  # fmt: skip
    return model(nodes, {"x": ["batch", 2, 4]}, {"y": ["batch", 3], "g": None}, constants)


def _quantized() -> bytes:
    """Quantize and dequantize nodes around a layer, weights quantized by channel."""
    nodes = [
        node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
        node("DequantizeLinear", "w ws wz", "v", axis=0), node("Conv", "d v b", "c"),
        node("Relu", "c", "r"), node("QuantizeLinear", "r s z", "p"),
        node("DequantizeLinear", "p s z", "y"),
    ]  # fmt: skip
    constants = {
        "s": np.float32(0.5), "z": np.int8(3), "b": _numbers(4),
        "w": np.arange(-54, 54, dtype=np.int8).reshape(4, 3, 3, 3),
        "ws": np.full(4, 0.1, np.float32), "wz": np.zeros(4, np.int8),
    }  # fmt: skip
    return model(nodes, {"x": [1, 3, 6, 6]}, {"y": None}, constants)


def _operators_on_codes() -> bytes:
    """Operators on quantized values, as ONNX Runtime's quantizer writes them."""
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearConv", "q s z w ws wz s z", "c"),
        node("DequantizeLinear", "c s z", "y"),
    ]
    constants = {
        "s": np.float32(0.25), "z": np.uint8(100), "ws": np.float32(0.1), "wz": np.int8(0),
        "w": np.arange(-54, 54, dtype=np.int8).reshape(4, 3, 3, 3),
    }  # fmt: skip
    return model(nodes, {"x": [1, 3, 6, 6]}, {"y": None}, constants)


def _qonnx() -> bytes:
    domain = "qonnx.custom_op.general"

    def quant(x: str, y: str, width: str) -> onnx.NodeProto:
        return helper.make_node(
            "Quant", [x, "s", "z", width], [y], domain=domain, signed=1, narrow=1,
            rounding_mode="ROUND",
        )  # fmt: skip

    nodes = [quant("x", "q", "four"), quant("w", "v", "two"), node("MatMul", "q v", "y")]
    constants = {
        "s": np.float32(0.25), "z": np.float32(0), "four": np.float32(4), "two": np.float32(2),
        "w": _numbers(8, 3),
    }  # fmt: skip
    return model(nodes, {"x": [1, 8]}, {"y": [1, 3]}, constants, domains=[domain])


def _branches() -> bytes:
    def graph(kind: str) -> onnx.GraphProto:
        tensor = numpy_helper.from_array(_numbers(4, 3), "w")
        inside = [node("MatMul", "x w", "m"), node(kind, "m", "r")]
        return helper.make_graph(inside, "branch", [], [value("r", None)], [tensor])

    nodes = [
        node("Equal", "rate k", "c"),
        node("If", "c", "y", then_branch=graph("Relu"), else_branch=graph("Neg")),
    ]
    return model(
        nodes, {"x": [2, 4], "rate": ([], np.int64)}, {"y": [2, 3]}, {"k": np.array(16000)}
    )


def _classifier() -> bytes:
    """A pipeline of scikit-learn, with labels that are texts."""

    def ml(kind: str, inputs: list[str], output: str, **more: object) -> onnx.NodeProto:
        return helper.make_node(kind, inputs, [output], domain="ai.onnx.ml", **more)

    nodes = [
        ml("Scaler", ["x"], "n", offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5, 0.5, 0.25, 1.0]),
        node("MatMul", "n w", "m"), node("Softmax", "m", "p"), node("ArgMax", "p", "a", axis=1),
        ml("ArrayFeatureExtractor", ["classes", "a"], "e"), node("Reshape", "e flat", "label"),
        ml("ZipMap", ["p"], "maps", classlabels_strings=["ant", "bee", "cat"]),
    ]  # fmt: skip
    proto = onnx.load_from_string(
        model(nodes, {"x": ["n", 4]}, {"label": (None, np.int64), "maps": None},
              {"w": _numbers(4, 3), "flat": np.array([-1])}, opset=17, domains=["ai.onnx.ml"])
    )  # fmt: skip
    proto.graph.initializer.append(helper.make_tensor("classes", 8, [3], [b"ant", b"bee", b"cat"]))
    return bytes(proto.SerializeToString())


def _old() -> bytes:
    """A file of opset 7: constants among the inputs, numbers stored one by one."""
    proto = onnx.load_from_string(
        model(
            [node("BatchNormalization", "x a b m v", "n"), node("PRelu", "n s", "p"),
             node("Upsample", "p", "y", mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])],
            {"x": [1, 3, 4, 4]}, {"y": None},
            {n: np.ones(3, np.float32) for n in "abmv"}, opset=7,
        )
    )  # fmt: skip
    proto.ir_version = 3
    proto.graph.initializer.append(helper.make_tensor("s", 1, [3, 1, 1], [0.1, 0.2, 0.3]))
    proto.graph.input.extend(value(t.name, list(t.dims)) for t in proto.graph.initializer)
    return bytes(proto.SerializeToString())


def _functions() -> bytes:
    body = helper.make_function(
        "own", "Scaled", ["a"], ["b"], [node("Mul", "a a", "c"), node("Sqrt", "c", "b")],
        [helper.make_opsetid("", 21)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Scaled", ["x"], ["a"], domain="own"), node("Gelu", "a", "g"),
        helper.make_node("Scaled", ["g"], ["y"], domain="own"),
    ]  # fmt: skip
    return model(nodes, {"x": [2, 3]}, {"y": [2, 3]}, functions=[body], domains=["own"])


def _normalized() -> bytes:
    """Layers of a transformer."""
    nodes = [
        node("LayerNormalization", "x g b", "n"), node("MatMul", "n w", "q"),
        node("Transpose", "q", "t", perm=[0, 2, 1]), node("MatMul", "q t", "a"),
        node("Softmax", "a", "p"), node("MatMul", "p q", "o"),
        node("ReduceMean", "o one", "m", keepdims=0), node("Split", "m", "y z", axis=1,
                                                            num_outputs=2),
    ]  # fmt: skip
    constants = {"g": _numbers(4), "b": _numbers(4), "w": _numbers(4, 6), "one": np.array([1])}
    return model(nodes, {"x": [1, 5, 4]}, {"y": [1, 3], "z": [1, 3]}, constants)
