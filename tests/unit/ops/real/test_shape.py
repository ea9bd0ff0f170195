from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, QuantParams, f32, i8
from rlx.ops import real
from rlx.support.errors import ShapeError

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
    with pytest.raises(ValueError, match=r"still has symbolic dimensions; bind them first$"):
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
    with pytest.raises(
        ValueError, match=r"^real.slice still has symbolic bounds; bind them first$"
    ):
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
    message = (
        rf"^{op.name}: i8\[2, 3\] q\(axis=0, 0.5:0, 0.25:1\) holds quantized values with a"
        r" scale for each index of axis 0\n  hint: dequantize it first \(real.dequantize\)$"
    )
    with pytest.raises(ShapeError, match=message):
        op.infer(BY_AXIS)


def test_transpose_moves_the_axis_of_scales():
    (moved,) = real.RealTranspose(axes=(1, 0)).infer(BY_AXIS)
    assert moved.quant is not None
    assert moved.quant.axis == 1


@pytest.mark.parametrize(
    ("op", "operands", "message"),
    [
        (real.RealReshape(shape=(5,)), (f32(2, 3),),
         r"real.reshape: f32\[2, 3\] does not have the elements of shape \[5\]"),
        (real.RealReshape(shape=(BATCH, BATCH, 3)), (f32(BATCH, 3),),
         r"real.reshape: f32\[batch, 3\] does not have the elements of shape \[batch, batch, 3\]"),
        (real.RealReshape(shape=(-2, -3)), (f32(6),),
         r"real.reshape: dimensions must not be negative, not \[-2, -3\]"),
        (real.RealReshape(shape=(-BATCH, -3)), (f32(3, BATCH),),
         r"real.reshape: dimensions must not be negative, not \[-batch, -3\]"),
        (real.RealTranspose(axes=(0, 0)), (f32(2, 3),),
         r"real.transpose: axes \(0, 0\) are not a permutation of 2 axes"),
        (real.RealBroadcastTo(shape=(4, 3)), (f32(2, 3),),
         r"real.broadcast_to: f32\[2, 3\] does not broadcast to \[4, 3\]"),
        (real.RealBroadcastTo(shape=(3,)), (f32(2, 3),),
         r"real.broadcast_to: f32\[2, 3\] does not broadcast to \[3\]"),
        (real.RealSlice(start=(0,), stop=(1,), step=(1,)), (f32(2, 3),),
         r"real.slice: start, stop and step need 2 entries each"),
        (real.RealSlice(start=(0,), stop=(4,), step=(1,)), (f32(3),),
         r"real.slice: \[0:4:1\] does not fit axis 0 of f32\[3\]"),
        (real.RealSlice(start=(0,), stop=(BATCH + 1,), step=(1,)), (f32(BATCH),),
         r"real.slice: \[0:batch \+ 1:1\] does not fit axis 0 of f32\[batch\]"),
        (real.RealSlice(start=(BATCH,), stop=(0,), step=(1,)), (f32(BATCH),),
         r"real.slice: \[batch:0:1\] does not fit axis 0 of f32\[batch\]"),
        (real.RealSlice(start=(-BATCH,), stop=(None,), step=(1,)), (f32(BATCH),),
         r"real.slice: \[-batch:None:1\] does not fit axis 0 of f32\[batch\]"),
        (real.RealSlice(start=(1,), stop=(None,), step=(2,)), (f32(BATCH),),
         r"real.slice: step 2 does not divide the batch - 1 indices from 1 to batch"),
        (real.RealConcat(axis=0), (f32(2, 3), f32(2, 4)),
         r"real.concat: f32\[2, 4\] does not join f32\[2, 3\] along axis 0"),
        (real.RealConcat(axis=0), (f32(2), i8(2)),
         r"real.concat: i8\[2\] does not join f32\[2\] along axis 0"),
        (real.RealConcat(axis=0), (f32(BATCH, 2), f32(2, 3)),
         r"real.concat: f32\[2, 3\] does not join f32\[batch, 2\] along axis 0"),
        (real.RealPad(before=(1,), after=(1, 2)), (f32(2),),
         r"real.pad: before, after and interior need 1 entries each"),
        (real.RealPad(before=(-1,), after=(0,)), (f32(2),),
         r"real.pad: padding must not be negative, not \(-1,\), \(0,\) and \(0,\)"),
        (real.RealPad(before=(1,), after=(0,), interior=(1,)), (f32(BATCH - 1),),
         r"real.pad: dimension batch - 1 of f32\[batch - 1\] may be 0, which has no gaps to fill"),
        (real.RealPad(before=(1,), after=(0,), value=0.5), (i8(2),),
         r"real.pad: value must be whole for i8\[2\], not 0.5"),
        (real.RealPad(before=(0, 0), after=(0, 0)), (CODES,),
         r"real.pad: i8\[2, 3\] q\(0.5, 1\) holds quantized values\n"
         r"  hint: dequantize it first \(real.dequantize\)"),
        (real.RealReverse(axes=(2,)), (f32(2, 3),),
         r"real.reverse: axis 2 is outside a tensor of 2 dimensions"),
    ],
)  # fmt: skip
def test_refusals(op, operands, message):
    with pytest.raises(ShapeError, match=f"^{message}$"):
        op.infer(*operands)
