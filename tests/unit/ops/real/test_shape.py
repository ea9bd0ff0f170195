from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, QuantParams, f32, i8
from rlx.ops import real
from rlx.support.errors import ShapeError
from support.messages import raises

BATCH, LENGTH = Dim("batch"), Dim("length")
X = np.arange(24).reshape(2, 3, 4)
CODES = i8(2, 3, quant=QuantParams.per_tensor(0.5, 1))
BY_AXIS = i8(2, 3, quant=QuantParams((0.5, 0.25), (0, 1), 0))


def test_reshape_keeps_the_order_of_elements():
    (y,) = real.RealReshape(shape=(4, 6)).evaluate(X)
    assert y.ravel().tolist() == list(range(24))
    assert y.shape == (4, 6)


def test_reshape_carries_symbols_along():
    op = real.RealReshape(shape=(3, BATCH, 2))
    assert op.infer(f32(BATCH, 6)) == (f32(3, BATCH, 2),)
    assert op.evaluate(np.zeros((5, 6)))[0].shape == (3, 5, 2)


def test_reshape_joins_and_splits_symbols():
    joined, spread = f32(BATCH * LENGTH + BATCH, 6), f32(BATCH, LENGTH + 1, 2, 3)
    assert real.RealReshape(shape=joined.shape).infer(spread) == (joined,)
    assert real.RealReshape(shape=spread.shape).infer(joined) == (spread,)
    assert real.RealReshape(shape=(0, 8)).infer(f32(4, 0)) == (f32(0, 8),)
    many = tuple(Dim(f"n{i}") + 1 for i in range(8))
    assert real.RealReshape(shape=many[::-1]).infer(f32(*many)) == (f32(*many[::-1]),)


def test_transpose_permutes():
    (y,) = real.RealTranspose(axes=(2, 0, 1)).evaluate(X)
    for i, j, k in np.ndindex(X.shape):
        assert y[k, i, j] == X[i, j, k]
    assert real.RealTranspose(axes=(1, 0)).infer(f32(BATCH, 2)) == (f32(2, BATCH),)


def test_broadcast_repeats():
    (y,) = real.RealBroadcastTo(shape=(3, 2, 4)).evaluate(np.array([[1], [2]]))
    assert y.tolist() == [[[1] * 4, [2] * 4]] * 3
    assert real.RealBroadcastTo(shape=(BATCH, 3)).infer(f32(1, 3)) == (f32(BATCH, 3),)
    with raises(ValueError):
        real.RealBroadcastTo(shape=(BATCH, 3)).evaluate(np.zeros((1, 3)))


def test_slice_takes_steps():
    op = real.RealSlice(start=(0, 1, 0), stop=(None, 3, 4), step=(1, 1, 3))
    (y,) = op.evaluate(X)
    assert y.tolist() == X[:, 1:3, 0:4:3].tolist()
    assert op.infer(f32(BATCH, 3, 4)) == (f32(BATCH, 2, 2),)


@pytest.mark.parametrize(
    ("start", "stop", "step", "size"),
    [
        (1, None, 1, LENGTH - 1),
        (0, 5, 1, 5),
        (LENGTH - 1, None, 1, 1),
        (0, LENGTH - 2, 1, LENGTH - 2),
        (BATCH, BATCH + 4, 3, 2),
        (BATCH, LENGTH, 1, LENGTH - BATCH),
    ],
)
def test_slice_takes_symbols_as_bounds(start, stop, step, size):
    op = real.RealSlice(start=(start,), stop=(stop,), step=(step,))
    assert op.infer(f32(LENGTH)) == (f32(size),)


def test_slice_needs_numbers_to_be_evaluated():
    op = real.RealSlice(start=(0,), stop=(LENGTH,), step=(1,))
    with raises(ValueError):
        op.evaluate(np.zeros(4))


def test_slice_of_every_second_of_two():
    op = real.RealSlice(start=(0,), stop=(None,), step=(2,))
    assert op.infer(f32(2 * LENGTH)) == (f32(LENGTH),)


def test_slice_may_be_empty():
    op = real.RealSlice(start=(2,), stop=(2,), step=(1,))
    assert op.infer(f32(5)) == (f32(0),)
    assert op.evaluate(np.zeros(5))[0].shape == (0,)


def test_concat_joins():
    (y,) = real.RealConcat(axis=-1).evaluate(X[..., :1], X[..., 1:3], X[..., 3:])
    assert y.tolist() == X.tolist()
    assert real.RealConcat(axis=1).infer(f32(BATCH, 2), f32(BATCH, 5)) == (f32(BATCH, 7),)
    grown = real.RealConcat(axis=0).infer(f32(LENGTH, 2), f32(1, 2), f32(LENGTH, 2))
    assert grown == (f32(2 * LENGTH + 1, 2),)


