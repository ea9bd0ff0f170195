"""The one name of a layer: the rule on exporters' names, and names through passes and files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Graph, Origin, Rewriter, f32
from rlx.ir.file import load, save
from rlx.ir.layer_names import (
    SourceLayer,
    layer_names,
    main_node,
    origins_of,
    shortest_names,
    with_layer_names,
)
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
from rlx.ir.types import QuantParams
from rlx.ops.nn import NnBatchNorm, NnLinear, NnRelu
from rlx.ops.real import RealAdd, RealQuantize, RealReshape
from rlx.support.text.names import KEYWORDS, comment_text, mangle


def fused(number: str, shared: str) -> str:
    """Return a name that TensorFlow's converter gives a convolution with all that is part of it."""
    return ";".join(
        f"model/{part}"
        for part in (
            f"activation{number}/Relu", f"batch_normalization{number}/FusedBatchNormV3",
            f"conv2d{number}/BiasAdd/ReadVariableOp/resource", f"conv2d{number}/BiasAdd",
            f"conv2d{shared}/Conv2D", f"conv2d{number}/Conv2D1",
        )
    )  # fmt: skip


TFLITE = [
    fused("", "_2"),
    fused("_1", "_2"),
    "model/batch_normalization_2/FusedBatchNormV3;model/conv2d_2/BiasAdd/ReadVariableOp/resource;"
    "model/conv2d_2/BiasAdd;model/conv2d_2/Conv2D",
    fused("_3", "_5").replace("activation_3", "conv2d_3"),
    "model/depthwise_conv2d/depthwise;model/depthwise_conv2d/BiasAdd;"
    "model/batch_normalization_4/FusedBatchNormV3",
]
KWS = [
    f"functional_1/activation_{i}/Relu;functional_1/batch_normalization_{i}/FusedBatchNormV3;"
    f"functional_1/conv2d_{i}/BiasAdd/ReadVariableOp/resource;functional_1/conv2d_{i}/BiasAdd;"
    f"functional_1/conv2d_4/Conv2D;functional_1/conv2d_{i}/Conv2D1"
    for i in range(1, 4)
] + [
    "functional_1/activation_8/Relu;functional_1/batch_normalization_8/FusedBatchNormV3;"
    "functional_1/conv2d_4/BiasAdd/ReadVariableOp/resource;functional_1/conv2d_4/BiasAdd;"
    "functional_1/conv2d_4/Conv2D1"
]


def weighted(*texts: str, op: str = "conv2d") -> list[SourceLayer]:
    return [SourceLayer(text, op, 1) for text in texts]


def plain(*texts: str, op: str = "relu") -> list[SourceLayer]:
    return [SourceLayer(text, op) for text in texts]


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        pytest.param(
            weighted(*TFLITE),
            ["conv2d", "conv2d_1", "conv2d_2", "conv2d_3", "depthwise_conv2d"],
            id="tflite-fused",
        ),
        pytest.param(
            weighted(*KWS), ["conv2d_1", "conv2d_2", "conv2d_3", "conv2d_4"], id="tflite-shared"
        ),
        pytest.param(
            plain("model/add/add", "model/add_1/add", "model/flatten/Reshape"),
            ["add", "add_1", "flatten"],
            id="tflite-plain",
        ),
        pytest.param(
            weighted("/0/Conv", "/3/Conv", "/11/Gemm") + plain("/1/Relu", "/2/MaxPool"),
            ["0/Conv", "3/Conv", "11/Gemm", "1/Relu", "2/MaxPool"],
            id="sequential",
        ),
        pytest.param(
            weighted(
                "/features/features.0/features.0.0/Conv",
                "/features/features.3/conv/conv.0/conv.0.0/Conv",
                "/features/features.3/conv/conv.1/conv.1.0/Conv",
                "/features/features.4/conv/conv.0/conv.0.0/Conv",
                "/features/features.4/conv/conv.1/conv.1.0/Conv",
                "/classifier/classifier.1/Gemm",
            )
            + plain("/features/features.3/conv/conv.0/conv.0.2/Clip"),
            [
                "features.0",
                "features.3/conv.0",
                "features.3/conv.1",
                "features.4/conv.0",
                "features.4/conv.1",
                "classifier",
                "conv.0.2",
            ],
            id="torch-modules",
        ),
        pytest.param(
            weighted("functional_1/conv2d_1/convolution", "functional_1/conv2d_3_1/convolution")
            + plain("functional_1/conv2d_1/Relu", "functional_1/conv2d_3_1/Relu"),
            ["conv2d_1", "conv2d_3_1", "conv2d_1/Relu", "conv2d_3_1/Relu"],
            id="keras-onnx",
        ),
        pytest.param(
            weighted("node_conv2d", "node_conv2d_3", "node_linear") + plain("node_relu"),
            ["node_conv2d", "node_conv2d_3", "node_linear", "node_relu"],
            id="dynamo",
        ),
        pytest.param(weighted("Conv_0", "Conv_2", op="conv"), ["Conv_0", "Conv_2"], id="torch-1"),
        pytest.param(weighted("12", "15", op="conv"), ["conv_12", "conv_15"], id="numbers"),
        pytest.param(weighted("", "", op="conv"), ["conv", "conv_2"], id="unnamed"),
        pytest.param(
            weighted("model/bn/FusedBatchNormV3:0", "model/bn_1/FusedBatchNormV3:0"),
            ["bn", "bn_1"],
            id="tensors",
        ),
        pytest.param(weighted("conv", "conv"), ["conv", "conv_2"], id="twice"),
        pytest.param(weighted("Conv", "conv"), ["Conv", "conv_2"], id="case"),
        pytest.param(weighted("a/b", "a_b"), ["a", "a_b"], id="punctuation"),
    ],
)
def test_a_name_is_the_shortest_part_that_no_other_layer_has(
    layers: list[SourceLayer], names: list[str]
) -> None:
    assert shortest_names(layers) == names


