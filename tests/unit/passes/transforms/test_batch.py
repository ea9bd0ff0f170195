"""Graphs for batches against loops over single inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlx
from rlx.ir import Dim, DType, Graph, Op, QuantParams, TensorType, f32, i8, i32
from rlx.ir.evaluate import evaluate
from rlx.ops import ALL_OPS, real
from rlx.ops.nn import NnRelu
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    Q_OPS,
    QArgmax,
    QClamp,
    QConcat,
    QDense,
    QMean,
    QMul,
    QPad,
    QReshape,
    QSoftmax,
    QTranspose,
)
from rlx.passes.transforms.batch import RULES, with_batch
from rlx.support.errors import ShapeError, UnsupportedOpError
from strategies import STRATEGIES, Case, random_graphs
from support.messages import raises

SIZE = 3
HALF = Rescale.of(0.5)


def check(graph: Graph, single, compare=np.testing.assert_array_equal) -> None:
    """Compare a batch of inputs like ``single`` with each of its elements."""
    generator = np.random.default_rng(len(single))
    inputs = [single]
    inputs += [
        {n: generator.permuted(x.ravel()).reshape(x.shape) for n, x in single.items()}
        for _ in range(SIZE - 1)
    ]
    stacked = {n: np.concatenate([given[n] for given in inputs]) for n in single}
    batched = with_batch(graph, SIZE)
    results = evaluate(batched, stacked)
    for i, given_ in enumerate(inputs):
        for result, expected in zip(results, evaluate(graph, given_), strict=True):
            compare(result[i : i + 1], expected)
    assert batched.output_names == graph.output_names
    for value, old in zip(batched.outputs, graph.outputs, strict=True):
        assert value.type.quant == old.type.quant


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
@settings(max_examples=25)
@given(data=st.data())
def test_batch_is_a_loop(op, data) -> None:
    case: Case = data.draw(STRATEGIES[op]())
    mixing = any(v.type.shape[:1] != (1,) or v.type.rank < 2 for v in case.graph.inputs)
    broadcast = len({v.type.rank for v in case.graph.inputs}) > 1
    if mixing or broadcast:
        return
    check(case.graph, case.inputs)


@settings(max_examples=25)
@given(random_graphs())
def test_batch_of_a_network_is_a_loop(case: Case) -> None:
    check(case.graph, case.inputs)


def test_every_op_has_a_rule_or_a_reason() -> None:
    assert [op.name for op in ALL_OPS if not has_rule(op) and not RULES.knows(op)] == []


def test_no_op_has_a_rule_beside_its_traits() -> None:
    assert [op.name for op in ALL_OPS if RULES.knows(op) and is_said_by_traits(op)] == []


def has_rule(op: type[Op]) -> bool:
    """Whether a batching rule is found for ``op``."""
    return is_said_by_traits(op) or op in RULES


def is_said_by_traits(op: type[Op]) -> bool:
    """Whether the traits of ``op`` say how it takes a batch."""
    return op.traits.elementwise or op.traits.along is not None


def real_graph(op, *shapes: tuple[int, ...], constants: int = 0, dtype=DType.F32) -> Graph:
    """A graph of one op; the last ``constants`` operands are constants."""
    graph = Graph("case")
    generator = np.random.default_rng(1)
    split = len(shapes) - constants
    values = [graph.input(f"x{i}", TensorType(s, dtype)) for i, s in enumerate(shapes[:split])]
    constants_ = (generator.integers(-9, 9, shape) for shape in shapes[split:])
    values += [graph.constant(c.astype(dtype.numpy)) for c in constants_]
    graph.output(*graph.append(op, *values).results)
    return graph


@pytest.mark.parametrize("op", real.REAL_OPS, ids=lambda op: op.name)
@settings(max_examples=10)
@given(data=st.data())
def test_batch_of_real_ops_is_a_loop(op, data) -> None:
    """A batch that is not refused computes the same; sums may be taken in another order."""
    case: Case = data.draw(STRATEGIES[op]())
    if any(v.type.shape[:1] != (1,) for v in case.graph.inputs):
        return
    try:
        check(case.graph, case.inputs, assert_near)
    except (ShapeError, UnsupportedOpError):
        return


def assert_near(found, expected) -> None:
    wide = (a.astype(np.float64) for a in (found, expected))
    np.testing.assert_allclose(*wide, rtol=1e-6)


REAL_CASES = [
    (real.RealNeg(), [(1, 4)], 0),
    (real.RealAdd(), [(1, 4), (1, 4)], 0),
    (real.RealMul(), [(1, 2, 4), (4,)], 1),
    (real.RealReduceSum(axes=(1, -1), keep_dims=False), [(1, 2, 3)], 0),
    (real.RealReverse(axes=(1,)), [(1, 4)], 0),
    (real.RealCumsum(axis=-1), [(1, 4)], 0),
    (real.RealArgmax(axis=1), [(1, 4)], 0),
    (real.RealTopK(count=2), [(1, 4)], 0),
    (real.RealConcat(axis=1), [(1, 4), (1, 2)], 0),
    (real.RealReshape(shape=(1, 4, 2)), [(1, 8)], 0),
    (real.RealBroadcastTo(shape=(1, 3, 4)), [(1, 1, 4)], 0),
    (real.RealTranspose(axes=(0, 2, 1)), [(1, 3, 4)], 0),
    (real.RealSlice(start=(0, 1), stop=(1, None), step=(1, 2)), [(1, 6)], 0),
    (real.RealPad(before=(0, 1), after=(0, 2), interior=(0, 1), value=3.0), [(1, 4)], 0),
    (real.RealMatmul(), [(1, 4), (4, 3)], 1),
    (real.RealMatmul(), [(1, 2, 4), (4, 3)], 1),
    (real.RealMatmul(), [(1, 2, 4), (1, 4, 3)], 0),
    (real.RealMatmul(), [(1, 2, 4), (1, 4, 3)], 1),
    (real.RealCast(dtype=DType.I32), [(1, 4)], 0),
    (real.RealQuantize(quant=QuantParams.per_tensor(0.5), dtype=DType.I8), [(1, 4)], 0),
]


@pytest.mark.parametrize(("op", "shapes", "constants"), REAL_CASES, ids=lambda v: str(v)[:30])
def test_batch_of_chosen_real_ops_is_a_loop(op, shapes, constants: int) -> None:
    graph = real_graph(op, *shapes, constants=constants)
    generator = np.random.default_rng(7)
    inputs = {
        v.name: generator.integers(-9, 9, v.type.static_shape).astype(np.float32)
        for v in graph.inputs
    }
    check(graph, inputs)


def test_batch_of_indices_reads_a_table() -> None:
    graph = Graph("case")
    indices = graph.input("indices", i32(1, 5))
    table = graph.constant(np.arange(12, dtype=np.float32).reshape(6, 2))
    graph.output(graph.apply(real.RealGather(axis=0), table, indices))
    check(graph, {"indices": np.array([[0, 5, 2, 2, 1]], np.int32)})


def test_batch_keeps_what_depends_on_no_input() -> None:
    graph = Graph("case")
    x = graph.input("x", i8(1, 4))
    constant = graph.apply(QClamp(high=3), graph.constant(np.array([1, 9, -4, 3], np.int8)))
    mul = QMul(x_zero_point=0, y_zero_point=0, rescale=HALF, zero_point=0)
    graph.output(graph.apply(mul, x, constant))
    check(graph, {"x": np.array([[1, 2, 3, 4]], np.int8)})


def dense(graph: Graph, x) -> None:
    op = QDense(x_zero_point=0, rescale=HALF, zero_point=0)
    w = graph.constant(np.zeros((1, x.type.shape[-1]), np.int8))
    graph.output(graph.apply(op, x, w, graph.constant(np.zeros(1, np.int32))))


def one(op, *types: TensorType) -> Graph:
    """A graph of one op on inputs."""
    graph = Graph("case")
    values = [graph.input(f"x{i}", t) for i, t in enumerate(types)]
    graph.output(*graph.append(op, *values).results)
    return graph


def with_constant(op, type_: TensorType) -> Graph:
    """A graph of one op on a constant and an input."""
    graph = Graph("case")
    constant = graph.constant(np.zeros((1, 4), np.int8))
    graph.output(graph.apply(op, constant, graph.input("x", type_)))
    return graph


def moving_weights() -> Graph:
    graph = Graph("case")
    x, w = graph.input("x", i8(1, 4)), graph.input("w", i8(1, 4))
    op = QDense(x_zero_point=0, rescale=HALF, zero_point=0)
    graph.output(graph.apply(op, x, w, graph.constant(np.zeros(1, np.int32))))
    return graph


MUL = QMul(x_zero_point=0, y_zero_point=0, rescale=HALF, zero_point=0)
MEAN = QMean(axes=(-2,), x_zero_point=0, rescale=HALF, zero_point=0)
TAKE = real.RealTakeAlong(axis=1)
QUANTIZE = real.RealQuantize(quant=QuantParams((0.5,), (0,), axis=0), dtype=DType.I8)


def joined_to_computed_constant() -> Graph:
    graph = Graph("joined")
    x = graph.input("x", i8(1, 4))
    computed = graph.apply(QClamp(low=0), graph.constant(np.zeros((1, 4), np.int8)))
    graph.output(graph.apply(QConcat(axis=1), x, computed))
    return graph


@pytest.mark.parametrize(
    "graph",
    [
        one(QConcat(axis=-2), i8(1, 4)),
        joined_to_computed_constant(),
        one(QArgmax(axis=0), i8(1, 4)),
        one(MEAN, i8(1, 4)),
        one(QReshape(shape=(4,)), i8(1, 4)),
        one(QTranspose(axes=(1, 0)), i8(1, 4)),
        one(QPad(before=(1, 0), after=(0, 0), value=0), i8(1, 4)),
        one(real.RealPad(before=(0, 0), after=(0, 0), interior=(1, 0), value=0.0), f32(1, 4)),
        one(real.RealSlice(start=(1, 0), stop=(1, 4), step=(1, 1)), f32(1, 4)),
        one(QSoftmax(multiplier=2**30, left_shift=20, diff_min=-9), i8(1)),
        one(MUL, i8(1), i8(1, 4)),
        moving_weights(),
        one(real.RealBroadcastTo(shape=(1, 3, 4)), f32(1, 4)),
        one(real.RealMatmul(), f32(1, 4), f32(1, 4, 4)),
        one(real.RealGather(axis=1), f32(1, 4), i32(1, 2)),
        one(real.RealTakeAlong(axis=0), f32(1, 4), i32(1, 4)),
        with_constant(TAKE, i32(1, 4)),
        one(QUANTIZE, f32(1, 4)),
        one(QClamp(), i8(2, 4)),
        one(QClamp(), i8()),
    ],
)
def test_refusals(graph: Graph) -> None:
    with raises(ShapeError):
        with_batch(graph, 2)


def test_model_level_ops_are_refused() -> None:
    with raises(UnsupportedOpError):
        with_batch(one(NnRelu(), f32(1, 4)), 2)


def test_size_must_be_positive() -> None:
    with raises(ValueError):
        with_batch(one(QClamp(), i8(1, 4)), 0)


def test_a_batch_may_be_a_symbol():
    length = Dim("length")

    def model(x):
        flat = x.reshape(1, -1)
        return flat.concat(flat.lift(np.ones((1, 2))), axis=1)[:, 1:] * 2.0

    graph = rlx.trace("g", model, f32(1, length, 3)).graph
    batched = with_batch(graph, Dim("batch"))
    assert batched.outputs[0].type == f32(Dim("batch"), 3 * length + 1)
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    (found,) = evaluate(batched, {"x": x})
    for i in range(2):
        np.testing.assert_array_equal(found[i : i + 1], evaluate(graph, {"x": x[i : i + 1]})[0])


def test_a_symbolic_batch_needs_ops_that_take_symbols():
    graph = Graph("g")
    x = graph.input("x", i8(1, 4))
    graph.output(graph.apply(QReshape(shape=(1, 2, 2)), x))
    with raises(ShapeError):
        with_batch(graph, Dim("batch"))
    graph = rlx.trace("g", lambda x: x[Dim("n") - 1 : Dim("n")], f32(1, 4)).graph
    with raises(ShapeError):
        with_batch(graph, 3)
