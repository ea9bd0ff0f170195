"""Layers on quantized values: refusals, and where halves go in their meaning."""

import numpy as np
import pytest

from rlx.ir import DType, QuantParams, TensorType
from rlx.ops import nn
from rlx.ops.real import RealBitcast, SpatialWindow, Ties
from rlx.support.errors import ShapeError
from support.messages import raises

ONE = QuantParams.per_tensor(0.5, 3)
ROWS = QuantParams((0.5, 0.25), (0, 0), 0)


def u8(*shape, quant=None):
    return TensorType(shape, DType.U8, quant)


@pytest.mark.parametrize(("op", "operands"), [
    (nn.NnQuantizedAdd(quant=ONE, x_quant=ONE, y_quant=ONE), (TensorType((2,), DType.F32),) * 2),
    (nn.NnQuantizedAdd(quant=ONE, x_quant=ONE, y_quant=ONE), (u8(2), u8(3))),
    (nn.NnQuantizedMul(quant=ONE, x_quant=ONE, y_quant=ROWS), (u8(2), u8(2))),
    (nn.NnQuantizedMul(quant=ONE, x_quant=ONE, y_quant=ONE),
     (u8(2, quant=QuantParams.per_tensor(1.0)), u8(2))),
    (nn.NnQuantizedLinear(quant=ONE, x_quant=ONE, w_quant=ROWS),
     (u8(1, 4), u8(2, 4), TensorType((2,), DType.F32))),
    (nn.NnQuantizedSoftmax(quant=ONE, x_quant=ONE), (u8(2, 0),))
])  # fmt: skip
def test_refusals(op, operands):
    with raises(ShapeError):
        op.infer(*operands)


def test_halves_go_to_the_integer_that_is_even_with_the_zero_point():
    """A zero point that is added first makes odd integers even ones."""
    from rlx.ir import Graph

    graph = Graph("g")
    image = graph.input("x", u8(1, 4, 4, 2))
    for point, wanted in ((4, Ties.EVEN), (3, Ties.ODD)):
        quant = QuantParams.per_tensor(0.5, point)
        add = nn.NnQuantizedAdd(quant=quant, x_quant=ONE, y_quant=ONE)
        assert add.ties(image, image) is wanted
        for kernel, ties in (((2, 2), wanted), ((4, 4), Ties.EVEN)):
            window = SpatialWindow(kernel)
            pool = nn.NnQuantizedAveragePool(quant=quant, x_quant=ONE, window=window)
            assert pool.ties(image) is ties


def test_bits_of_quantized_values_are_plain_integers():
    op = RealBitcast(dtype=DType.I8)
    assert op.infer(u8(2, quant=ONE)) == (TensorType((2,), DType.I8),)
    assert op.evaluate(np.uint8([200, 7]))[0].tolist() == [-56, 7]
