"""Limits, names and provenance of imported TFLite models."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from malformed.tflite_models import CODES, hybrid, sound_model

from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.ops.importers import importer
from rlx.ir import Constant, Input, QuantParams
from rlx.ir.module import Stage
from rlx.support.errors import FrontendError, UnsupportedOpError
from rlx.support.limits import Limits
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises

# Names that would be code, markup, a path or a terminal command if they were let through.
HOSTILE = (
    "*/ int evil = 1; /*",
    "a\nb\rc\x00d\x1b[31m",
    "'; DROP TABLE nodes; --",
    "../../etc/passwd",
    "module evil; endmodule",
    "${IFS}$(touch evil)",
    "\u202egnp.exe",
    "int",
    "",
    "%n%s%x",
    "a" * 1024,
)


@pytest.mark.parametrize(
    "limits",
    [
        {"file_bytes": 1000},
        {"nodes": 4},
        {"tensors": 10},
        {"rank": 3},
        {"dimension": 11},
        {"elements": 47},
        {"constant_bytes": 100},
        {"total_elements": 150},
        {"operations": 900},
        {"operands": 2},
        {"taps": 3},
        {"nesting": 3},
    ],
)
def test_limit_is_kept(limits: dict[str, int]) -> None:
    data = sound_model()
    with raises(FrontendError):
        tflite.load(data, name="m.tflite", limits=Limits(**limits))
    raised = {name: value + 1000 for name, value in limits.items()}
    assert tflite.load(data, limits=Limits(**raised)).stage is Stage.MIR


def test_limit_of_operators_is_kept() -> None:
    model = TfliteBuilder()
    tensors = [model.tensor((1, 3), **CODES) for _ in range(4)]
    for x, y in itertools.pairwise(tensors):
        model.operator("RELU", [x], [y])
    data = model.build(tensors[:1], tensors[-1:])
    with raises(FrontendError):
        tflite.load(data, limits=Limits(nodes=2))
    assert len(list(tflite.load(data, limits=Limits(nodes=3)).graph.op_nodes)) == 3


def test_no_more_than_forty_operators_are_listed() -> None:
    model = TfliteBuilder()
    tensors = [model.tensor((1, 3), **CODES) for _ in range(44)]
    for x, y in itertools.pairwise(tensors):
        model.operator("SIN", [x], [y])
    with pytest.raises(UnsupportedOpError) as caught:
        tflite.load(model.build(tensors[:1], tensors[-1:]), name="m.tflite")
    first, *listed = str(caught.value).splitlines()
    places = ", ".join(f"operator {i} SIN" for i in range(4))
    assert first == f"m.tflite: {places} and others: 43 of 43 operators cannot be imported"
    assert len(listed) == 3 * 40 + 2
    assert listed[-2] == "  and 3 more"


@pytest.mark.parametrize(
    "code",
    ["FLOOR_DIV"],
)
def test_what_is_imported_on_float32_alone_names_the_way(
    code: str,
) -> None:
    model = TfliteBuilder()
    x, y, z = (model.tensor((1, 2, 2), scale=0.5, zero_point=1) for _ in range(3))
    model.operator(code, [x, y], [z])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x, y], [z]))


def test_an_operator_has_one_importer() -> None:
    with raises(ValueError):
        importer("ADD")(lambda call: None)


def named(name: str) -> bytes:
    model = TfliteBuilder()
    x = model.tensor((1, 3), name=name, **CODES)
    y = model.tensor((1, 3), name=name, **CODES)
    model.operator("RELU", [x], [y])
    model.graph.name = name
    return model.build([x], [y])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    graph = tflite.load(named(name), name=f"{name}.tflite").graph
    assert graph.name.isprintable()
    assert graph.name
    for node in graph.nodes:
        assert node.name.isprintable()
        assert node.origin.source.isprintable()
        assert re.fullmatch(r"input 0|operator 0 RELU", node.origin.location)
    assert graph.inputs[0].name
    assert graph.output_names[0]


def test_hostile_names_are_printable_in_messages() -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 3), name="\x1b[31m\n*/", **CODES)
    y = model.tensor((1, 4), name="y" * 1000, **CODES)
    model.operator("RELU", [x], [y])
    with raises(FrontendError):
        tflite.load(model.build([x], [y]), name="a\nb.tflite")


def test_input_names_are_made_distinct() -> None:
    model = TfliteBuilder()
    names = ("a", "a", "", "a_2", "a")
    given = [model.tensor((1, 3), name=n, **CODES) for n in names]
    made = [model.tensor((1, 3), name="b", **CODES) for _ in names]
    for x, y in zip(given, made, strict=True):
        model.operator("RELU", [x], [y])
    graph = tflite.load(model.build(given, made)).graph
    assert [v.name for v in graph.inputs] == ["a", "a_2", "input_2", "a_2_2", "a_3"]
    assert graph.output_names == ("b", "b_2", "b_3", "b_4", "b_5")


def test_nodes_know_where_they_come_from() -> None:
    graph = tflite.load(sound_model(), name="folder.tflite").graph
    assert graph.name == "folder"
    found = {
        str(n.origin): (n.op.name, n.name) for n in graph.nodes if not isinstance(n.op, Constant)
    }
    assert found == {
        "folder.tflite input 0": ("core.input", "x"),
        "folder.tflite operator 0 CONV_2D": ("q.conv2d", "conv"),
        "folder.tflite operator 1 MAX_POOL_2D": ("q.max_pool2d", "pooled"),
        "folder.tflite operator 2 RESHAPE": ("q.reshape", "flat"),
        "folder.tflite operator 3 FULLY_CONNECTED": ("q.dense", "dense"),
        "folder.tflite operator 4 SOFTMAX": ("q.softmax", "probability"),
    }
    constants = {str(n.origin): n.name for n in graph.nodes if isinstance(n.op, Constant)}
    assert constants == {
        "folder.tflite tensor 1": "w",
        "folder.tflite tensor 2": "b",
        "folder.tflite tensor 7": "fc_w",
        "folder.tflite tensor 8": "fc_b",
    }


def test_values_keep_their_quantization() -> None:
    graph = tflite.load(sound_model()).graph
    (x,) = graph.inputs
    assert x.type.quant == QuantParams.per_tensor(0.5, -1)
    quants: dict[str, Any] = {n.name: n.types[0].quant for n in graph.nodes}
    assert quants["conv"] == QuantParams.per_tensor(0.5, -128)
    assert quants["dense"] == QuantParams.per_tensor(0.25, 3)
    scales = tuple(float(np.float32(s)) for s in (0.1, 0.2, 0.3))
    assert quants["w"] == QuantParams(scales, (0, 0, 0), 0)
    assert isinstance(x.node.op, Input)


def test_unused_tensors_do_not_enter_the_graph() -> None:
    model = TfliteBuilder()
    x, y = (model.tensor((1, 3), name=n, **CODES) for n in "xy")
    model.constant(np.zeros(100, np.int8), name="unused", scale=1.0)
    model.operator("RELU", [x], [y])
    graph = tflite.load(model.build([x], [y])).graph
    assert [n.name for n in graph.nodes] == ["x", "y"]


def test_dequantized_weights_count_as_float32() -> None:
    data = hybrid()
    assert tflite.load(data, limits=Limits(constant_bytes=24)).graph.outputs
    with raises(FrontendError):
        tflite.load(data, limits=Limits(constant_bytes=23))