@pytest.mark.parametrize(
    "text",
    ["../../etc/passwd", '"; system("x")', "*/ x /*", "x" * 10_000, "a/" * 5_000, "畳み込み/層",
     "größe", "\x1b[31m\n", "float", "module", "NUL", "--flag", "%s%n", "<b>", "0", "-", "/", ";"],
)  # fmt: skip
def test_hostile_names_become_safe_ones(text: str) -> None:
    (name,) = shortest_names(weighted(text))
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,63}", name)
    assert comment_text(name) == name
    assert ".." not in name.split("/")
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", mangle(name))
    assert mangle(name) not in KEYWORDS


WORDS = st.sampled_from(["model", "conv", "conv_1", "0", "1", "Relu", "features.3", "größe", "A"])
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.lists(WORDS, max_size=5).map("/".join), max_size=4).map(";".join),
)
LAYERS = st.lists(
    st.builds(SourceLayer, TEXTS, st.sampled_from(["conv", "relu"]), st.integers(0, 2)), max_size=12
)


@given(LAYERS)
def test_names_differ_as_identifiers_and_files_too(layers: list[SourceLayer]) -> None:
    names = shortest_names(layers)
    assert len({re.sub("[^a-z0-9]+", "_", n.lower()).strip("_") for n in names}) == len(layers)
    assert all(re.fullmatch(r"[A-Za-z0-9_./-]{1,64}", n) for n in names)
    assert shortest_names(layers) == names


@given(st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=8, unique=True),
       st.text(max_size=20))  # fmt: skip
def test_an_appended_layer_renames_none_that_has_a_word_of_its_own(
    words: list[str], other: str
) -> None:
    layers = weighted(*words)
    assert shortest_names([*layers, *plain(other)])[: len(words)] == shortest_names(layers)


SEEDED = """
from rlx.ir.layer_names import SourceLayer, shortest_names
texts = [f"/ab/cd.{i % 2}/ef.{i // 2}/gh.{i % 3}/Conv" for i in range(8)]
print(shortest_names([SourceLayer(text, "conv", 1 + i % 2) for i, text in enumerate(texts)]))
"""


def test_names_do_not_depend_on_the_hash_of_texts() -> None:
    environments = ({**os.environ, "PYTHONHASHSEED": str(seed)} for seed in range(4))
    command = [sys.executable, "-c", SEEDED]
    printed = {subprocess.run(command, env=e, capture_output=True).stdout for e in environments}
    assert len(printed) == 1
    assert b"cd.1/ef.0" in printed.pop()


def network() -> Graph:
    graph, quant = Graph("net"), QuantParams.per_tensor(0.5, 0)
    x = graph.input("image", f32(1, 4), origin=Origin("net.onnx", "input 0"))
    weights = graph.constant(np.ones((3, 4), np.float32), name="w")
    layer = Origin("net.onnx", "node 0 Gemm '/0/Gemm'")
    y = graph.apply(NnLinear(), x, weights, name="/0/Gemm_output_0", origin=layer)
    y = graph.apply(NnRelu(), y, name="/0/Gemm_output_0", origin=layer)
    graph.output(graph.apply(RealQuantize(quant=quant), y, name="out"), names=["out"])
    return graph


