"""Control flow against loops in NumPy, evaluated and prepared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir import Dim, DType, Graph, QuantParams, TensorType, f32, i8, i32
from rlx.ir.evaluate import evaluate
from rlx.ops.control import CONTROL_OPS, If, Scan, While
from rlx.ops.q import QClamp
from rlx.ops.real import (
    Comparison,
    RealAdd,
    RealCompare,
    RealMatmul,
    RealMul,
    RealNeg,
    RealReduceSum,
    RealSub,
)
from rlx.passes.transforms.bind import bind
from rlx.support.errors import ShapeError
from strategies import STRATEGIES
from support.messages import raises

I64 = DType.I64


def region(types, build, name="body"):
    """Return a region with inputs ``a0``, ``a1``, ... and the outputs that ``build`` makes."""
    graph = Graph(name)
    values = [graph.input(f"a{i}", t) for i, t in enumerate(types)]
    graph.output(*build(graph, *values))
    return graph


def i64(*shape):
    return TensorType(shape, I64)


def both_ways(op, operands, constants=()):
    """Return the results of an op, evaluated and prepared, which must be the same bits."""
    known = [x if i in constants else None for i, x in enumerate(operands)]
    results, prepared = op.evaluate(*operands), op.prepare(known)
    for _ in range(2):  # the second call must not see what the first one left
        again = prepared(*operands)
        for a, b in zip(results, again, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    return results


def step(graph, carry, x, w):
    """carry' = carry @ w + x; y = carry' * x."""
    following = graph.apply(RealAdd(), graph.apply(RealMatmul(), carry, w), x)
    return following, graph.apply(RealMul(), following, x)


@settings(max_examples=40)
@given(st.integers(0, 6), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.integers(0, 99))
def test_scan_is_a_loop(length, rows, columns, reverse, seed):
    random = np.random.default_rng(seed)
    carry, xs, w = (
        random.integers(-5, 6, shape)
        for shape in ((rows, columns), (length, rows, columns), (columns, columns))
    )
    body = region([i64(rows, columns), i64(rows, columns), i64(columns, columns)], step)
    op = Scan(body=body, carries=1, scanned=1, length=length, reverse=reverse)
    last, ys = both_ways(op, (carry, xs, w), constants=(2,))
    expected, collected = carry, np.empty_like(xs)
    for t in range(length)[:: -1 if reverse else 1]:
        expected = expected @ w + xs[t]
        collected[t] = expected * xs[t]
    np.testing.assert_array_equal(last, expected)
    np.testing.assert_array_equal(ys, collected)
    assert op.infer(i64(rows, columns), i64(length, rows, columns), i64(columns, columns)) == (
        i64(rows, columns), i64(length, rows, columns),
    )  # fmt: skip


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(-3, 3), st.integers(0, 60), st.none() | st.integers(0, 9))
def test_while_is_a_loop(size, first, bound, most):
    def condition(graph, x, limit):
        total = graph.apply(RealReduceSum(axes=(0,), keep_dims=False), x)
        return [graph.apply(RealCompare(relation=Comparison.LESS), total, limit)]

    def double(graph, x, limit):
        del limit
        one = graph.constant(np.int64(1))
        return [graph.apply(RealAdd(), graph.apply(RealAdd(), x, x), one)]

    types = [i64(size), i64()]
    x, limit = np.arange(first, first + size), np.array(bound)
    if most is None:
        x = np.abs(x)
    op = While(condition=region(types, condition), body=region(types, double), max_iterations=most)
    (result,) = both_ways(op, (x, limit), constants=(1,))
    expected, count = x, 0
    while expected.sum() < bound and (most is None or count < most):
        expected, count = 2 * expected + 1, count + 1
    np.testing.assert_array_equal(result, expected)


@given(st.booleans(), st.integers(1, 5), st.integers(0, 99))
def test_if_is_a_choice(condition, size, seed):
    x, y = np.random.default_rng(seed).integers(-9, 9, (2, size))
    types = [i64(size)] * 2
    op = If(
        then_body=region(types, lambda g, a, b: [g.apply(RealAdd(), a, b), a]),
        else_body=region(types, lambda g, a, b: [g.apply(RealSub(), a, b), b]),
    )
    first, second = both_ways(op, (np.array(condition), x, y), constants=(2,))
    np.testing.assert_array_equal(first, x + y if condition else x - y)
    np.testing.assert_array_equal(second, x if condition else y)


@pytest.mark.parametrize("op", CONTROL_OPS, ids=lambda op: op.name)
@settings(max_examples=30)
@given(data=st.data())
def test_prepared_is_evaluated(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    (node,) = (n for n in case.graph.nodes if type(n.op) is op)
    operands = [case.inputs[o.name] if o.constant is None else o.constant for o in node.operands]
    with np.errstate(all="ignore"):
        both_ways(node.op, operands, constants=data.draw(st.sets(st.integers(0, 5))))


class Bomb(RealNeg):
    """Must not run."""

    __slots__ = ()

    def evaluate(self, *operands):
        raise AssertionError("this branch was not chosen")


def test_the_other_branch_is_not_run():
    kept = region([f32(2)], lambda g, a: [a])
    bomb = region([f32(2)], lambda g, a: [g.apply(Bomb(), a)])
    x = np.ones(2, np.float32)
    for op, condition in ((If(then_body=kept, else_body=bomb), True),
                          (If(then_body=bomb, else_body=kept), False)):  # fmt: skip
        (result,) = both_ways(op, (np.array(condition), x))
        np.testing.assert_array_equal(result, x)


COUNTS = []


class Counted(RealNeg):
    """Counts how often it is prepared."""

    __slots__ = ()

    def prepare(self, constants):
        COUNTS.append(constants)
        return self.evaluate


def test_each_region_is_compiled_once_whatever_its_name():
    COUNTS.clear()
    first = region([f32()], lambda g, a: [g.apply(Counted(), a)], name="same")
    second = region([f32()], lambda g, a: [g.apply(RealNeg(), g.apply(Counted(), a))], name="same")
    run = If(then_body=first, else_body=second).prepare([None, None])
    assert len(COUNTS) == 2
    x = np.float32(3)
    results = [run(np.array(c), x)[0] for c in (True, False, True)]
    assert [float(r) for r in results] == [-3, 3, -3]
    assert len(COUNTS) == 2
    If(then_body=first, else_body=first).prepare([None, None])
    assert len(COUNTS) == 3
    scan = Scan(body=first, carries=1, scanned=0, length=100).prepare([None])
    assert float(scan(x)[0]) == 3
    assert len(COUNTS) == 4


def test_what_is_the_same_in_each_iteration_is_known_when_prepared():
    COUNTS.clear()

    def build(graph, carry, x, w):
        # -w depends on constants only, so it is computed before the first iteration.
        return [graph.apply(RealMul(), carry, graph.apply(Counted(), w)),
                graph.apply(Counted(), x)]  # fmt: skip

    op = Scan(body=region([f32(), f32(), f32()], build), carries=1, scanned=1, length=3)
    run = op.prepare([np.float32(1), None, np.float32(2)])
    assert COUNTS == [[None]]
    last, ys = run(np.float32(1), np.arange(3, dtype=np.float32), np.float32(2))
    assert float(last) == -8
    np.testing.assert_array_equal(ys, [0, -1, -2])


def test_a_region_in_a_region():
    """Sums of rows in a scan of a scan."""
    inner = Scan(
        body=region([i64(), i64()], lambda g, c, x: [g.apply(RealAdd(), c, x)]),
        carries=1, scanned=1, length=3,
    )  # fmt: skip
    outer = Scan(
        body=region([i64(), i64(3)], lambda g, c, x: [g.apply(inner, c, x), c]),
        carries=1, scanned=1, length=4,
    )  # fmt: skip
    xs = np.arange(12).reshape(4, 3)
    total, before = both_ways(outer, (np.array(5), xs))
    assert total == 5 + xs.sum()
    np.testing.assert_array_equal(before, [5, 8, 20, 41])


def test_symbols_are_bound_to_the_length_of_a_run():
    n = Dim("n")
    graph = Graph("g")
    start, xs = graph.input("start", f32(Dim("m"))), graph.input("xs", f32(n, Dim("m")))
    body = region([f32(Dim("m"))] * 2, lambda g, c, x: [g.apply(RealAdd(), c, x), c])
    op = Scan(body=body, carries=1, scanned=1, length=n)
    graph.output(*graph.append(op, start, xs).results)
    inputs = {"start": np.ones(2, np.float32), "xs": np.ones((5, 2), np.float32)}
    last, ways = evaluate(graph, inputs)
    np.testing.assert_array_equal(last, [6, 6])
    np.testing.assert_array_equal(ways[:, 0], [1, 2, 3, 4, 5])
    assert [v.type for v in bind(graph, {"n": 5, "m": 2}).outputs] == [f32(2), f32(5, 2)]
    assert op.prepare([None, None])(*inputs.values())[0].tolist() == [6, 6]


def test_quantization_goes_through_a_loop():
    quant = QuantParams.per_tensor(0.5, 3)
    type_ = i8(2, quant=quant)
    body = region([type_, type_], lambda g, c, x: [g.apply(QClamp(), c), x])
    op = Scan(body=body, carries=1, scanned=1, length=4)
    assert op.infer(type_, i8(4, 2, quant=quant)) == (type_, i8(4, 2, quant=quant))
    along = QuantParams((0.5,) * 4, (0,) * 4, 0)
    with raises(ShapeError):
        op.infer(type_, i8(4, 2, quant=along))


YES = region([f32()], lambda g, a: [g.constant(np.array(True))])
KEEP = region([f32()], lambda g, a: [a])
NONE = region([f32()], lambda g, a: [])
TWO = region([f32()], lambda g, a: [a, a])
WIDE = region([f32()], lambda g, a: [g.constant(np.zeros(2, np.float32))])
B = TensorType((), DType.BOOL)


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (If(then_body=KEEP, else_body=KEEP), []),
        (If(then_body=KEEP, else_body=KEEP), [f32(), f32()]),
        (If(then_body=KEEP, else_body=KEEP), [B, f32(2)]),
        (If(then_body=KEEP, else_body=KEEP), [B]),
        (If(then_body=KEEP, else_body=TWO), [B, f32()]),
        (If(then_body=KEEP, else_body=WIDE), [B, f32()]),
        (While(condition=YES, body=KEEP, max_iterations=-1), [f32()]),
        (While(condition=TWO, body=KEEP), [f32()]),
        (While(condition=KEEP, body=KEEP), [f32()]),
        (While(condition=YES, body=TWO), [f32()]),
        (While(condition=YES, body=NONE), [f32()]),
        (While(condition=YES, body=WIDE), [f32()]),
        (Scan(body=KEEP, carries=1, scanned=1, length=2), [f32()]),
        (Scan(body=KEEP, carries=-1, scanned=1, length=2), [f32()]),
        (Scan(body=NONE, carries=1, scanned=0, length=2), [f32()]),
        (Scan(body=KEEP, carries=1, scanned=0, length=-2), [f32()]),
        (Scan(body=KEEP, carries=0, scanned=1, length=2), [f32(3)]),
        (Scan(body=KEEP, carries=0, scanned=1, length=2), [f32()]),
        (Scan(body=KEEP, carries=0, scanned=1, length=2), [f32(2, 4)]),
        (Scan(body=WIDE, carries=1, scanned=0, length=2), [f32()]),
    ],
)
def test_types_that_do_not_fit(op, operands):
    with raises(ShapeError):
        op.infer_checked(*operands)


def test_values_of_another_scale_do_not_mix():
    one, other = (i8(2, quant=QuantParams.per_tensor(s)) for s in (0.5, 0.25))
    first, second = (region([one, other], lambda g, *v, i=i: [v[i]]) for i in (0, 1))
    with raises(ShapeError):
        If(then_body=first, else_body=second).infer(B, one, other)
    plain = region([one, other], lambda g, *v: [g.constant(np.zeros(2, np.int8))])
    assert If(then_body=plain, else_body=second).infer(B, one, other) == (other,)


def test_empty_results_have_the_types_of_the_body():
    op = Scan(body=region([i32(2)], lambda g, c: [c, g.constant(np.zeros((3, 1), np.int8))]),
              carries=1, scanned=0, length=0)  # fmt: skip
    last, ys = both_ways(op, (np.ones(2, np.int32),))
    assert (last.tolist(), ys.shape, ys.dtype) == ([1, 1], (0, 3, 1), np.int8)
