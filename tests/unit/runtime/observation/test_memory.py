"""Memory before loading: every byte once."""

import numpy as np
import pytest

import rlx
from rlx.ir import Constant, DType, Graph, GraphModule, TensorType, f32
from rlx.memory import to_lir
from rlx.ops import real
from rlx.runtime.observation.memory import MemoryEstimate, constant_bytes, estimate_memory
from rlx.support.errors import DoesNotFitError, UsageError
from support.messages import raises

W = np.arange(12, dtype=np.float32).reshape(3, 4)


def layer(*weights, batch=2):
    """x @ w for each weight, added up."""
    graph = Graph("layer")
    x = graph.input("x", f32(batch, 3))
    total = None
    for weight in weights:
        y = graph.apply(real.RealMatmul(), x, graph.constant(weight))
        total = y if total is None else graph.apply(real.RealAdd(), total, y)
    graph.output(total, names=["y"])
    return graph


def test_parts_are_what_is_in_memory():
    found = rlx.memory_estimate(layer(W), workspace=False)
    assert (found.weights, found.params, found.states) == (48, 0, 0)
    compiled = rlx.Session().compile(layer(W))
    assert found.arena == compiled._program(()).program.arena.nbytes
    assert found.arena >= 2 * 3 * 4 + 2 * 4 * 4
    assert found.total == found.arena + found.inputs + found.outputs + found.weights
    assert found.workspace is None


def test_tied_weights_count_once():
    assert rlx.memory_estimate(layer(W, W.copy())).weights == 48
    assert rlx.memory_estimate(layer(W, W + 1)).weights == 96
    # Before anything is simplified too.
    planned = to_lir(GraphModule.mir(layer(W, W.copy())))
    assert estimate_memory(planned).weights == 48
    assert constant_bytes([layer(W), layer(W, W + 1)]) == 96


def test_constants_in_the_same_memory_count_their_bytes_once():
    whole = np.arange(24, dtype=np.float32).reshape(6, 4)
    graph = Graph("parts")
    values = []
    for part in (whole[:3], whole[1:4]):
        constant = Constant(type=TensorType((3, 4), DType.F32), value=part)
        values.append(graph.apply(constant))
    graph.output(graph.apply(real.RealAdd(), *values))
    assert constant_bytes([graph]) == 4 * 4 * 4


def test_inputs_outside_the_arena_are_parts_of_their_own():
    planned = to_lir(GraphModule.mir(layer(W)))
    found = estimate_memory(planned, workspace=None)
    assert (found.inputs, found.outputs, found.arena) == (24, 32, planned.plan.arena_bytes)
    assert rlx.memory_estimate(planned) == found


def test_states_and_parameters():
    graph = Graph("counter")
    state = graph.state("total", f32(4))
    added = graph.apply(real.RealAdd(), state, graph.param("step", f32(4)))
    graph.output(added, names=["total"])
    found = rlx.memory_estimate(graph)
    assert (found.states, found.params, found.weights) == (16, 16, 0)


def test_what_is_computed_of_parameters_counts_too():
    graph = Graph("scaled")
    w = graph.apply(real.RealExp(), graph.param("w", f32(8)))
    graph.output(graph.apply(real.RealMul(), graph.input("x", f32(8)), w))
    assert rlx.memory_estimate(graph).params == 2 * 32


def test_the_workspace_is_that_of_the_kernels():
    graph = Graph("conv")
    w = graph.param("w", f32(8, 3, 3, 4))
    conv = real.RealConv(window=real.SpatialWindow(kernel=(3, 3)))
    graph.output(graph.apply(conv, graph.input("x", f32(1, 12, 12, 4)), w))
    compiled = rlx.Session().compile(graph)
    compiled.set_param("w", np.ones((8, 3, 3, 4), np.float32))
    compiled.run({"x": np.ones((1, 12, 12, 4), np.float32)})
    found = rlx.memory_estimate(graph)
    assert found.workspace > 0
    assert found == compiled.memory()
    assert rlx.memory_estimate(graph, workspace=False).workspace is None


def test_elements_below_8_bits_take_a_byte_each():
    graph = Graph("nibbles")
    x = graph.input("x", TensorType((6,), DType.I4))
    graph.output(graph.apply(real.RealReshape(shape=(2, 3)), x))
    planned = to_lir(GraphModule.mir(graph), ports_inside=True)
    assert estimate_memory(planned).arena >= planned.plan.arena_bytes + 6


def test_a_limit():
    found = rlx.memory_estimate(layer(W))
    assert found.fits(found.total)
    assert not found.fits(found.total - 1)
    assert found.require(found.total) is found
    with pytest.raises(
        DoesNotFitError, match=rf"^graph 'layer': it needs {found.total} bytes, 10 are"
    ):
        found.require(10)


def test_what_people_and_programs_read():
    found = MemoryEstimate(
        name="net", arena=1000, inputs=0, outputs=0, states=8, weights=5000, params=0, workspace=64
    )
    assert found.total == 6072
    assert repr(found).startswith("<MemoryEstimate of 'net': 6,072 bytes: arena 1,000,")
    line = "arena      1,000 B  values of one run, in the same bytes one after the other"
    assert str(found).splitlines()[:2] == ["memory of net", line]
    assert "inputs" not in str(found)
    assert found.as_json()["total"] == 6072
    assert "<table" in found._repr_html_()


def test_what_has_no_size_yet():
    graph = Graph("open")
    x = graph.input("x", f32(rlx.Dim("n"), 3))
    graph.output(graph.apply(real.RealExp(), x))
    with raises(UsageError):
        rlx.memory_estimate(graph)
    with raises(ValueError):
        estimate_memory(GraphModule.mir(layer(W)))
