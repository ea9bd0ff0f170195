"""Variables of TFLite files: states of the graph, equal to TensorFlow Lite Micro step by step."""

import numpy as np
import pytest

import rlx
from rlx.frontends.tflite.frontend import load
from rlx.ir import Graph, State
from support.files.tflite_builder import TfliteBuilder, tflm
from support.networks.streaming import run_steps, wake_word

STEPS = 500


@pytest.mark.parametrize("seed", range(6))
def test_a_streaming_network_is_equal_for_500_steps(seed: int) -> None:
    data, network = wake_word(seed)
    samples = network.samples(STEPS)
    expected = run_steps(data, samples)
    compiled = rlx.Session().compile(load(data).graph)
    names = compiled.output_names
    for _ in range(2):
        runs = [compiled.run({"features": x})[names.index("probability")] for x in samples]
        np.testing.assert_array_equal(np.stack(runs), expected)
        compiled.reset_state()
    assert len(np.unique(expected)) > STEPS // 10


def one_variable(zero_point: int, dtype: str = "int8", *, second: bool = False) -> bytes:
    """Return a network that gives out its input of the step before, or of this one."""
    model = TfliteBuilder()
    options = {"scale": 0.1, "zero_point": zero_point} if dtype == "int8" else {}
    x, y = (model.tensor((1, 4), dtype, name=name, **options) for name in "xy")
    handle = model.tensor([], "resource")
    model.operator("VAR_HANDLE", [], [handle], container="c", sharedName="v")
    calls = [("READ_VARIABLE", [handle], [y]), ("ASSIGN_VARIABLE", [handle, x], [])]
    for code, inputs, outputs in calls[::-1] if second else calls:
        model.operator(code, inputs, outputs)
    return model.build([x], [y])


def state_of(graph: Graph) -> State:
    """Return the only state of a graph."""
    ((state, _),) = graph.states
    assert isinstance(state.node.op, State)
    return state.node.op


@pytest.mark.parametrize("zero_point", [0, 7, -128])
def test_a_variable_begins_with_its_zero_point(zero_point: int) -> None:
    data = one_variable(zero_point)
    graph = load(data).graph
    assert state_of(graph).initial == zero_point
    interpreter, compiled = tflm(data), rlx.Session().compile(graph)
    for value in (10, 20, 30):
        x = np.full((1, 4), value, np.int8)
        interpreter.set_input(x, 0)
        interpreter.invoke()
        y = compiled.run({"x": x}, outputs=["y"])[0]
        np.testing.assert_array_equal(y, interpreter.get_output(0))


def test_floats_begin_with_zeros() -> None:
    graph = load(one_variable(0, "float32")).graph
    compiled = rlx.Session().compile(graph)
    ones = np.ones((1, 4), np.float32)
    runs = [compiled.run({"x": ones}, outputs=["y"])[0].tolist() for _ in range(2)]
    assert runs == [[[0, 0, 0, 0]], [[1, 1, 1, 1]]]


def test_a_value_that_is_read_after_it_was_assigned_is_no_state() -> None:
    graph = load(one_variable(7, second=True)).graph
    assert not graph.states
    assert graph.outputs == graph.inputs


def test_a_state_has_the_name_of_its_variable() -> None:
    data, _ = wake_word(0)
    graph = load(data).graph
    names = ["stream_0/states", "stream_1/states", "stream_last/states"]
    assert [state.name for state, _ in graph.states] == names
    assert [name for name, _ in graph.run_outputs] == ["probability"]
    initial = [int(array.flat[0]) for array in graph.initial_states.values()]
    assert initial == [11, -128, -128]
