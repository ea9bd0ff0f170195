"""Functions on int16: their tables, known values, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import DType, TensorType, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.gates import gate_scaling
from rlx.ops.numerics.lookup16 import EXPONENTIALS, RECIPROCALS
from rlx.ops.q import QSigmoid16, QSoftmax16, QTanh16
from rlx.support.errors import ShapeError
from support.messages import raises

GATE = {"multiplier": 24576, "shift": 13}
ONE = Rescale.of(1.0)


def i16(*shape: int) -> TensorType:
    return TensorType(shape, DType.I16)


def test_tables_are_those_of_the_reference() -> None:
    assert EXPONENTIALS[[0, 1, 509, 510, 511, 512]].tolist() == [2, 2, 30902, 31512, 32133, 32767]
    assert RECIPROCALS[[0, 1, 2, 510, 511, 512]].tolist() == [
        32767, 32704, 32640, 16416, 16400, 16384,
    ]  # fmt: skip
    assert int(EXPONENTIALS.sum()) == 1694030
    assert int(RECIPROCALS.sum()) == 11653643


def test_multipliers_of_gates_are_truncated() -> None:
    assert gate_scaling(2.0**-12) == (24576, 13)
    assert gate_scaling(1e-3) == (25165, 11)
    assert gate_scaling(2.6) == (31948, 0)


def test_functions_are_near_those_of_floats() -> None:
    x = np.arange(-32768, 32768).astype(np.int16)
    exact = x / 4096
    (sigmoid,) = QSigmoid16(**GATE).evaluate(x)
    (tanh,) = QTanh16(**GATE).evaluate(x)
    # The tables have 256 entries; between them functions are lines.
    assert np.abs(sigmoid / 32768 - 1 / (1 + np.exp(-exact))).max() < 1e-4
    assert np.abs(tanh / 32768 - np.tanh(exact)).max() < 4e-4


def test_equal_values_share_probability() -> None:
    (y,) = QSoftmax16(rescale=ONE).evaluate(np.full((1, 4), -321, np.int16))
    assert len(set(y.ravel().tolist())) == 1
    assert abs(int(y[0, 0]) - 8192) < 8


@pytest.mark.parametrize(
    ("op", "type_"),
    [
        (QSoftmax16(rescale=ONE), i8(4)),
        (QSoftmax16(rescale=ONE), i16()),
        (QSoftmax16(rescale=ONE), i16(1 << 16)),
        (QSoftmax16(rescale=Rescale.of(2.0**16)), i16(4)),
        (QSoftmax16(rescale=Rescale.of(1.0, rounding=Rounding.SINGLE)), i16(4)),
        (QSigmoid16(multiplier=1 << 15, shift=0), i16(4)),
        (QTanh16(multiplier=3, shift=32), i16(4)),
        (QTanh16(**GATE), i8(4)),
    ],
)
def test_refusals(op, type_) -> None:
    with raises(ShapeError):
        op.infer(type_)
