"""Sessions and compiled graphs on the NumPy backend."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.ir import Dim, TensorType, f32, i8
from rlx.ir.module import GraphModule
from rlx.runtime import CompiledGraph, CompileOptions, Device, Session
from rlx.support.errors import TargetNotFoundError, UsageError
from support.messages import raises

X = np.arange(8, dtype=np.float32).reshape(2, 4)
W = np.ones((4, 3), np.float32)


def dense() -> rlx.Graph:
    graph = rlx.Graph("dense")
    x, w = graph.input("x", ("batch", 4)), graph.param("w", (4, 3))
    graph.output((x @ w).relu(), (x @ w).sum(-1), names=["y", "total"])
    return graph


def compiled() -> CompiledGraph:
    result = Session().compile(dense())
    result.set_param("w", W)
    return result


def test_build_compile_set_run():
    y, total = compiled().run({"x": X})
    np.testing.assert_array_equal(y, X @ W)
    np.testing.assert_array_equal(total, (X @ W).sum(-1))


@pytest.mark.parametrize("device", [Device.CPU, "cpu"])
def test_every_kind_of_graph_is_taken(device):
    session = Session(device)
    builder = rlx.trace("g", lambda x: -x, f32(2))
    for graph in (builder, builder.graph, builder.module):
        assert isinstance(graph, rlx.Graph | GraphModule | type(builder.graph))
        (y,) = session.compile(graph).run({"x": [1, 2]})
        assert y.tolist() == [-1.0, -2.0]


def test_what_a_compiled_graph_tells():
    result = compiled()
    batch = Dim("batch")
    assert repr(result).startswith('<CompiledGraph "dense": 4 ops, "x" f32[batch, 4] -> ')
    assert repr(result).endswith("; on cpu by numpy>")
    assert repr(Session()) == "Session(cpu)"
    assert result.input_types == {"x": f32(batch, 4)}
    assert result.param_types == {"w": f32(4, 3)}
    assert result.output_names == ("y", "total")
    assert result.output_types == (f32(batch, 3), f32(batch))
    assert result.device is Device.CPU


def test_outputs_by_name_and_by_choice():
    result = compiled()
    named = result.run_named({"x": X})
    assert list(named) == ["y", "total"]
    (total, y) = result.run({"x": X}, outputs=["total", 0])
    np.testing.assert_array_equal(total, named["total"])
    np.testing.assert_array_equal(y, named["y"])
    with raises(ValueError):
        result.run({"x": X}, outputs=["z"])
    with raises(ValueError):
        result.run({"x": X}, outputs=[2])


def test_inputs_by_place():
    result = compiled()
    np.testing.assert_array_equal(result(X.tolist())[0], X @ W)
    np.testing.assert_array_equal(result.run_slots(X)[0], X @ W)
    for call in (result, result.run_slots):
        with raises(ValueError):
            call(X, X)


def test_run_converts_numbers_and_keeps_element_types():
    graph = rlx.Graph("types")
    for dtype in ("f16", "bf16", "i8", "i64", "bool"):
        graph.output(graph.input(dtype, 2, dtype), names=[dtype])
    session = Session().compile(graph)
    given = {"f16": [0.5, 1], "bf16": np.ones(2), "i8": [1, -2], "i64": np.ones(2, np.int8),
             "bool": [True, False]}  # fmt: skip
    for array, (name, type_) in zip(session.run(given), session.input_types.items(), strict=True):
        assert array.dtype == type_.dtype.numpy, name
    exact = {n: np.asarray(v, session.input_types[n].dtype.numpy) for n, v in given.items()}
    for array, (name, value) in zip(session.run_typed(exact), exact.items(), strict=True):
        assert array.dtype == value.dtype, name


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([1.5], TypeError),
        ([300], TypeError),
        (["a"], TypeError),
        ([1, 2], ValueError),
        (1, ValueError),
    ],
)
def test_run_refuses_what_does_not_fit(value, error):
    session = Session().compile(rlx.trace("g", lambda x: x, i8(1)))
    with raises(error):
        session.run({"x": value})


def test_run_typed_takes_exact_arrays_only():
    result = compiled()
    for call in (result.run_typed, result.run_raw):
        with raises(TypeError):
            call({"x": X.astype(np.float64)})
        with raises(TypeError):
            call({"x": X.tolist()})


def test_names_are_checked():
    result = compiled()
    with raises(ValueError):
        result.run({})
    with raises(ValueError):
        result.run({"x": X, "z": X})
    with raises(ValueError):
        result.set_param("v", 0)


def test_parameters_are_checked():
    result = Session().compile(dense())
    with raises(ValueError):
        result.run({"x": X})
    with raises(ValueError):
        result.set_param("w", W.T)
    with raises(TypeError):
        result.set_param("w", W * 1j)
    with raises(ValueError):
        Session().compile(rlx.Graph("e"))


def test_parameters_can_change_between_runs():
    result = compiled()
    first = result.run({"x": X})[0]
    result.set_params({"w": 2 * W})
    np.testing.assert_array_equal(result.run({"x": X})[0], 2 * first)


def test_parameters_are_copied():
    result, w = Session().compile(dense()), W.copy()
    result.set_param("w", w)
    w[:] = 0
    np.testing.assert_array_equal(result.run({"x": X})[0], X @ W)


def test_parameters_may_come_with_the_graph():
    graph = rlx.Graph("g")
    graph.output(graph.input("x", 2) * graph.param("w", value=np.array([2.0, 3.0], np.float32)))
    assert Session().compile(graph).run({"x": [1, 1]})[0].tolist() == [2.0, 3.0]


def test_unused_parameters_may_stay_unset_but_are_known():
    graph = rlx.Graph("g")
    graph.param("unused", 3, value=np.zeros(3, np.float32))
    graph.output(-graph.input("x", 1))
    session = Session().compile(graph)
    session.set_param("unused", np.ones(3))
    assert session.run({"x": [1]})[0].tolist() == [-1.0]


def test_clones_have_parameters_of_their_own():
    result = compiled()
    clone = result.clone()
    clone.set_param("w", 0 * W)
    np.testing.assert_array_equal(result.run({"x": X})[0], X @ W)
    assert not clone.run({"x": X})[0].any()


def views(x, w):
    """Outputs that are, or show, an input, a parameter, constants and one another."""
    y = x + 1.0
    ones = x.builder.constant(np.ones((2, 2), np.float32))
    return [x, w, x.reshape(4), w.T, ones, ones + ones, y, y, y.reshape(4)]


def test_results_belong_to_the_caller():
    graph = rlx.trace("views", views, f32(2, 2), f32(2, 2))
    session = Session().compile(graph)
    given = {"x": X[:, :2].copy(), "w": X[:, 2:].copy()}
    first = session.run_typed(given)
    expected = [a.copy() for a in first]
    for array in first:
        array[...] = 99.0
    np.testing.assert_array_equal(given["x"], X[:, :2])
    for array, wanted in zip(session.run_typed(given), expected, strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_raw_results_are_shown_read_only_without_copies():
    session = Session().compile(rlx.trace("views", views, f32(2, 2), f32(2, 2)))
    given = {"x": X[:, :2].copy(), "w": X[:, 2:].copy()}
    raw = session.run_raw(given)
    assert not any(a.flags.writeable for a in raw)
    program = session._programs[()].program
    assert np.shares_memory(raw[0], program.arena)
    assert given["x"].flags.writeable
    assert session.run_raw(given)[0] is raw[0]


def test_symbols_are_bound_by_what_comes():
    result = compiled()
    for size in (1, 5, 2, 5):
        x = np.ones((size, 4), np.float32)
        assert result.run({"x": x})[0].shape == (size, 3)
    two = Session().compile(rlx.trace("g", lambda x, y: x + y, f32(Dim("n")), f32(Dim("n"))))
    with raises(ValueError):
        two.run({"x": np.zeros(3), "y": np.zeros(2)})


def test_programs_for_sizes_are_kept_but_not_without_end():
    result = compiled()
    for size in range(1, 20):
        result.run({"x": np.ones((size, 4))})
    assert len(result._programs) == 8
    kept = result._programs[(("batch", 19),)]
    result.run({"x": np.ones((19, 4))})
    assert result._programs[(("batch", 19),)] is kept


def test_simplify_does_not_change_results():
    plain = Session(options=CompileOptions(simplify=False)).compile(dense())
    plain.set_param("w", W)
    for a, b in zip(plain.run({"x": X}), compiled().run({"x": X}), strict=True):
        np.testing.assert_array_equal(a, b)


def test_check_finite_names_the_node():
    graph = rlx.trace("g", lambda x: (x - 1.0).log() + 1.0, f32(2))
    session = Session().compile(graph, CompileOptions(check_finite=True, fusion=None))
    session.run({"x": [2, 3]})
    with raises(FloatingPointError):
        session.run({"x": [2, 1]})
    # What comes in is nobody's fault.
    assert np.isnan(session.run({"x": [2, np.nan]})[0][1])
    assert Session().compile(graph).run({"x": [2, 1]})[0][1] == -np.inf


@pytest.mark.usefixtures("only_cpu")
def test_devices_that_are_not_there():
    assert rlx.devices() == (Device.CPU,)
    with raises(TargetNotFoundError):
        Session(Device.ANE)
    with raises(TargetNotFoundError):
        Session(options=CompileOptions(backend="fast"))
    with raises(UsageError):
        Session("cuba")


@pytest.mark.parametrize(
    "given",
    ["net.tflite", Path("a.rlx"), len],
)
def test_what_is_no_graph(given):
    for take in (Session().compile, Session().check):
        with raises(TypeError):
            take(given)


def test_copies_are_clones():
    net = compiled()
    for copied in (copy.copy(net), copy.deepcopy(net)):
        copied.set_param("w", 2 * W)
        np.testing.assert_array_equal(copied.run({"x": X})[0], X @ (2 * W))
    np.testing.assert_array_equal(net.run({"x": X})[0], X @ W)
    with raises(TypeError):
        pickle.dumps(net)


def test_integer_graphs_run_as_they_are_defined():
    assert isinstance(i8(1), TensorType)
    graph = rlx.Graph("codes")
    quant = rlx.QuantParams.per_tensor(0.5, 3)
    codes = graph.quantize(graph.input("x", 3), quant)
    graph.output(codes, graph.dequantize(codes), names=["codes", "x"])
    codes, x = Session().compile(graph).run({"x": [0.0, 1.0, 1000.0]})
    assert codes.tolist() == [3, 5, 127]
    assert x.tolist() == [0.0, 1.0, 62.0]