def test_nodes_of_one_layer_are_told_apart_by_their_ops() -> None:
    named = with_layer_names(network(), {"node 0 Gemm '/0/Gemm'": "/0/Gemm"})
    assert list(layer_names(named).values()) == ["image", "0/Gemm", "0/Gemm_relu", "out"]
    assert with_layer_names(named) is named


def test_an_unnamed_graph_has_the_names_that_it_would_get() -> None:
    graph = network()
    assert list(layer_names(graph).values()) == list(layer_names(with_layer_names(graph)).values())


def test_what_a_pass_inserts_is_called_after_its_operand() -> None:
    named = with_layer_names(network(), {"node 0 Gemm '/0/Gemm'": "/0/Gemm"})
    quant = QuantParams.per_tensor(0.5, 0)
    rewriter = Rewriter(named)
    for node in rewriter:
        rewriter.keep(node)
        if not node.operands and node.types[0].rank == 2 and node.name == "image":
            rewriter.new.set_defaults()
            rewriter.new.apply(RealQuantize(quant=quant), rewriter[node.result])
        elif isinstance(node.op, NnLinear):
            rewriter.new.apply(RealReshape(shape=(3,)), rewriter[node.result])
    names = list(layer_names(rewriter.finish()).values())
    assert names == ["image", "image_quantize", "0/Gemm", "0/Gemm_reshape", "0/Gemm_relu", "out"]


def test_the_layer_with_weights_is_the_main_one_else_what_joins_values() -> None:
    graph = Graph("net")
    x = graph.input("x", f32(1, 4))
    relu = graph.append(NnRelu(), x)
    add = graph.append(RealAdd(), relu.result, x)
    last = graph.append(NnRelu(), add.result)
    linear = graph.append(NnLinear(), last.result, graph.constant(np.ones((3, 4), np.float32)))
    moved = graph.append(RealReshape(shape=(3,)), linear.result)
    assert main_node([relu, add, last, linear, moved]) is linear
    assert main_node([relu, add, last]) is add
    assert main_node([relu, moved]) is relu
    assert main_node([x.node, linear]) is x.node


def test_batch_norms_have_no_matrix_of_weights() -> None:
    graph = Graph("net")
    x = graph.input("x", f32(1, 4))
    ones = [graph.constant(np.ones(4, np.float32)) for _ in range(4)]
    norm = graph.append(NnBatchNorm(axis=1, epsilon=0.0), x, *ones)
    add = graph.append(RealAdd(), norm.result, x)
    assert main_node([norm, add]) is add


def test_origins_are_joined_each_once_the_main_one_first() -> None:
    conv, relu = Origin("n.onnx", "node 0 Conv", (), "conv"), Origin("n.onnx", "node 1 Relu")
    joined = conv.join([relu]).through("pass").join([relu, conv])
    assert joined.places == ("n.onnx node 0 Conv", "n.onnx node 1 Relu")
    assert (joined.layer, joined.passes) == ("conv", ("pass",))
    assert conv.join([conv]) is conv


def test_origins_of_a_network_made_by_hand_are_the_names_given() -> None:
    graph = Graph("net")
    node = graph.input("x", f32(1)).node
    assert origins_of(node) == ("x",)


def test_names_and_origins_are_in_text_and_file(tmp_path: object) -> None:
    named = with_layer_names(network())
    rewriter = Rewriter(named, by="p")
    for node in rewriter:
        rewriter.keep(node, origin=node.origin.join([Origin("net.onnx", 'node 9 "x"')]))
    graph = rewriter.finish()
    path = f"{tmp_path}/net.rlx"
    save(graph, path)
    for copy in (load(path).graph, parse_graph(format_graph(graph))):
        assert [n.origin for n in copy.nodes] == [n.origin for n in graph.nodes]
        assert list(layer_names(copy).values()) == list(layer_names(graph).values())


def test_a_thousand_layers_are_named_in_a_moment() -> None:
    layers = weighted(*(TFLITE[0].replace("conv2d", f"conv2d_{i}") for i in range(1_000)))
    best = 1.0
    for _ in range(5):
        begin = time.perf_counter()
        names = shortest_names(layers)
        best = min(best, time.perf_counter() - begin)
    assert len(set(names)) == 1_000
    assert best < 0.2  # 0.02 on an idle machine
