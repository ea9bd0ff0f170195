from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlx.ir import QuantParams, i8, i32
from rlx.ops.numerics.exponential import softmax_int8, softmax_scaling
from rlx.ops.q import QSoftmax
from rlx.support.errors import ShapeError
from support.messages import raises

SCALING = softmax_scaling(0.25)
SOFTMAX = QSoftmax(multiplier=SCALING[0], left_shift=SCALING[1], diff_min=SCALING[2])


def test_softmax_works_on_each_row_of_the_last_axis() -> None:
    x = np.random.default_rng(1).integers(-128, 128, (2, 3, 5)).astype(np.int8)
    (result,) = SOFTMAX.evaluate(x)
    rows = [[softmax_int8(r, *SCALING) for r in block] for block in x]
    assert np.array_equal(result, rows)


def test_result_is_a_probability() -> None:
    quant = QuantParams.per_tensor(1 / 256, -128)
    assert SOFTMAX.infer(i8(2, 4, quant=QuantParams.per_tensor(0.25, 7))) == (
        i8(2, 4, quant=quant),
    )


@pytest.mark.parametrize(
    ("op", "type_"),
    [
        (SOFTMAX, i32(4)),
        (SOFTMAX, i8()),
        (SOFTMAX, i8(1, 4096)),
        (replace(SOFTMAX, left_shift=31), i8(4)),
        (replace(SOFTMAX, multiplier=-1), i8(4)),
        (replace(SOFTMAX, diff_min=1), i8(4)),
    ],
)
def test_refusals(op, type_) -> None:
    with raises(ShapeError):
        op.infer_checked(type_)
