"""Chains of elementwise ops as one op."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Graph, i8, i32
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QChain, QMaximum, QMul, QReshape
from rlx.support.errors import ShapeError
from support.messages import raises


def body(op=None, channels=3):
    graph = Graph("chain")
    x, c = graph.input("x", i8(1, 2, channels)), graph.input("c", i8(channels))
    mul = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.5), zero_point=0)
    scaled = graph.apply(mul, x, c)
    graph.output(graph.apply(QMaximum(), x, scaled) if op is None else graph.apply(op, scaled))
    return graph


CHAIN = QChain(body=body())
SLOPES = np.array([1, 0, -2], np.int8)


def test_chain_computes_its_body_for_any_shape():
    x = np.array([[-10, -10, -10], [8, 8, 8], [0, 1, -1], [3, -3, 5]], np.int8)
    expected = np.maximum(x, np.array([[-5, 0, 10], [4, 0, -8], [0, 0, 1], [2, 0, -5]]))
    assert CHAIN.infer(i8(4, 3), i8(3)) == (i8(4, 3),)
    assert CHAIN.evaluate(x, SLOPES)[0].tolist() == expected.tolist()


def test_prepared_form_looks_up_if_the_constants_are_known():
    x = np.random.default_rng(0).integers(-128, 127, (2, 5, 3), np.int8, endpoint=True)
    expected = CHAIN.evaluate(x, SLOPES)[0].tolist()
    assert CHAIN.prepare([None, SLOPES])(x, SLOPES)[0].tolist() == expected
    assert CHAIN.prepare([None, None])(x, SLOPES)[0].tolist() == expected


@pytest.mark.parametrize(
    "operands", [(i8(2, 3),), (i32(2, 3), i8(3)), (i8(2, 3), i8(2)), (i8(2, 3), i8(1, 3))], ids=str
)
def test_chain_refuses_other_operands(operands):
    with raises(ShapeError):
        CHAIN.infer(*operands)


def test_chain_refuses_ops_that_are_not_elementwise():
    with raises(ShapeError):
        QChain(body=body(QReshape(shape=(6,)))).infer(i8(2, 3), i8(3))
