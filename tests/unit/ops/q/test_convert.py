"""Changes of element type against TensorFlow Lite Micro, for every value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import DType, TensorType, i8, i32
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import CODE_RANGE, QConvert
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import Quant, float32, run_operator

NAMES = {DType.I8: "int8", DType.U8: "uint8", DType.I16: "int16"}
PAIRS = [(DType.I8, DType.U8), (DType.U8, DType.I8), (DType.I8, DType.I16),
         (DType.I16, DType.I8), (DType.I16, DType.I16)]  # fmt: skip
"""Conversions of the interpreter; between uint8 and int16 it has none."""


def every(dtype):
    low, high = CODE_RANGE[dtype]
    return np.arange(low, high + 1).astype(dtype.numpy)


def convert(target, x_zero_point=0, zero_point=0, factor=1.0):
    return QConvert(
        x_zero_point=x_zero_point,
        rescale=Rescale.of(factor),
        zero_point=zero_point,
        dtype=target,
    )


def points(dtype):
    """Return a strategy of zero points; the interpreter has none for int16."""
    return st.just(0) if dtype is DType.I16 else st.integers(*CODE_RANGE[dtype])


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: "-".join(NAMES[d] for d in p))
@given(data=st.data())
def test_equals_tflm_for_every_value(pair, data):
    source, target = pair
    given_, wanted = (
        Quant(data.draw(float32(0.001, 1.0)), data.draw(points(dtype))) for dtype in pair
    )
    if data.draw(st.booleans()):
        wanted = Quant(given_.scale, wanted.zero_point)
    x = every(source)
    expected = run_operator("QUANTIZE", [(x, given_)], (x.shape, wanted), dtype=NAMES[target])
    op = convert(target, given_.zero_point, wanted.zero_point, given_.scale / wanted.scale)
    (found,) = op.evaluate(x)
    assert found.dtype == target.numpy
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("pair", [(DType.I8, DType.U8), (DType.U8, DType.I8)])
def test_the_same_scale_inverts_the_top_bit(pair):
    source, target = pair
    low, _ = CODE_RANGE[target]
    x = every(source)
    (found,) = convert(target, -128 - low, low).evaluate(x)
    assert (found.view(np.uint8) == x.view(np.uint8) ^ 0x80).all()


def test_results_saturate():
    x = np.array([-32768, -3, 0, 3, 32767], np.int16)
    assert convert(DType.U8, 0, 7, 100.0).evaluate(x)[0].tolist() == [0, 0, 7, 255, 255]
    assert convert(DType.I16, 5, -9, 2.0).evaluate(x)[0].tolist() == [
        -32768, -25, -19, -13, 32767,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "operand"),
    [
        (convert(DType.I8), i8(2)),
        (convert(DType.U8), i32(2)),
        (convert(DType.F32), i8(2)),
        (convert(DType.U8, zero_point=-1), i8(2)),
        (convert(DType.I8, x_zero_point=256), TensorType((2,), DType.U8)),
    ],
)
def test_what_does_not_fit_is_refused(op, operand):
    with raises(ShapeError):
        op.infer(operand)
