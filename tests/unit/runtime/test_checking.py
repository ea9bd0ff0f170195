"""Programs of compilers are compared with NumPy before their first result."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rlx
from rlx.ir import DType, Graph, QuantParams, TensorType, f32, i8
from rlx.ops import q, real
from rlx.ops.control import While
from rlx.ops.numerics.fixed_point import Rescale
from rlx.runtime import CompileOptions, Session, backend
from rlx.runtime.checking import checked, compare_with_numpy, exact_values
from rlx.runtime.lowering import lower
from rlx.runtime.numpy_backend import BACKEND, NumpyProgram
from rlx.runtime.numpy_backend.backend import NumpyBackend
from rlx.support import config
from rlx.support.errors import BackendWarning, CacheWarning, DifferenceError
from support.messages import raises

HALF = QuantParams.per_tensor(0.5, 0)


class Wrong(NumpyBackend):
    """NumPy, but the results of one op are too large by one."""

    name = "wrong"
    rank = 9

    def __init__(self, op=None):
        self.op = op
        self.runs = 0

    def compiler(self):
        return "cc 1.0"

    def compile(self, module, options):
        return WrongProgram(self, module, options)


class WrongProgram(NumpyProgram):
    def __init__(self, owner, module, options):
        self.owner = owner
        super().__init__(module, options)

    def run(self, inputs):
        self.owner.runs += 1
        return super().run(inputs)

    def _bind(self):
        super()._bind()
        self._steps = tuple((node, self.spoiled(node, run)) for node, run in self._steps)
        self._runs = tuple(run for _, run in self._steps)

    def spoiled(self, node, run):
        if type(node.op) is not self.owner.op:
            return run
        array = self._arrays[node.results[0]]

        def spoil():
            run()
            array[...] += 1

        return spoil


def integer_graph():
    graph = Graph("integers")
    x = graph.input("x", i8(1, 4))
    y = graph.apply(q.QClamp(low=-100, high=100), x)
    z = graph.apply(
        q.QRequantize(x_zero_point=3, rescale=Rescale.of(0.7), zero_point=-2), y, name="scaled"
    )
    graph.output(graph.apply(q.QClamp(low=-50, high=50), z), names=["y"])
    return graph


@pytest.fixture
def wrong(monkeypatch):
    made = Wrong()
    monkeypatch.setattr(backend, "backends", lambda: (made, BACKEND))
    return made


INPUT = {"x": np.array([[1, -128, 127, 40]], np.int8)}


def test_the_next_backend_runs_what_a_compiler_gets_wrong(wrong):
    wrong.op = q.QRequantize
    compiled = Session().compile(integer_graph())
    with pytest.warns(BackendWarning, match=r"^q.requantize %2 'scaled': .* numpy is used instead"):
        (y,) = compiled.run(INPUT)
    (expected,) = Session("cpu", CompileOptions(backend="numpy")).compile(
        integer_graph()
    ).run(INPUT)  # fmt: skip
    np.testing.assert_array_equal(y, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled.run(INPUT)


def test_without_another_backend_it_is_an_error(wrong, monkeypatch):
    wrong.op = q.QRequantize
    monkeypatch.setattr(backend, "backends", lambda: (wrong,))
    with raises(DifferenceError):
        Session().compile(integer_graph()).run(INPUT)


def test_each_backend_is_tried_once(wrong, monkeypatch):
    wrong.op = q.QRequantize
    worse = Wrong(q.QRequantize)
    worse.name = "worse"
    monkeypatch.setattr(backend, "backends", lambda: (BACKEND, wrong, worse))
    compiled = Session("cpu", CompileOptions(backend="worse")).compile(integer_graph())
    with pytest.warns(BackendWarning, match="backend numpy is used instead$"):
        compiled.run(INPUT)
    monkeypatch.setattr(backend, "backends", lambda: (wrong, worse))
    compiled = Session("cpu", CompileOptions(backend="worse")).compile(integer_graph())
    with (
        pytest.warns(BackendWarning, match="backend wrong is used instead$"),
        pytest.raises(DifferenceError),
    ):
        compiled.run(INPUT)


def test_a_right_program_is_compared_once(wrong):
    compiled = Session().compile(integer_graph())
    assert wrong.runs == 0
    for runs in (2, 3):
        compiled.run(INPUT)
        assert wrong.runs == runs


def test_a_setting_switches_the_comparison_off(wrong):
    wrong.op = q.QRequantize
    compiled = Session().compile(integer_graph())
    with config.override(check_compiled=False):
        compiled.run(INPUT)
    assert wrong.runs == 1


def test_batches_are_compared_too(wrong):
    compiled = Session().compile(integer_graph())
    compiled.run({"x": np.zeros((3, 4), np.int8)})
    wrong.op = q.QRequantize
    with pytest.warns(BackendWarning):
        compiled.run({"x": np.zeros((2, 4), np.int8)})


def test_states_are_as_before_the_comparison(wrong):
    graph = Graph("counter")
    total = graph.state("total", TensorType((2,), DType.I32))
    x = graph.input("x", TensorType((2,), DType.I32))
    graph.output(graph.apply(real.RealAdd(), total, x), names=["total"])
    compiled = Session().compile(graph)
    compiled.bind_state("total", np.array([5, 6], np.int32))
    (after,) = compiled.run({"x": np.array([1, 1], np.int32)})
    assert after.tolist() == [6, 7]
    assert wrong.runs == 2


def test_floats_that_may_be_rounded_otherwise_are_not_compared(wrong):
    wrong.op = real.RealMul
    graph = rlx.trace("floats", lambda x: x * x, f32(3))
    (y,) = Session().compile(graph).run({"x": np.ones(3)})
    assert y.tolist() == [2, 2, 2]


def test_exact_values_are_those_that_no_float_op_made():
    graph = Graph("mixed")
    x = graph.input("x", f32(4))
    codes = graph.apply(real.RealQuantize(quant=HALF), x)
    clamped = graph.apply(q.QClamp(low=0), codes)
    back = graph.apply(real.RealDequantize(quant=HALF), clamped)
    doubled = graph.apply(real.RealAdd(), back, back)
    again = graph.apply(real.RealQuantize(quant=HALF), doubled)
    graph.output(again)
    assert exact_values(graph) == {codes, clamped, back}


def comparison(graph):
    options = CompileOptions()
    program = BACKEND.compile(BACKEND.plan(rlx.ir.GraphModule(graph, rlx.ir.Stage.MIR), options),
                              options)  # fmt: skip
    return compare_with_numpy(program, BACKEND, options, {})


def test_inputs_that_are_indices_stay_within_their_axis():
    graph = Graph("table")
    rows = graph.constant(np.arange(6, dtype=np.int32).reshape(2, 3))
    index = graph.input("index", TensorType((20,), DType.I32))
    graph.output(graph.apply(real.RealGather(axis=0), rows, index))
    assert comparison(graph).outputs == 1


def test_a_loop_without_a_bound_is_not_run():
    condition, body = Graph("condition"), Graph("body")
    type_ = TensorType((), DType.I32)
    value = condition.input("i", type_)
    condition.output(
        condition.apply(
            real.RealCompare(relation=real.Comparison.NOT_EQUAL), value,
            condition.constant(np.int32(-1)),
        )
    )  # fmt: skip
    value = body.input("i", type_)
    body.output(body.apply(real.RealAdd(), value, body.constant(np.int32(1))))
    graph = Graph("endless")
    graph.output(graph.apply(While(condition=condition, body=body), graph.input("i", type_)))
    assert comparison(graph).outputs == 0


class Keyed(Wrong):
    """``Wrong``, whose code has a key."""

    key = "code 1"

    def compile(self, module, options):
        return KeyedProgram(self, module, options)


class KeyedProgram(WrongProgram):
    @property
    def code_key(self):
        return self.owner.key


@pytest.fixture
def own_cache(tmp_path):
    with config.override(compile_cache=tmp_path / "cache"):
        yield tmp_path / "cache"


def check_keyed(graph=None, key="code 1", op=None):
    """Check a new program of ``graph`` by ``checked``; return the comparison and its runs."""
    made = Keyed(op)
    made.key = key
    options = CompileOptions(backend="keyed")
    module = lower(graph or integer_graph(), made, options).module
    program = made.compile(module, options)
    program.set_params({})
    return checked(program, made, options, {}), made.runs


def test_a_passed_comparison_is_kept_on_disk(own_cache):
    (first, runs), (second, later) = check_keyed(), check_keyed()
    assert (runs, later) == (1, 0)
    assert second == first
    assert first.outputs == 1


def test_other_code_graphs_and_versions_are_compared(own_cache, monkeypatch):
    check_keyed()
    assert check_keyed(key="code 2")[1] == 1
    assert check_keyed(graph=other_integers())[1] == 1
    assert check_keyed()[1] == 0
    monkeypatch.setattr(np, "__version__", "0")
    assert check_keyed()[1] == 1


def test_a_failed_comparison_is_not_kept(own_cache):
    for _ in range(2):
        with pytest.raises(DifferenceError):
            check_keyed(op=q.QRequantize)
    assert not own_cache.exists()


def test_a_damaged_comparison_is_made_again(own_cache):
    check_keyed()
    (entry,) = own_cache.glob("[0-9a-f]*")
    content = bytearray(entry.read_bytes())
    content[-1] ^= 1
    entry.write_bytes(content)
    with pytest.warns(CacheWarning, match="it is damaged"):
        assert check_keyed()[1] == 1
    assert check_keyed()[1] == 0


def other_integers():
    graph = Graph("other")
    x = graph.input("x", i8(1, 4))
    graph.output(graph.apply(q.QClamp(low=-99, high=100), x), names=["y"])
    return graph
