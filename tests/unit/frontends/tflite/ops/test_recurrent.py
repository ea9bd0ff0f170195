"""Recurrent layers: equal to TensorFlow Lite Micro step by step, with the state of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rlx
from rlx.frontends.tflite.frontend import load
from rlx.ir import State
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import pack, unpack
from support.messages import raises
from support.networks.recurrent import Svdf, run_tflm_steps
from support.references.litert import run_litert

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

STEPS = 60


def run_steps(data: bytes, samples: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return the outputs of rlx, run by run."""
    compiled = rlx.Session().compile(load(data).graph)
    return np.stack([compiled.run({"x": x}, outputs=["y"])[0] for x in samples])


@pytest.mark.parametrize("seed", range(40))
def test_svdf_equals_tflm_step_by_step(seed: int) -> None:
    layer, activation = Svdf.drawn(seed), ["NONE", "RELU", "RELU6"][seed % 3]
    data, samples = layer.build(seed, activation=activation), layer.samples(seed, STEPS)
    expected = run_tflm_steps(data, samples)
    np.testing.assert_array_equal(run_steps(data, samples), expected)
    assert len(np.unique(expected)) >= 20


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_svdf_without_a_bias_equals_litert(seed: int) -> None:
    """TensorFlow Lite Micro ends the process there."""
    layer = Svdf.drawn(seed)
    data, samples = layer.build(seed, bias=False, activation="RELU"), layer.samples(seed, STEPS)
    (expected,) = run_litert(data, *([x] for x in samples))
    np.testing.assert_array_equal(run_steps(data, samples), expected)


@pytest.mark.parametrize(("state", "ops"), [
    ("int16", ["q.svdf_state", "q.svdf"]),
    ("int8", ["q.dense", "q.reshape", "q.slice", "q.reshape", "q.concat", "q.reshape",
              "q.reshape", "q.conv2d", "q.reshape"]),
])  # fmt: skip
def test_svdf_becomes_ops_and_a_state(state: str, ops: list[str]) -> None:
    graph = load(Svdf(state).build(1)).graph
    assert sorted(node.op.name for node in graph.op_nodes) == sorted(ops)
    ((state_value, following),) = graph.states
    assert isinstance(state_value.node.op, State)
    assert (state_value.name, state_value.node.op.initial) == ("state", 0)
    assert state_value.type == following.type


def changed(change: Callable[[Any], None]) -> bytes:
    """Return the file of a layer after a change of its subgraph."""
    model = unpack(Svdf().build(1))
    change(model.subgraphs[0])
    return pack(model)


def fixed_state(graph: Any) -> None:
    """Let the state be no variable, but an input of the graph."""
    graph.tensors[graph.operators[0].inputs[4]].isVariable = False
    graph.inputs = np.array([*graph.inputs, graph.operators[0].inputs[4]], np.int32)


def shared_state(graph: Any) -> None:
    """Let the state be an output of the graph too."""
    graph.outputs = np.array([*graph.outputs, graph.operators[0].inputs[4]], np.int32)


def other_rank(graph: Any) -> None:
    """Let three filters belong to each of four units."""
    graph.operators[0].builtinOptions.rank = 3


def other_time(graph: Any) -> None:
    """Give the weights over time a zero point."""
    graph.tensors[graph.operators[0].inputs[2]].quantization.zeroPoint = np.array([3], np.int64)


def unscaled(graph: Any) -> None:
    """Give the state the scale 0, which the layer reads."""
    graph.tensors[graph.operators[0].inputs[4]].quantization.scale = np.zeros(1, np.float32)


def fewer_inputs(graph: Any) -> None:
    """Leave out the state."""
    graph.operators[0].inputs = graph.operators[0].inputs[:4]


REFUSED = {
    "state that is not a variable": fixed_state,
    "state that is an output": shared_state,
    "filters that no unit has": other_rank,
    "zero point of the weights over time": other_time,
    "scale 0 of the state": unscaled,
    "state left out": fewer_inputs,
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_forms_of_svdf_are_refused(name: str) -> None:
    with raises((FrontendError, UnsupportedOpError)):
        load(changed(REFUSED[name]))


@pytest.mark.parametrize("state", ["int16", "int8"])
def test_a_state_with_a_zero_point_is_refused(state: str) -> None:
    with raises(UnsupportedOpError):
        load(Svdf(state).build(1, zero_point=7))
