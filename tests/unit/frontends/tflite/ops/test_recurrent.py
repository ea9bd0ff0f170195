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
from support.networks.recurrent import Lstm, Svdf, run_tflm_steps
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


@pytest.mark.parametrize("seed", range(30))
def test_lstm_equals_tflm_run_by_run(seed: int) -> None:
    layer, clip = Lstm.drawn(seed), [0.0, 0.0, 1.5, 2.0][seed % 4]
    factor = [1.0, 1.0, 1.3, 0.8][seed % 4] if seed % 5 == 0 else 1.0
    data, samples = layer.build(seed, clip=clip, factor=factor), layer.samples(seed, STEPS)
    expected = run_tflm_steps(data, samples)
    np.testing.assert_array_equal(run_steps(data, samples), expected)
    assert len(np.unique(expected)) > 20


def test_lstm_becomes_two_ops_a_step_and_two_states() -> None:
    graph = load(Lstm().build(1)).graph
    names = [node.op.name for node in graph.op_nodes]
    assert names.count("q.lstm_cell") == names.count("q.lstm_output") == 5
    constants = {o for n in graph.op_nodes for o in n.operands if o.constant is not None}
    assert len(constants) == 6
    hidden, cell = (state.node.op for state, _ in graph.states)
    assert isinstance(hidden, State)
    assert isinstance(cell, State)
    assert hidden.initial == graph.states[0][0].type.quant.zero_point[0]
    assert cell.initial == 0


def changed_lstm(change: Callable[[Any], None]) -> bytes:
    """Return the file of an LSTM layer after a change of its subgraph."""
    model = unpack(Lstm().build(1))
    change(model.subgraphs[0])
    return pack(model)


def without(index: int) -> Callable[[Any], None]:
    """Return the change that leaves out an input."""

    def change(graph: Any) -> None:
        graph.operators[0].inputs[index] = -1

    return change


def peephole(graph: Any) -> None:
    """Add weights of a peephole."""
    graph.operators[0].inputs[9] = graph.operators[0].inputs[12]


def relu(graph: Any) -> None:
    """Ask for another activation than tanh."""
    graph.operators[0].builtinOptions.fusedActivationFunction = 1


def other_output(graph: Any) -> None:
    """Give the output another scale than the hidden state."""
    graph.tensors[graph.outputs[0]].quantization.scale = np.full(1, 0.5, np.float32)


def other_cell(graph: Any) -> None:
    """Give the cell state fewer units."""
    graph.tensors[graph.operators[0].inputs[19]].shape = np.array([1, 3], np.int32)


REFUSED_LSTMS = {
    "no input gate": without(1),
    "no bias": without(13),
    "no cell state": without(19),
    "peephole": peephole,
    "activation": relu,
    "scale of the output": other_output,
    "shape of the cell state": other_cell,
}


@pytest.mark.parametrize("name", REFUSED_LSTMS)
def test_other_forms_of_lstm_are_refused(name: str) -> None:
    with raises((FrontendError, UnsupportedOpError)):
        load(changed_lstm(REFUSED_LSTMS[name]))


def test_long_sequences_are_refused() -> None:
    with raises(UnsupportedOpError):
        load(Lstm(steps=65).build(1))


def test_a_cell_state_of_a_large_scale_is_refused() -> None:
    with raises(UnsupportedOpError):
        load(Lstm().build(1, factor=2.0**17))