def test_pad_puts_constants_around_and_between():
    op = real.RealPad(before=(1, 0), after=(0, 2), interior=(0, 1), value=9.0)
    (y,) = op.evaluate(np.array([[1, 2], [3, 4]], np.int8))
    assert y.tolist() == [[9, 9, 9, 9, 9], [1, 9, 2, 9, 9], [3, 9, 4, 9, 9]]
    assert y.dtype == np.int8
    assert op.infer(i8(2, 2)) == (i8(3, 5),)
    assert real.RealPad(before=(0, 1), after=(0, 0)).infer(f32(BATCH, 2)) == (f32(BATCH, 3),)
    assert real.RealPad(before=(1,), after=(2,)).infer(f32(BATCH)) == (f32(BATCH + 3),)
    gaps = real.RealPad(before=(0,), after=(0,), interior=(2,))
    assert gaps.infer(f32(BATCH)) == (f32(3 * BATCH - 2),)


def test_pad_of_an_empty_axis_has_no_gaps():
    op = real.RealPad(before=(1,), after=(1,), interior=(3,))
    assert op.infer(f32(0)) == (f32(2),)
    assert op.evaluate(np.zeros(0))[0].shape == (2,)


def test_reverse_turns_around():
    (y,) = real.RealReverse(axes=(0, -1)).evaluate(X)
    assert y.tolist() == X[::-1, :, ::-1].tolist()


@pytest.mark.parametrize(
    "op",
    [
        real.RealReshape(shape=(3, 2)),
        real.RealBroadcastTo(shape=(4, 2, 3)),
        real.RealSlice(start=(0, 1), stop=(2, 3), step=(1, 1)),
        real.RealConcat(axis=0),
        real.RealReverse(axes=(0,)),
    ],
    ids=lambda op: op.name,
)
def test_codes_keep_one_scale_but_not_several(op):
    (moved,) = op.infer(CODES)
    assert moved.quant == CODES.quant
    with raises(ShapeError):
        op.infer(BY_AXIS)


def test_transpose_moves_the_axis_of_scales():
    (moved,) = real.RealTranspose(axes=(1, 0)).infer(BY_AXIS)
    assert moved.quant is not None
    assert moved.quant.axis == 1


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        (real.RealReshape(shape=(5,)), (f32(2, 3),)),
        (real.RealReshape(shape=(BATCH, BATCH, 3)), (f32(BATCH, 3),)),
        (real.RealReshape(shape=(-2, -3)), (f32(6),)),
        (real.RealReshape(shape=(-BATCH, -3)), (f32(3, BATCH),)),
        (real.RealTranspose(axes=(0, 0)), (f32(2, 3),)),
        (real.RealBroadcastTo(shape=(4, 3)), (f32(2, 3),)),
        (real.RealBroadcastTo(shape=(3,)), (f32(2, 3),)),
        (real.RealSlice(start=(0,), stop=(1,), step=(1,)), (f32(2, 3),)),
        (real.RealSlice(start=(0,), stop=(4,), step=(1,)), (f32(3),)),
        (real.RealSlice(start=(0,), stop=(BATCH + 1,), step=(1,)), (f32(BATCH),)),
        (real.RealSlice(start=(BATCH,), stop=(0,), step=(1,)), (f32(BATCH),)),
        (real.RealSlice(start=(-BATCH,), stop=(None,), step=(1,)), (f32(BATCH),)),
        (real.RealSlice(start=(1,), stop=(None,), step=(2,)), (f32(BATCH),)),
        (real.RealConcat(axis=0), (f32(2, 3), f32(2, 4))),
        (real.RealConcat(axis=0), (f32(2), i8(2))),
        (real.RealConcat(axis=0), (f32(BATCH, 2), f32(2, 3))),
        (real.RealPad(before=(1,), after=(1, 2)), (f32(2),)),
        (real.RealPad(before=(-1,), after=(0,)), (f32(2),)),
        (real.RealPad(before=(1,), after=(0,), interior=(1,)), (f32(BATCH - 1),)),
        (real.RealPad(before=(1,), after=(0,), value=0.5), (i8(2),)),
        (real.RealPad(before=(0, 0), after=(0, 0)), (CODES,)),
        (real.RealReverse(axes=(2,)), (f32(2, 3),)),
    ],
)
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)
