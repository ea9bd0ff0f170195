"""States: inputs whose next value is the output of their name."""

import numpy as np

import rlx
from rlx.ir import DType, Graph, GraphModule, State, TensorType, f32
from rlx.ir.evaluate import evaluate
from rlx.ir.parser import parse_graph
from rlx.ir.printer import format_graph
from rlx.ir.verify import verify
from rlx.passes.transforms.batch import with_batch
from rlx.support.errors import ShapeError, TextFormError, VerifyError
from rlx.tracing import Graph as Builder
from support.messages import raises


def running_sum() -> Graph:
    graph = Builder("running_sum")
    x = graph.input("x", (1, 3))
    total = graph.state("total", (1, 3))
    new = total + x
    graph.set_state(total, new)
    graph.output(new * 2.0, names=["y"])
    return graph.graph


def test_a_state_is_an_input_and_an_output() -> None:
    graph = running_sum()
    verify(GraphModule.hir(graph))
    assert [v.name for v in graph.inputs] == ["x", "total"]
    assert graph.output_names == ("total", "y")
    ((state, following),) = graph.states
    assert isinstance(state.node.op, State)
    assert following == graph.outputs[0]
    ones = np.ones((1, 3), np.float32)
    total, y = evaluate(graph, {"x": ones, "total": 4 * ones})
    np.testing.assert_array_equal(total, 5 * ones)
    np.testing.assert_array_equal(y, 10 * ones)


def test_the_text_form_keeps_states() -> None:
    graph = running_sum()
    text = format_graph(graph)
    assert "core.state() : f32[1, 3]" in text
    assert format_graph(parse_graph(text)) == text


def test_a_file_keeps_states(tmp_path: object) -> None:
    path = f"{tmp_path}/sum.rlx"
    rlx.save(GraphModule.hir(running_sum()), path)
    assert len(rlx.load(path).graph.states) == 1


def test_both_forms_keep_the_initial_value(tmp_path: object) -> None:
    graph = Builder("count")
    state = graph.state("s", (2,), "i8", initial=-128)
    graph.set_state(state, state)
    graph.output(graph.input("x", (1,)), names=["y"])
    text = format_graph(graph.graph)
    assert "core.state() {initial=-128} : i8[2]" in text
    assert format_graph(parse_graph(text)) == text
    path = f"{tmp_path}/count.rlx"
    rlx.save(GraphModule.hir(graph.graph), path)
    assert rlx.load(path).graph == graph.graph
    zero = parse_graph(text.replace("-128", "0"))
    assert zero != graph.graph
    assert "initial" not in format_graph(zero)


def test_the_host_begins_with_the_initial_value() -> None:
    graph = Builder("count")
    state = graph.state("s", (2,), "i8", initial=7)
    graph.set_state(state, state + 1)
    graph.output(state, names=["y"])
    compiled = rlx.Session().compile(graph)
    assert [compiled.run({})[1].tolist() for _ in range(2)] == [[7, 7], [8, 8]]
    compiled.reset_state()
    assert compiled.read_state("s").tolist() == [7, 7]


def test_an_initial_value_that_does_not_fit_is_refused() -> None:
    with raises(ShapeError):
        Graph("g").state("s", TensorType((1,), DType.I8), initial=128)


def test_an_initial_value_that_is_no_integer_is_refused() -> None:
    text = 'graph "g" {\n  %0 = core.state() {initial=1.5} : f32[1] name "s"\n}'
    with raises(TextFormError):
        parse_graph(text)


def test_a_batch_has_a_state_for_each_sample() -> None:
    graph = with_batch(running_sum(), 4)
    ((state, following),) = graph.states
    assert state.type.shape == following.type.shape == (4, 3)
    verify(GraphModule.hir(graph))


def test_a_state_without_a_next_value_is_refused() -> None:
    graph = Graph("open")
    state = graph.state("s", f32(2))
    graph.output(state, names=["y"])
    with raises(VerifyError):
        verify(GraphModule.hir(graph))


def test_a_next_value_of_another_type_is_refused() -> None:
    graph = Graph("other")
    state = graph.state("s", f32(2))
    x = graph.input("x", f32(3))
    graph.output(x, state, names=["s", "y"])
    with raises(VerifyError):
        verify(GraphModule.hir(graph))


class TestSetState:
    def test_refuses_what_is_no_state(self) -> None:
        graph = Builder("g")
        x = graph.input("x", (3,))
        with raises(ValueError):
            graph.set_state(x, x)

    def test_refuses_a_second_value(self) -> None:
        graph = Builder("g")
        state = graph.state("s", (3,))
        graph.set_state(state, state + 1.0)
        with raises(ValueError):
            graph.set_state(state, state)

    def test_refuses_another_type(self) -> None:
        graph = Builder("g")
        state, x = graph.state("s", (3,)), graph.input("x", (4,))
        with raises(ShapeError):
            graph.set_state(state, x)
