from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import i8, i32
from rlx.ops.q import QAveragePool2d, QMaxPool2d, Window
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import ACTIVATIONS, Quant, clamp_of, codes, quants, run_operator

AVERAGE = QAveragePool2d(window=Window((2, 2)))


@pytest.mark.parametrize(
    ("code", "kind"), [("AVERAGE_POOL_2D", QAveragePool2d), ("MAX_POOL_2D", QMaxPool2d)]
)
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    stride=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    channels=st.integers(1, 5),
    same=st.booleans(),
    quant=quants(),
    activation=ACTIVATIONS,
    seed=st.integers(0, 2**16),
)
def test_pools_equal_tflm(
    code, kind, size, kernel, stride, channels, same, quant: Quant, activation, seed: int
) -> None:
    kernel = kernel if same else tuple(map(min, kernel, size))
    window = Window.same(size, kernel, stride) if same else Window(kernel, stride)
    x = codes(seed, (1, *size, channels))
    (result,) = kind(window=window, **clamp_of(activation, quant)).evaluate(x)
    expected = run_operator(
        code, [(x, quant)], (result.shape, quant),
        padding="SAME" if same else "VALID", strideH=stride[0], strideW=stride[1],
        filterHeight=kernel[0], filterWidth=kernel[1], fusedActivationFunction=activation,
    )  # fmt: skip
    assert np.array_equal(result, expected)


def test_average_rounds_halves_away_from_zero() -> None:
    x = np.array([[-3, 0], [3, 0], [1, 0], [-1, 0]], np.int8).reshape(1, 4, 2, 1)
    (result,) = QAveragePool2d(window=Window((1, 2))).evaluate(x)
    assert result.ravel().tolist() == [-2, 2, 1, -1]


def test_padding_is_not_seen() -> None:
    x = np.full((1, 2, 2, 1), -100, np.int8)
    window = Window((2, 2), padding=((1, 1), (1, 1)))
    for kind in (QAveragePool2d, QMaxPool2d):
        (result,) = kind(window=window).evaluate(x)
        assert set(result.ravel()) == {-100}


def test_dilated_windows_skip_elements() -> None:
    x = np.arange(5, dtype=np.int8).reshape(1, 1, 5, 1)
    window = Window((1, 2), dilation=(1, 3))
    assert QAveragePool2d(window=window).evaluate(x)[0].ravel().tolist() == [2, 3]
    assert QMaxPool2d(window=window).evaluate(x)[0].ravel().tolist() == [3, 4]


@pytest.mark.parametrize(
    ("op", "type_"),
    [
        (AVERAGE, i32(1, 4, 4, 1)),
        (AVERAGE, i8(4, 4, 1)),
        (replace(AVERAGE, low=9, high=2), i8(1, 4, 4, 1)),
        (replace(AVERAGE, window=Window((2, 2), padding=((0, 0), (2, 0)))), i8(1, 4, 4, 1)),
        (
            replace(AVERAGE, window=Window((2, 1), dilation=(2, 1), padding=((1, 1), (0, 0)))),
            i8(1, 1, 1, 1),
        ),
    ],
)
def test_refusals(op, type_) -> None:
    with raises(ShapeError):
        op.infer_checked(type_)
