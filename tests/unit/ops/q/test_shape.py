from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import QuantParams, i8, i32
from rlx.ops.q import QConcat, QPad, QReshape, QSlice, QTranspose
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import Quant, codes, run_operator

QUANT = Quant(0.5, -7)
PARAMS = QuantParams.per_tensor(0.5, -7)
SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


@given(SHAPES, st.data(), st.integers(0, 2**16))
def test_concat_equals_tflm(shape, data, seed: int) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    parts = [codes(seed + n, (*shape[:axis], n, *shape[axis + 1 :])) for n in sizes]
    (result,) = QConcat(axis=axis).evaluate(*parts)
    expected = run_operator(
        "CONCATENATION", [(p, QUANT) for p in parts], (result.shape, QUANT), axis=axis
    )
    assert np.array_equal(result, expected)


@given(SHAPES, st.data(), st.integers(0, 2**16))
def test_pad_equals_tflm(shape, data, seed: int) -> None:
    sides = [data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in shape]
    x = codes(seed, shape)
    before, after = zip(*sides, strict=True)
    (result,) = QPad(before=before, after=after, value=QUANT.zero_point).evaluate(x)
    expected = run_operator(
        "PAD", [(x, QUANT)], (result.shape, QUANT), [(np.array(sides, np.int32), {})]
    )
    assert np.array_equal(result, expected)


@given(SHAPES, st.data(), st.integers(0, 2**16))
def test_slice_equals_tflm(shape, data, seed: int) -> None:
    starts = [data.draw(st.integers(0, n - 1)) for n in shape]
    stops = [data.draw(st.integers(s + 1, n)) for s, n in zip(starts, shape, strict=True)]
    steps = [data.draw(st.integers(1, 3)) for _ in shape]
    x = codes(seed, shape)
    op = QSlice(start=tuple(starts), stop=tuple(stops), step=tuple(steps))
    (result,) = op.evaluate(x)
    expected = run_operator(
        "STRIDED_SLICE", [(x, QUANT)], (result.shape, QUANT),
        [(np.array(v, np.int32), {}) for v in (starts, stops, steps)],
    )  # fmt: skip
    assert np.array_equal(result, expected)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.data(), st.integers(0, 2**16))
def test_transpose_equals_tflm(shape, data, seed: int) -> None:
    axes = data.draw(st.permutations(range(len(shape))))
    x = codes(seed, tuple(shape))
    (result,) = QTranspose(axes=tuple(axes)).evaluate(x)
    expected = run_operator(
        "TRANSPOSE", [(x, QUANT)], (result.shape, QUANT), [(np.array(axes, np.int32), {})]
    )
    assert result.flags.c_contiguous
    assert np.array_equal(result, expected)


def test_reshape_keeps_row_major_order() -> None:
    x = codes(1, (2, 6))
    assert QReshape(shape=(3, 4)).evaluate(x)[0].ravel().tolist() == x.ravel().tolist()


def test_movers_keep_what_codes_stand_for() -> None:
    x = i8(2, 6, quant=PARAMS)
    assert QReshape(shape=(3, 4)).infer(x) == (i8(3, 4, quant=PARAMS),)
    assert QTranspose(axes=(1, 0)).infer(x) == (i8(6, 2, quant=PARAMS),)
    assert QConcat(axis=-1).infer(x, x) == (i8(2, 12, quant=PARAMS),)
    assert QSlice(start=(0, 1), stop=(2, 6), step=(1, 2)).infer(x) == (i8(2, 3, quant=PARAMS),)
    assert QPad(before=(0, 1), after=(3, 0), value=-7).infer(x) == (i8(5, 7, quant=PARAMS),)


OTHER = i8(2, 2, quant=QuantParams.per_tensor(0.25, -7))


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (QReshape(shape=(4,)), (i32(4),)),
        (QReshape(shape=(5,)), (i8(4),)),
        (QReshape(shape=(-2, -2)), (i8(4),)),
        (QConcat(axis=0), ()),
        (QConcat(axis=0), (i8(2), i32(2))),
        (QConcat(axis=0), (i8(2), i8(2, 1))),
        (QConcat(axis=0), (i8(2, 3), i8(2, 4))),
        (QConcat(axis=2), (i8(2, 3),)),
        (QConcat(axis=0), (i8(2, 2, quant=PARAMS), OTHER)),
        (QTranspose(axes=(0,)), (i32(4),)),
        (QTranspose(axes=(0, 0)), (i8(4, 4),)),
        (QSlice(start=(0,), stop=(1,), step=(1,)), (i32(4),)),
        (QSlice(start=(0,), stop=(1, 2), step=(1,)), (i8(4),)),
        (QSlice(start=(2,), stop=(2,), step=(1,)), (i8(4),)),
        (QSlice(start=(0,), stop=(5,), step=(1,)), (i8(4),)),
        (QSlice(start=(0,), stop=(4,), step=(0,)), (i8(4),)),
        (QPad(before=(0,), after=(0,), value=0), (i32(4),)),
        (QPad(before=(0,), after=(0,), value=128), (i8(4),)),
        (QPad(before=(0, 0), after=(0,), value=0), (i8(4),)),
        (QPad(before=(0,), after=(-1,), value=0), (i8(4),)),
    ],
)
def test_refusals(op, types) -> None:
    with raises(ShapeError):
        op.infer_checked(*types)
