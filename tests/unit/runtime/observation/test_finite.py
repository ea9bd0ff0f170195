"""Sources of NaN and infinity."""

import numpy as np
import pytest

import rlx
from rlx.ir import DType, Graph, Origin, f32, i32
from rlx.ops import real
from rlx.ops.fused import FusedElementwise
from rlx.ops.nn import NnSoftmax
from rlx.runtime import CompileOptions, Session
from rlx.runtime.observation.finite import check_results, is_finite
from support.messages import raises


def body():
    """log(x - y) * x, element by element."""
    graph = Graph("body")
    x, y = graph.input("a0", f32(2, 3)), graph.input("a1", f32(2, 3))
    difference = graph.apply(real.RealSub(), x, y, name="difference")
    origin = Origin("net.onnx", "node 2 Log")
    log = graph.apply(real.RealLog(), difference, origin=origin)
    graph.output(graph.apply(real.RealMul(), log, x))
    return graph


def fused():
    graph = Graph("g")
    x, y = graph.input("x", f32(2, 3)), graph.input("y", f32(2, 3))
    origin = Origin("net.onnx", "node 2 Log")
    made = graph.apply(FusedElementwise(body=body()), x, y, name="chain", origin=origin)
    graph.output(made, names=["out"])
    return graph


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.array([[-1, -1, -1], [-1, 4, -1]], np.float32)


def test_a_fused_op_says_which_step_inside_it_did_it():
    compiled = Session().compile(fused(), CompileOptions(check_finite=True))
    compiled.run({"x": X, "y": np.full_like(Y, -1)})
    with raises(FloatingPointError):
        compiled.run({"x": X, "y": Y})


def test_a_kernel_that_is_wrong_is_named():
    node = next(n for n in fused().op_nodes)
    operands = [X, np.full_like(Y, -1)]
    with raises(FloatingPointError):
        check_results(node, operands, [np.full((2, 3), np.nan, np.float32)])


def test_operands_are_those_before_a_step_in_place():
    graph = Graph("g")
    x = graph.apply(real.RealAdd(), graph.input("x", f32(4)), graph.constant(np.float32(1)))
    graph.output(graph.apply(real.RealLog(), x), names=["y"])
    compiled = Session().compile(graph, CompileOptions(check_finite=True, fusion=None))
    program = compiled._program(()).program
    log = next(n for n in program.module.graph.op_nodes if n.op.name == "real.log")
    operand, result = (program.module.plan.of(v) for v in (log.operands[0], log.result))
    assert operand.offset == result.offset  # else this test shows nothing
    with raises(FloatingPointError):
        compiled.run({"x": [-3.0, 0.0, 1.0, 2.0]})


def test_each_operand_is_shown_once_and_integers_too():
    graph = Graph("g")
    x, n = graph.input("x", f32(2)), graph.input("n", i32(2))
    squared = graph.append(real.RealMul(), x, x)
    gathered = graph.append(real.RealGather(axis=0), x, n)
    big = np.array([1e30, 2.0], np.float32)
    with raises(FloatingPointError):
        check_results(squared, [big, big], [np.array([np.inf, 4], np.float32)])
    with raises(FloatingPointError):
        check_results(gathered, [big, np.array([0, 1], np.int32)], [big * np.float32(np.nan)])


def test_finite_results_pass():
    graph = Graph("g")
    node = graph.append(real.RealExp(), graph.input("x", f32(0)))
    check_results(node, [np.zeros(0, np.float32)], [np.zeros(0, np.float32)])


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F32, DType.F64])
def test_every_element_type_is_looked_at(dtype):
    array = np.array([1, np.inf, 2]).astype(dtype.numpy)
    assert not is_finite(array)
    assert is_finite(array[::2])
    assert is_finite(np.array([127], np.int8))


def test_several_results_are_all_looked_at():
    graph = rlx.Graph("g")
    x = graph.input("x", 2)
    graph.output(x.exp(), (x - 1.0).log(), names=["a", "b"])
    compiled = Session().compile(graph, CompileOptions(check_finite=True, fusion=None))
    with raises(FloatingPointError):
        compiled.run({"x": [2.0, 0.0]})


def test_a_mask_may_hold_infinity_but_nan_is_found():
    graph = Graph("masked")
    x, mask = graph.input("x", f32(1, 3)), graph.input("mask", f32(1, 3))
    graph.output(graph.apply(NnSoftmax(axis=-1), graph.apply(real.RealAdd(), x, mask)))
    compiled = Session().compile(graph, CompileOptions(check_finite=True))
    (y,) = compiled.run({"x": [[1, 1, 1]], "mask": [[0, 0, -np.inf]]})
    assert y.tolist() == [[0.5, 0.5, 0.0]]
    with raises(FloatingPointError):
        compiled.run({"x": [[1, 1, 1]], "mask": [[-np.inf] * 3]})
    compiled.run({"x": [[1, np.nan, 1]], "mask": [[0, 0, -np.inf]]})


def test_what_is_computed_of_parameters_is_looked_at_too():
    graph = Graph("scaled")
    w = graph.apply(real.RealLog(), graph.param("w", f32(2)), name="logarithm")
    graph.output(graph.apply(real.RealMul(), graph.input("x", f32(2)), w))
    compiled = Session().compile(graph, CompileOptions(check_finite=True))
    compiled.set_param("w", [1.0, -1.0])
    with raises(FloatingPointError):
        compiled.run({"x": [1.0, 1.0]})
    compiled.set_param("w", [1.0, np.e])
    np.testing.assert_allclose(compiled.run({"x": [1.0, 2.0]})[0], [0.0, 2.0], rtol=1e-6)
    unchecked = Session().compile(graph)
    unchecked.set_param("w", [1.0, -1.0])
    assert np.isnan(unchecked.run({"x": [1.0, 1.0]})[0][1])
