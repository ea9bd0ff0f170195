"""Plans of programs on the host: what kernels may overwrite, and elements below 8 bits."""

import numpy as np
import pytest

import rlx
from rlx.ir import DType, Graph, GraphModule, Stage, TensorType, f32, i32
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.memory import host_in_place, plan_memory, to_lir
from rlx.ops.real import (
    RealAdd,
    RealConcat,
    RealCumsum,
    RealReshape,
    RealScatter,
    RealSlice,
    RealTanh,
    RealTranspose,
)
from support.messages import raises


def planned(graph):
    plan = plan_memory(graph, in_place=host_in_place, ports_inside=True, alignment=1)
    verify(GraphModule(graph, Stage.LIR, plan))
    return plan


def scattered(updates_of):
    """Return y = scatter(tanh(x), places, updates) and the values of its nodes."""
    graph = Graph("g")
    x, places = graph.input("x", f32(3, 2)), graph.input("places", i32(3))
    table = graph.apply(RealTanh(), x)
    result = graph.apply(RealScatter(), table, places, updates_of(graph, table))
    graph.output(result)
    return graph, table, result


def test_updates_are_written_into_the_tensor():
    graph, table, result = scattered(lambda g, t: g.input("u", f32(3, 2)))
    plan = planned(graph)
    assert plan.of(result).offset == plan.of(table).offset


@pytest.mark.parametrize(
    "updates_of",
    [
        lambda g, t: t,
        lambda g, t: g.apply(RealReshape(shape=(3, 2)), g.apply(RealReshape(shape=(6,)), t)),
    ],
)
def test_updates_that_are_the_tensor_itself_are_not_overwritten(updates_of):
    graph, table, result = scattered(updates_of)
    plan = planned(graph)
    assert plan.of(result).offset != plan.of(table).offset
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    feeds = {"x": x, "places": np.array([2, 0, 1], np.int32)}
    (found,) = rlx.Session().compile(graph).run(feeds)
    assert np.array_equal(found, evaluate(graph, feeds)[0])


@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_take_the_place_of_their_operand(exclusive):
    graph = Graph("g")
    x = graph.apply(RealTanh(), graph.input("x", f32(5)))
    y = graph.apply(RealCumsum(axis=0, exclusive=exclusive), x)
    graph.output(y)
    plan = planned(graph)
    assert (plan.of(y).offset == plan.of(x).offset) is not exclusive


def test_parameters_are_neither_placed_nor_overwritten():
    graph = Graph("g")
    w = graph.param("w", f32(2, 3))
    x = graph.input("x", f32(3, 2))
    turned = graph.apply(RealReshape(shape=(3, 2)), w)
    total = graph.apply(RealAdd(), turned, x)
    graph.output(graph.apply(RealAdd(), w, graph.apply(RealReshape(shape=(2, 3)), total)))
    plan = planned(graph)
    assert plan.of(turned).alias_of is None
    with raises(KeyError):
        plan.of(w)


def test_nothing_is_moved_by_what_moves_nothing():
    graph = Graph("g")
    x = graph.apply(RealTanh(), graph.input("x", f32(1, 4, 3)))
    turned = graph.apply(RealTranspose(axes=(1, 0, 2)), x)
    parts = [
        graph.apply(RealTanh(), graph.apply(RealSlice(start=(k, 0, 0), stop=(k + 2, 1, 3),
                                                      step=(1, 1, 1)), turned))
        for k in (0, 2)
    ]  # fmt: skip
    whole = graph.apply(RealConcat(axis=0), *parts)
    graph.output(whole)
    plan = planned(graph)
    assert plan.of(turned).offset == plan.of(x).offset
    assert [plan.of(p).offset - plan.of(whole).offset for p in parts] == [0, 24]


def test_elements_below_eight_bits_take_a_byte_in_numpy():
    graph = Graph("g")
    x = graph.input("x", TensorType((3, 2), DType.I4))
    y = graph.apply(RealReshape(shape=(6,)), x)
    z = graph.apply(RealSlice(start=(1,), stop=(4,), step=(1,)), y)
    graph.output(y, z)
    packed = to_lir(GraphModule(graph, Stage.MIR)).plan
    unpacked = to_lir(GraphModule(graph, Stage.MIR), unpacked=True).plan
    assert [packed.of(v).nbytes for v in (x, y, z)] == [3, 3, 2]
    assert [unpacked.of(v).nbytes for v in (x, y, z)] == [6, 6, 3]


def test_a_program_reads_four_bit_integers_under_another_shape():
    graph = Graph("g")
    x = graph.input("x", TensorType((3, 2), DType.I4))
    graph.output(graph.apply(RealReshape(shape=(6,)), x))
    codes = np.array([[-8, 7], [1, 2], [-3, 0]]).astype(DType.I4.numpy)
    (y,) = rlx.Session().compile(graph).run({"x": codes})
    assert y.dtype == codes.dtype
    assert y.tolist() == codes.reshape(-1).tolist()
