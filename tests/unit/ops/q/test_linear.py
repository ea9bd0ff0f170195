from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, Graph, i8, i32
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QDense, QRequantize
from rlx.support.errors import ShapeError
from support.messages import raises
from support.references.oracle import (
    ACTIVATIONS,
    Quant,
    clamp_of,
    codes,
    float32,
    quants,
    run_operator,
)

DENSE = QDense(x_zero_point=0, rescale=Rescale.of(0.5), zero_point=0)


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 200), st.integers(1, 6)),
    x_quant=quants(),
    y_quant=quants(0.1, 4.0),
    scale=float32(0.001, 0.02),
    activation=ACTIVATIONS,
    seed=st.integers(0, 2**16),
)
def test_dense_equals_tflm(
    shape, x_quant: Quant, y_quant: Quant, scale: float, activation: str, seed: int
) -> None:
    rows, inner, outputs = shape
    x, w = codes(seed, (rows, inner)), codes(seed + 1, (outputs, inner))
    bias = np.random.default_rng(seed).integers(-9000, 9000, outputs).astype(np.int32)
    # Here, and only here, the product of the scales is taken in float32.
    product = float(np.float32(x_quant.scale) * np.float32(scale))
    op = QDense(
        x_zero_point=x_quant.zero_point,
        rescale=Rescale.of(product / y_quant.scale),
        zero_point=y_quant.zero_point,
        **clamp_of(activation, y_quant),
    )
    expected = run_operator(
        "FULLY_CONNECTED", [(x, x_quant)], ((rows, outputs), y_quant),
        [(w, {"scale": scale}), (bias, {"scale": product})],
        fusedActivationFunction=activation,
    )  # fmt: skip
    assert np.array_equal(op.evaluate(x, w, bias)[0], expected)


def test_dense_scales_each_channel_by_its_own_factor() -> None:
    x = np.array([1, 2], np.int8)
    w = np.array([[10, 20], [10, 20]], np.int8)
    op = replace(DENSE, x_zero_point=-1, rescale=Rescale.of(1.0, 0.25), zero_point=7)
    assert op.evaluate(x, w, np.array([0, 8], np.int32))[0].tolist() == [87, 29]


def test_dense_rounds_once_where_asked() -> None:
    """A quarter of -2 minus half a step: twice rounded it becomes -1."""
    x, w = np.array([-1], np.int8), np.array([[1]], np.int8)
    bias = np.zeros(1, np.int32)
    factor = ((2**31 - 1,), (-1,))
    twice, once = (
        replace(DENSE, rescale=Rescale(*factor, rounding)).evaluate(x, w, bias)[0].tolist()
        for rounding in (Rounding.DOUBLE, Rounding.SINGLE)
    )
    assert (twice, once) == ([-1], [0])


def test_dense_keeps_leading_dimensions() -> None:
    batch = Dim("batch")
    assert DENSE.infer(i8(batch, 2, 4), i8(3, 4), i32(3)) == (i8(batch, 2, 3),)
    x = codes(3, (5, 2, 4))
    w, bias = codes(4, (3, 4)), np.zeros(3, np.int32)
    rows = [[DENSE.evaluate(r, w, bias)[0] for r in block] for block in x]
    assert np.array_equal(DENSE.evaluate(x, w, bias)[0], rows)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (DENSE, (i32(1, 4), i8(3, 4), i32(3))),
        (DENSE, (i8(1, 4), i8(3, 4, 1), i32(3))),
        (DENSE, (i8(1, 5), i8(3, 4), i32(3))),
        (DENSE, (i8(), i8(3, 4), i32(3))),
        (DENSE, (i8(1, 4), i8(3, 4), i32(4))),
        (replace(DENSE, rescale=Rescale.of(1.0, 1.0)), (i8(1, 4), i8(3, 4), i32(3))),
        (replace(DENSE, zero_point=128), (i8(1, 4), i8(3, 4), i32(3))),
        (replace(DENSE, low=1, high=0), (i8(1, 4), i8(3, 4), i32(3))),
    ],
)
def test_refusals(op, types) -> None:
    with raises(ShapeError):
        op.infer_checked(*types)


def test_only_layers_have_factors_in_float32() -> None:
    graph, factor = Graph("g"), Rescale.of(0.5, rounding=Rounding.FLOAT32)
    x = graph.input("x", i8(1, 4))
    with raises(ShapeError):
        graph.apply(QRequantize(x_zero_point=0, rescale=factor, zero_point=0), x)
