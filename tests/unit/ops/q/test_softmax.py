from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from rlx.ir import QuantParams, i8, i32
from rlx.ops.numerics.exponential import softmax_int8, softmax_scaling
from rlx.ops.q import QSoftmax
from rlx.support.errors import ShapeError

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
    ("op", "type_", "message"),
    [
        (SOFTMAX, i32(4), "input must be i8, not i32[4]"),
        (SOFTMAX, i8(), "input needs a last axis, not i8[]"),
        (SOFTMAX, i8(1, 4096), "the sum of more than 4095 exponentials overflows: i8[1, 4096]"),
        (
            replace(SOFTMAX, left_shift=31),
            i8(4),
            f"multiplier {SCALING[0]} or left shift 31 is out of range",
        ),
        (
            replace(SOFTMAX, multiplier=-1),
            i8(4),
            f"multiplier -1 or left shift {SCALING[1]} is out of range",
        ),
        (replace(SOFTMAX, diff_min=1), i8(4), "diff_min must be an int32 number <= 0, not 1"),
    ],
)
def test_refusals(op, type_, message: str) -> None:
    with pytest.raises(ShapeError, match=rf"^q\.softmax: {re.escape(message)}$"):
        op.infer_checked(type_)
