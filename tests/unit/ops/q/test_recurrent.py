"""Layers with a state: shifts, saturation and sums that wrap around."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Dim, DType, TensorType, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.gates import SIGMOID, sigmoid16, tanh16
from rlx.ops.q import QLstmCell, QLstmOutput, QSvdf, QSvdfState
from rlx.support.errors import ShapeError
from support.messages import raises

ONE = Rescale.of(1.0)


def i16(*shape: int | Dim) -> TensorType:
    """Return a type of int16."""
    return TensorType(shape, DType.I16)


def i32(*shape: int) -> TensorType:
    """Return a type of int32."""
    return TensorType(shape, DType.I32)


def test_a_state_moves_by_one_for_each_filter() -> None:
    op = QSvdfState(x_zero_point=1, rescale=ONE)
    x = np.array([[2, 3], [101, 101]], np.int8)
    state = np.arange(12, dtype=np.int16).reshape(2, 6)
    w = np.array([[10, 100], [127, 127]], np.int8)
    (following,) = op.evaluate(x, state, w)
    assert following.tolist() == [[1, 2, 210, 4, 5, 381], [7, 8, 11000, 10, 11, 25400]]


@pytest.mark.parametrize(("factor", "expected"), [(4.0, 32767), (-4.0, -32768)])
def test_a_state_saturates(factor: float, expected: int) -> None:
    op = QSvdfState(x_zero_point=0, rescale=Rescale.of(abs(factor)))
    w = np.array([[127 if factor > 0 else -127]], np.int8)
    (following,) = op.evaluate(np.array([[127]], np.int8), np.zeros((1, 1), np.int16), w)
    assert following.tolist() == [[expected]]


def test_a_unit_sums_its_filters() -> None:
    op = QSvdf(rescale=Rescale.of(0.5), zero_point=-3, low=-100)
    state = np.array([[1, 2, 3, 4, 5, 6, 7, 8]], np.int16)
    w = np.array([[1, 1], [1, -1], [2, 2], [-1, -10]], np.int16)
    (y,) = op.evaluate(state, w, np.array([4, 1], np.int32))
    assert y.tolist() == [[0, -35]]


def test_sums_wrap_around() -> None:
    op = QSvdf(rescale=Rescale.of(2.0**-26), zero_point=0)
    state, w = np.full((1, 3), 32767, np.int16), np.full((1, 3), 32767, np.int16)
    (y,) = op.evaluate(state, w, np.zeros(1, np.int32))
    wrapped = 3 * 32767**2 - 2**32
    assert y.tolist() == [[round(wrapped / 2**26)]]


@pytest.mark.parametrize("operands", [
    (i8(1, 3), i8(1, 4), i8(2, 3)),
    (i8(1, 3), i16(4), i8(2, 3)),
    (i8(1, 3), i16(1, 4), i8(2, 4)),
    (i8(1, 3), i16(1, 5), i8(2, 3)),
    (i8(2, 3), i16(1, 4), i8(2, 3)),
    (i8(1, 3), i16(1, 4), i8(0, 3)),
    (i8(1, 3), i16(1, Dim("n")), i8(2, 3)),
])  # fmt: skip
def test_states_that_do_not_fit_are_refused(operands: tuple[TensorType, ...]) -> None:
    with raises(ShapeError):
        QSvdfState(x_zero_point=0, rescale=ONE).infer(*operands)


@pytest.mark.parametrize("operands", [
    (i16(1, 4), i8(2, 2), i32(2)),
    (i16(1, 5), i16(2, 2), i32(2)),
    (i16(1, 6), i16(3, 2), i32(2)),
    (i16(1, 4), i16(2, 2), i16(2)),
    (i16(1, 4), i16(2, 2), i32(0)),
])  # fmt: skip
def test_outputs_that_do_not_fit_are_refused(operands: tuple[TensorType, ...]) -> None:
    with raises(ShapeError):
        QSvdf(rescale=ONE, zero_point=0).infer(*operands)


def test_gates_are_within_a_unit_of_the_functions() -> None:
    x = np.arange(-32768, 32768)
    real = x / 4096
    np.testing.assert_allclose(sigmoid16(x) / 32768, 1 / (1 + np.exp(-real)), atol=6e-5)
    for power in (-12, -15, -9):
        np.testing.assert_allclose(
            tanh16(x, power) / 32768, np.tanh(x * 2.0**power), atol=3e-4, err_msg=str(power)
        )
    assert (SIGMOID[0], SIGMOID[4], SIGMOID[255]) == (32768, 35493, 65535)


LSTM = {"x_zero_point": 0, "h_zero_point": 0}
CELL = {**LSTM, "forget_rescale": ONE, "update_rescale": ONE}
THREE = Rescale.of(1.0, 1.0, 1.0)


@pytest.mark.parametrize("operands", [
    (i8(1, 3), i8(1, 2), i16(1, 2), i8(2, 3), i8(2, 2), i32(2)),
    (i8(1, 3), i8(1, 2), i8(1, 2), i8(6, 3), i8(6, 2), i32(6)),
    (i8(2, 3), i8(1, 2), i16(1, 2), i8(6, 3), i8(6, 2), i32(6)),
    (i8(1, 3), i8(1, 2), i16(1, 2), i8(6, 3), i8(6, 2), i32(2)),
    (i8(1, 3), i8(1, 2), i16(1, Dim("n")), i8(6, 3), i8(6, 2), i32(6)),
])  # fmt: skip
def test_cells_that_do_not_fit_are_refused(operands: tuple[TensorType, ...]) -> None:
    with raises(ShapeError):
        QLstmCell(**CELL, input_rescale=THREE, recurrent_rescale=THREE).infer(*operands)


FITTING = (i8(1, 3), i8(1, 2), i16(1, 2), i8(6, 3), i8(6, 2), i32(6))


@pytest.mark.parametrize("changed", [
    {"input_rescale": ONE},
    {"clip": 40000},
    {"forget_rescale": Rescale.of(1.0, rounding=Rounding.EVEN)},
])  # fmt: skip
def test_other_attributes_of_cells_are_refused(changed: dict[str, object]) -> None:
    usual = {**CELL, "input_rescale": THREE, "recurrent_rescale": THREE}
    with raises(ShapeError):
        QLstmCell(**{**usual, **changed}).infer(*FITTING)


def test_another_power_is_refused() -> None:
    op = QLstmOutput(**LSTM, input_rescale=ONE, recurrent_rescale=ONE, power=3, rescale=ONE)
    with raises(ShapeError):
        op.infer(i8(1, 3), i8(1, 2), i16(1, 2), i8(2, 3), i8(2, 2), i32(2))


def test_a_batch_may_be_a_symbol() -> None:
    n = Dim("n")
    x, h, c, state = i8(n, 3), i8(n, 2), i16(n, 2), i16(n, 4)
    usual = {**CELL, "input_rescale": THREE, "recurrent_rescale": THREE}
    output = QLstmOutput(**LSTM, input_rescale=ONE, recurrent_rescale=ONE, power=-9, rescale=ONE)
    for op, operands, expected in (
        (QSvdfState(x_zero_point=0, rescale=ONE), (x, state, i8(2, 3)), state),
        (QSvdf(rescale=ONE, zero_point=0), (state, i16(2, 2), i32(2)), i8(n, 2)),
        (QLstmCell(**usual), (x, h, c, *FITTING[3:]), c),
        (output, (x, h, c, i8(2, 3), i8(2, 2), i32(2)), h),
    ):
        assert op.infer(*operands) == (expected,)
