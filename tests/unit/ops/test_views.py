"""Views and joins: the bytes of results are those of operands, exactly where the rules say so."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import DType, Graph, TensorType
from rlx.ir.views import JOINS, VIEWS, contents, join_offsets, view_offset
from rlx.ops import q, real

SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)


@st.composite
def slices(draw, shape, end=lambda stop, size: stop):
    starts, stops, steps = [], [], []
    for size in shape:
        start = draw(st.integers(0, size - 1))
        stop = draw(st.integers(start + 1, size))
        starts.append(start)
        stops.append(end(stop, size))
        steps.append(draw(st.sampled_from((1, 1, 2))))
    return {"start": tuple(starts), "stop": tuple(stops), "step": tuple(steps)}


def open_end(stop, size):
    return None if stop == size else stop


@st.composite
def movers(draw):
    """Return a shape and an op that moves elements of a tensor of this shape."""
    shape = draw(SHAPES)
    axes = tuple(draw(st.permutations(range(len(shape)))))
    flat = (int(np.prod(shape)),)
    wide = tuple(n if n > 1 else draw(st.integers(1, 2)) for n in shape)
    few = tuple(draw(st.sets(st.integers(-len(shape), len(shape) - 1), max_size=2)))
    few = few if len({a % len(shape) for a in few}) == len(few) else few[:1]
    none = (0,) * len(shape)
    return shape, draw(
        st.sampled_from((
            real.RealReshape(shape=flat),
            real.RealTranspose(axes=axes),
            real.RealBroadcastTo(shape=(draw(st.integers(1, 2)), *wide)),
            real.RealSlice(**draw(slices(shape, open_end))),
            real.RealReverse(axes=few),
            real.RealPad(before=none, after=draw(st.sampled_from((none, (1, *none[1:]))))),
            real.RealCast(dtype=draw(st.sampled_from((DType.I32, DType.I64)))),
        ))
    )  # fmt: skip


@given(case=movers())
def test_a_result_is_a_view_where_its_elements_are_a_run(case):
    shape, op = case
    graph = Graph("g")
    x = graph.input("x", TensorType(shape, DType.I32))
    y = graph.apply(op, x)
    codes = np.arange(x.type.size, dtype=np.int32)
    result = op.evaluate(codes.reshape(shape))[0].reshape(-1)
    run = result.dtype == np.int32 and np.array_equal(result, result[0] + np.arange(result.size))
    assert view_offset(y.node) == (4 * result[0] if run else None)


@given(shape=SHAPES, data=st.data())
def test_a_part_of_bytes_is_no_view(shape, data):
    part = real.RealSlice(**data.draw(slices(shape)))
    graph = Graph("g")
    y = graph.apply(part, graph.input("x", TensorType(shape, DType.I4)))
    assert view_offset(y.node) == (0 if y.type.shape == shape else None)


@given(shape=SHAPES, data=st.data())
def test_slices_of_codes_are_views_too(shape, data):
    part = q.QSlice(**data.draw(slices(shape)))
    graph = Graph("g")
    x = graph.input("x", TensorType(shape, DType.I8))
    y = graph.apply(part, x)
    result = part.evaluate(np.arange(x.type.size).reshape(shape))[0].reshape(-1)
    run = np.array_equal(result, result[0] + np.arange(result.size))
    assert view_offset(y.node) == (result[0] if run else None)


@given(
    shape=SHAPES, count=st.integers(1, 3), data=st.data(),
    kind=st.sampled_from((DType.F32, DType.I8, DType.I4)),
)  # fmt: skip
def test_a_join_holds_its_operands_one_after_the_other(shape, count, data, kind):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    graph = Graph("g")
    parts = [graph.input(f"x{i}", TensorType(shape, kind)) for i in range(count)]
    y = graph.apply(real.RealConcat(axis=axis), *parts)
    size = parts[0].type.size
    arrays = [np.arange(i * size, (i + 1) * size).reshape(shape) for i in range(count)]
    joined = np.concatenate(arrays, axis).reshape(-1)
    whole = np.array_equal(joined, np.arange(joined.size))
    offsets = tuple(i * parts[0].type.nbytes for i in range(count))
    if kind is DType.I4:
        assert join_offsets(y.node) is None
    elif whole and not any(n != 1 for n in shape[: axis % len(shape)]):
        assert join_offsets(y.node) == offsets
    else:
        assert join_offsets(y.node) is None


def test_bits_read_as_another_type_stay_where_they_are():
    graph = Graph("g")
    x = graph.input("x", TensorType((2,), DType.F32))
    y = graph.apply(real.RealBitcast(dtype=DType.I32), x)
    assert view_offset(y.node) == 0


def test_a_chain_of_views_has_the_bytes_of_its_first_operand():
    graph = Graph("g")
    x = graph.input("x", TensorType((4, 2), DType.F32))
    value = graph.apply(real.RealTanh(), x)
    base = value
    for _ in range(3):
        value = graph.apply(real.RealReshape(shape=(4, 2)), value)
        value = graph.apply(real.RealReshape(shape=(8,)), value)
        value = graph.apply(real.RealReshape(shape=(4, 2)), value)
    part = graph.apply(real.RealSlice(start=(2, 0), stop=(3, 2), step=(1, 1)), value)
    found = contents(graph)
    assert found[part] == (base, 16)
    assert found[value] == (base, 0)
    assert found[base] == (base, 0)


def test_no_op_is_both():
    assert not set(VIEWS) & set(JOINS)
