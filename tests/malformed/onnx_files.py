"""ONNX files that are damaged, contradict themselves, or ask for too much."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from malformed.case import Accepted, Case, Refused
from malformed.onnx_models import (
    WEIGHTS,
    attribute,
    changed,
    external,
    field,
    of_empty_nodes,
    of_functions,
    of_nested_graphs,
    one,
    sound_file,
    weights,
)
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.onnx_builder import model, node

HOSTILE = '*/ int pwned; /* ");system("x\n`\\'


def damaged(make, place, message):
    return Refused(make, FrontendError, place, message)


def refused(make, place, message):
    return Refused(make, UnsupportedOpError, place, message)


def set_version(version):
    return changed(lambda p: p.opset_import[0].__setattr__("version", version))


def cyclic():
    nodes = [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")]
    return model(nodes, {"x": [2]}, {"y": [2]})


def with_nan(value):
    array = WEIGHTS.copy()
    array[1, 2, 0, 1] = value
    return weights(array)


def renamed(name):
    """Return a network all of whose names are one text, each with a digit behind it."""
    nodes = [
        helper.make_node("Conv", [f"{name}0", f"{name}1"], [f"{name}2"], name=name),
        helper.make_node("Relu", [f"{name}2"], [f"{name}3"], name=name),
    ]
    made = model(nodes, {f"{name}0": [1, 3, 4, 4]}, {f"{name}3": [1, 4, 2, 2]},
                 {f"{name}1": WEIGHTS})  # fmt: skip
    proto = onnx.load_from_string(made)
    proto.graph.name = proto.producer_name = proto.doc_string = name
    return proto.SerializeToString()


def raw(data):
    return changed(lambda p: p.graph.initializer[0].__setattr__("raw_data", data))


def dims(*sizes):
    return changed(lambda p: p.graph.initializer[0].dims.__setitem__(slice(None), sizes))


def element_type(number):
    return changed(lambda p: p.graph.initializer[0].__setattr__("data_type", number))


def input_shape(*sizes):
    return one("Relu", "x", {"x": list(sizes)})


def sparse():
    def change(proto):
        proto.graph.sparse_initializer.add().dims.append(3)

    return changed(change)


def bytes_for(old, new):
    """Return the sound file with the bytes of a name exchanged for others."""
    return lambda: sound_file().replace(old, new)


def not_text():
    return sound_file().replace(b"Flatten", b"Fl\xff\xfeten", 1)


CASES: dict[str, Case] = {
    # Bytes.
    "half a file": damaged(
        lambda: sound_file()[: len(sound_file()) // 2], "file", "a field at byte"
    ),
    "one byte short": damaged(lambda: sound_file()[:-1], "file", "a field at byte"),
    "text": damaged(lambda: b"once upon a time", "file", ""),
    "empty": damaged(lambda: b"", "model", "the file holds no graph"),
    "version alone": damaged(lambda: b"\x08\x0a\x12\x00", "model", "the file holds no graph"),
    "a number that does not end": damaged(lambda: b"\x08" + b"\xff" * 20, "file", "a number"),
    "a group": damaged(lambda: b"\x08\x0a\x0b\x0c", "file", "a field at byte 3 is of the kind 3"),
    "a name that is no text": refused(
        not_text, "node 3 Fl\ufffd\ufffdten 'f'", "1 of 5 nodes cannot be imported"
    ),
    **{
        f"{what} that is no text": damaged(
            bytes_for(old, new), place, "the name '\ufffd' is not UTF-8"
        )
        for what, old, new, place in (
            ("a value's name", b"\x12\x01r", b"\x12\x01\xff", "node 1 Relu"),
            ("an operand's name", b"\x0a\x01r", b"\x0a\x01\xff", "node 2 MaxPool"),
            ("an input's name", b"\x0a\x01x\x12", b"\x0a\x01\xff\x12", "graph input 0"),
            ("an output's name", b"\x0a\x01y\x12", b"\x0a\x01\xff\x12", "graph output 0"),
            ("a tensor's name", b"B\x01w", b"B\x01\xff", "tensor 0"),
        )
    },
    "four million empty nodes": damaged(
        lambda: of_empty_nodes(4_000_000), "file", "the file has more than 200000 fields"
    ),
    "nine thousand empty nodes": damaged(
        lambda: of_empty_nodes(9000), "graph", "there are 9000 nodes; the limit is 8000"
    ),
    "an empty node": damaged(
        lambda: of_empty_nodes(1), "node 0 ", "has no operator type"
    ),
    "graphs in graphs": damaged(
        lambda: of_nested_graphs(3000), "file", "messages are nested more than 64 deep"
    ),
    # Versions.
    "no version of operators": damaged(
        lambda: changed(lambda p: p.opset_import.__delitem__(0)), "graph", "the file does not say"
    ),
    "an old version": refused(lambda: set_version(6), "graph", "the operators are of version 6"),
    "a version of the future": refused(
        lambda: set_version(99), "graph", "the operators are of version 99"
    ),
    "two versions": damaged(
        lambda: changed(lambda p: p.opset_import.add(domain="", version=9)), "opset_import",
        "the operators '' are imported in two versions, 21 and 9",
    ),
    # Order of values.
    "a cycle": damaged(
        cyclic, "node 0 Add 'a'", "input 1 is 'b', which is written by node 1 Relu 'b': a cycle"
    ),
    "written twice": damaged(
        lambda: changed(lambda p: p.graph.node[1].output.__setitem__(0, "c")), "node 1 Relu 'c'",
        "output 0 is 'c', which is an input, a constant or written before (not in SSA form)",
    ),
    "an input written": damaged(
        lambda: changed(lambda p: p.graph.node[0].output.__setitem__(0, "x")), "node 0 Conv 'x'",
        "output 0 is 'x', which is an input",
    ),
    "a constant written": damaged(
        lambda: changed(lambda p: p.graph.node[0].output.__setitem__(0, "g")), "node 0 Conv 'g'",
        "output 0 is 'g', which is an input",
    ),
    "nothing written": damaged(
        lambda: changed(lambda p: p.graph.node[1].output.__setitem__(0, "")), "node 1 Relu",
        "has no outputs",
    ),
    "an input of nobody": damaged(
        lambda: changed(lambda p: p.graph.node[1].input.__setitem__(0, "q")), "node 1 Relu 'r'",
        "input 0 is 'q', which nothing writes",
    ),
    "an output of nobody": damaged(
        lambda: changed(lambda p: p.graph.output[0].__setattr__("name", "q")), "graph",
        "graph output 0 is 'q', which nothing writes",
    ),
    "no outputs": damaged(
        lambda: changed(lambda p: p.graph.output.__delitem__(0)), "graph",
        "the graph has no outputs",
    ),
    "an input twice": damaged(
        lambda: changed(lambda p: p.graph.input.append(p.graph.input[0])), "graph",
        "'x' is twice among the graph inputs",
    ),
    "a constant twice": damaged(
        lambda: changed(lambda p: p.graph.initializer.append(p.graph.initializer[0])), "tensor 4",
        "'w' has the name of another tensor",
    ),
    "a constant without a name": damaged(
        lambda: changed(lambda p: p.graph.initializer[0].__setattr__("name", "")), "tensor 0",
        "'' has no name",
    ),
    # Tensors.
    "too few bytes": damaged(
        lambda: raw(b"\0" * 8), "tensor 0, 'w'",
        "is f32[4, 3, 3, 3], which takes 432 bytes, but there are 8",
    ),
    "too many bytes": damaged(
        lambda: raw(b"\0" * 100_000), "tensor 0, 'w'",
        "is f32[4, 3, 3, 3], which takes 432 bytes, but there are 100000",
    ),
    "a negative dimension": damaged(
        lambda: dims(4, -3, 3, 3), "tensor 0, 'w'", "has the shape [4, -3, 3, 3], expected"
    ),
    "2^40 weights": damaged(
        lambda: dims(1 << 20, 1 << 20), "tensor 0, 'w'",
        "is f32[1048576, 1048576], which takes 4398046511104 bytes, but there are 432",
    ),
    "a huge dimension": damaged(
        lambda: dims(1 << 40, 0), "tensor 0, 'w'",
        "has the shape [1099511627776, 0]; the limit is 8388608 a dimension",
    ),
    "nine dimensions": damaged(
        lambda: dims(*(1,) * 9), "tensor 0, 'w'", "has 9 dimensions; the limit is 8"
    ),
    "an unknown element type": refused(
        lambda: element_type(77), "tensor 0, 'w'", "has elements of an unknown type (77)"
    ),
    "strings": refused(
        lambda: element_type(8), "node 0 Conv 'c'", "1 of 5 nodes cannot be imported\n"
        "  node 0 Conv 'c'\n    why  'w' holds strings, which rlx does not model",
    ),
    "a sparse tensor": refused(sparse, "graph", "the graph holds 1 sparse tensors"),
    "a weight that is no number": damaged(
        lambda: with_nan(np.nan), "node 0 Conv 'c'",
        "input 1 is 'w', whose element [1, 2, 0, 1] is nan, expected finite weights",
    ),
    "a weight that is infinite": damaged(
        lambda: with_nan(-np.inf), "node 0 Conv 'c'",
        "input 1 is 'w', whose element [1, 2, 0, 1] is -inf, expected finite weights",
    ),
    # Inputs.
    "2^40 elements of an input": damaged(
        lambda: input_shape(1 << 20, 1 << 20), "graph input 0 'x'",
        "has the shape [1048576, 1048576], 1099511627776 elements; the limit is 8388608",
    ),
    "a negative dimension of an input": damaged(
        lambda: input_shape(-1, 4), "graph input 0 'x'",
        "has the shape [-1, 4], expected dimensions of at least 0",
    ),
    "an input without a shape": refused(
        lambda: one("Relu", "x", {"x": None}), "graph input 0", "'x' has no shape"
    ),
    "an input without a type": damaged(
        lambda: changed(lambda p: p.graph.input[0].ClearField("type")), "graph input 0",
        "'x' has no element type",
    ),
    "a sequence as an input": refused(
        lambda: changed(
            lambda p: p.graph.input[0].CopyFrom(
                helper.make_tensor_sequence_value_info("x", 1, [1, 3, 8, 8])
            )
        ),
        "graph input 0", "'x' is a sequence, expected a tensor",
    ),
    "an output of another shape": damaged(
        lambda: changed(
            lambda p: p.graph.output[0].type.tensor_type.shape.dim[1].__setattr__("dim_value", 6)
        ),
        "graph", "graph output 0 'y' is f32[1, 6], but f32[1, 5] is computed",
    ),
    "an output of another type": damaged(
        lambda: changed(
            lambda p: p.graph.output[0].type.tensor_type.__setattr__("elem_type", 7)
        ),
        "graph", "graph output 0 'y' is i64[1, 5], but f32[1, 5] is computed",
    ),
    # Attributes.
    "group 0": damaged(
        lambda: attribute(0, group=0), "node 0 Conv 'c'", "group is 0, expected at least 1"
    ),
    "group 2 of 3 channels": damaged(
        lambda: attribute(0, group=2), "node 0 Conv 'c'", "groups must divide 3 input"
    ),
    "stride 0": damaged(
        lambda: attribute(0, strides=[0, 1]), "node 0 Conv 'c'",
        "strides must be at least 1, got [0, 1]",
    ),
    "dilation 0": damaged(
        lambda: attribute(0, dilations=[1, 0]), "node 0 Conv 'c'", "dilations must be at least 1"
    ),
    "negative pads": damaged(
        lambda: attribute(0, pads=[1, -1, 1, 1]), "node 0 Conv 'c'",
        "pads must be at least 0, got [1, -1, 1, 1]",
    ),
    "too few pads": damaged(
        lambda: attribute(0, pads=[1, 1]), "node 0 Conv 'c'", "pads needs 4 numbers, got [1, 1]"
    ),
    "huge pads": damaged(
        lambda: attribute(0, pads=[1 << 40, 1, 1, 1]), "node 0 Conv 'c'", "pads is [1099511627776"
    ),
    "pads of four million": damaged(
        lambda: one(
            "Conv", "x w", {"x": [1, 3, 8, 8]}, pads=[1 << 22] * 4, constants={"w": WEIGHTS}
        ),
        "node 0 Conv 'y'",
        "a tensor has ",
    ),
    "another kernel": damaged(
        lambda: attribute(0, kernel_shape=[5, 5]), "node 0 Conv 'c'",
        "kernel_shape is [5, 5], expected [3, 3], the weights'",
    ),
    "a kernel of 0": damaged(
        lambda: attribute(2, kernel_shape=[0, 2]), "node 2 MaxPool 'p'",
        "kernel_shape is [0, 2], expected numbers from 1",
    ),
    "a kernel larger than the image": damaged(
        lambda: attribute(2, kernel_shape=[9, 9]), "node 2 MaxPool 'p'",
        "window (9, 9) does not fit",
    ),
    "a kernel of 2^40": damaged(
        lambda: attribute(2, kernel_shape=[1 << 20, 1 << 20]), "node 2 MaxPool 'p'", "window ("
    ),
    "padding that is unknown": damaged(
        lambda: attribute(0, auto_pad="SOME"), "node 0 Conv 'c'", "auto_pad is 'SOME', expected"
    ),
    "an axis out of range": damaged(
        lambda: attribute(3, axis=9), "node 3 Flatten 'f'", "the axis is 9, but there are 4"
    ),
    "an unknown attribute": damaged(
        lambda: attribute(1, alpha=1.0), "node 1 Relu 'r'",
        "has the attribute 'alpha', which Relu of version 14 does not have",
    ),
    "an attribute of the wrong type": damaged(
        lambda: attribute(0, group=1.5), "node 0 Conv 'c'",
        "attribute 'group' is of the wrong type",
    ),
    "an attribute twice": damaged(
        lambda: changed(
            lambda p: p.graph.node[0].attribute.append(p.graph.node[0].attribute[0])
        ),
        "node 0 Conv", "has the attribute 'pads' twice",
    ),
    "an attribute that is missing": damaged(
        lambda: changed(lambda p: p.graph.node[2].attribute.__delitem__(slice(None))),
        "node 2 MaxPool 'p'", "lacks the attribute 'kernel_shape'",
    ),
    "too many inputs": damaged(
        lambda: changed(lambda p: p.graph.node[1].input.append("x")), "node 1 Relu 'r'",
        "has 2 inputs, expected 1",
    ),
    "too few inputs": damaged(
        lambda: changed(lambda p: p.graph.node[0].input.__delitem__(slice(1, 3))),
        "node 0 Conv 'c'", "has 1 inputs, expected 2 to 3",
    ),
    "an input that is left out": damaged(
        lambda: changed(lambda p: p.graph.node[0].input.__setitem__(1, "")), "node 0 Conv 'c'",
        "input 1 is missing",
    ),
    "too many outputs": damaged(
        lambda: changed(lambda p: p.graph.node[1].output.append("z")), "node 1 Relu 'r'",
        "has 2 outputs, expected 1",
    ),
    "matrices that do not fit": damaged(
        lambda: attribute(4, transB=1), "node 4 Gemm 'y'", "weights must be [N, 64]"
    ),
    "a reshape that does not fit": damaged(
        lambda: one("Reshape", "x s", {"x": [2, 3]}, constants={"s": np.array([4, -1])}),
        "node 0 Reshape 'y'", "no dimension completes [4, -1]",
    ),
    "an order of axes that is none": damaged(
        lambda: one("Transpose", "x", {"x": [2, 3]}, perm=[0, 0]), "node 0 Transpose 'y'",
        "expected an order of 2 axes as perm, got [0, 0]",
    ),
    "a scale of 0": damaged(
        lambda: one("QuantizeLinear", "x s", {"x": [2]}, constants={"s": np.float32(0)}),
        "node 0 QuantizeLinear 'y'", "has the scale 0.0, expected finite numbers above 0",
    ),
    "a scale that is no number": damaged(
        lambda: one("QuantizeLinear", "x s", {"x": [2]}, constants={"s": np.float32("nan")}),
        "node 0 QuantizeLinear 'y'", "has the scale nan, expected finite numbers above 0",
    ),
    "squares of side 0": damaged(
        lambda: one("SpaceToDepth", "x", {"x": [1, 4, 4, 4]}, blocksize=0),
        "node 0 SpaceToDepth 'y'", "",
    ),
    # Work.
    "2^40 ones": damaged(
        lambda: one("ConstantOfShape", "s", {}, constants={"s": np.array([1 << 20, 1 << 20])}),
        "node 0 ConstantOfShape 'y'", "",
    ),
    "a number repeated 2^40 times": damaged(
        lambda: one("Expand", "x s", {"x": [1]}, constants={"s": np.array([1 << 20, 1 << 20])}),
        "node 0 Expand 'y'", "a tensor has 1099511627776 elements",
    ),
    "a tile of 2^40": damaged(
        lambda: one("Tile", "x s", {"x": [2]}, constants={"s": np.array([1 << 40])}),
        "node 0 Tile 'y'", "",
    ),
    "a range of 2^40": damaged(
        lambda: one("Range", "a b c", {}, constants={
            "a": np.array(0), "b": np.array(1 << 40), "c": np.array(1)}),
        "node 0 Range 'y'", "",
    ),
    "a one of 2^40 classes": damaged(
        lambda: one("OneHot", "x d v", {"x": ([2], np.int64)}, constants={
            "d": np.array(1 << 40), "v": np.array([0.0, 1.0], np.float32)}),
        "node 0 OneHot 'y'", "",
    ),
    # What is not supported.
    "a loop": refused(
        lambda: one("Loop", "x _ x", {"x": [2]}), "node 0 Loop 'y'",
        "1 of 1 nodes cannot be imported\n  node 0 Loop 'y'\n    why  is control flow",
    ),
    "classical machine learning": refused(
        lambda: model([helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml")],
                      {"x": [2]}, {"y": [2]}, domains=["ai.onnx.ml"]),
        "node 0 ai.onnx.ml.SVMRegressor 'y'", "1 of 1 nodes cannot be imported",
    ),
    "a custom operator": refused(
        lambda: model([helper.make_node("Secret", ["x"], ["y"], domain="com.x")],
                      {"x": [2]}, {"y": [2]}, domains=["com.x"]),
        "node 0 com.x.Secret 'y'", "1 of 1 nodes cannot be imported",
    ),
    # Functions.
    "functions a hundred deep": damaged(
        lambda: of_functions(100), "graph", "functions call each other more than 64 deep"
    ),
    "functions that grow without bound": damaged(
        lambda: of_functions(40), "graph", "with its functions inlined the graph has 1099511627776"
    ),
    # Files.
    "external data": refused(
        lambda: external("w.bin"), "tensor 0, 'w'",
        "keeps its data in another file, 'w.bin', which is not read by default",
    ),
    # Read all the same.
    "fields of the future": Accepted(
        lambda: sound_file() + field(1000, b"?"), "protobuf keeps what it does not know"
    ),
    "names made to break C": Accepted(
        lambda: renamed(HOSTILE), "names reach C and SystemVerilog through the mangler only"
    ),
    "names of keywords": Accepted(lambda: renamed("while"), "identifiers are made of them"),
    "a long name": Accepted(lambda: renamed("n" * 100_000), "messages show its beginning"),
}  # fmt: skip
