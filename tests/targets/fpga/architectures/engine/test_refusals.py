"""Each reason for which the engine refuses a node, word by word."""

import numpy as np
import pytest

from rlx.ir import Graph, Refusal, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QConcat,
    QConvert,
    QDense,
    QMaximum,
    QMaxPool2d,
    QMinimum,
    QPrelu,
    QTranspose,
    Window,
)
from rlx.support.errors import UnsupportedOpError
from rlx_fpga.architectures import ARCHITECTURES, architecture
from rlx_fpga.architectures.engine import lower
from support.messages import raises


def constant(graph, *shape):
    return graph.constant(np.ones(shape, np.int8))


def dense(graph, bias, scale=0.1, **options):
    op = QDense(x_zero_point=0, rescale=Rescale.of(scale, **options), zero_point=0)
    biases = graph.constant(np.full(2, bias, np.int32))
    return graph.apply(op, graph.input("x", i8(1, 3)), constant(graph, 2, 3), biases)


def wide_product(graph):
    # Sums of three products of -128 and 1.
    return dense(graph, 0, scale=2.0**22, rounding=Rounding.EVEN)


def large_bias(graph):
    # Three products of -128 and 1 are below it.
    return dense(graph, -(1 << 31) + 3 * 128)


HALF = Rescale.of(0.5)
SUM = QAdd(x_zero_point=0, y_zero_point=0, x_rescale=HALF, y_rescale=HALF,
           rescale=Rescale.of(2.0**-19), zero_point=0)  # fmt: skip
PRELU = QPrelu(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.9),
               slope_rescale=Rescale.of(0.01), zero_point=0)  # fmt: skip

CASES = {
    "a sum shifted left by 23 would need more than 32 bits": wide_product,
    "the engine supports it on the last axis of an output only": lambda graph: graph.apply(
        QArgmax(axis=1), graph.input("x", i8(1, 3, 4))
    ),
    "the engine takes one image at a time": lambda graph: graph.apply(
        QMaxPool2d(window=Window(kernel=(2, 2))), graph.input("x", i8(2, 4, 4, 1))
    ),
    "the engine joins computed tensors only": lambda graph: graph.apply(
        QConcat(axis=1), graph.input("x", i8(1, 3)), constant(graph, 1, 3)
    ),
    "the engine moves values along at most three axes": lambda graph: graph.apply(
        QTranspose(axes=(3, 2, 1, 0)), graph.input("x", i8(2, 3, 2, 3))
    ),
    "expected an accumulator of at most 32 bits, got more": large_bias,
    "the engine divides all windows by one number: expected no padding": lambda graph: graph.apply(
        QAveragePool2d(window=Window.same((4, 4), (3, 3))), graph.input("x", i8(1, 4, 4, 1))
    ),
    "the engine adds two computed tensors of the same shape": lambda graph: graph.apply(
        SUM, graph.input("x", i8(1, 3)), graph.input("y", i8(1, 1))
    ),
    "the engine compares two tensors of the same shape": lambda graph: graph.apply(
        QMaximum(), graph.input("x", i8(1, 3)), graph.input("y", i8(1, 1))
    ),
    "the engine has one table for all channels": lambda graph: graph.apply(
        PRELU, graph.input("x", i8(1, 3)), graph.constant(np.array([1, 2, 3], np.int8))
    ),
    "it needs one computed operand, and constants that differ by channel only": (
        lambda graph: graph.apply(PRELU, graph.input("x", i8(1, 3)), graph.input("y", i8(3)))
    ),
    "the array keeps the larger of two values, not the smaller": lambda graph: graph.apply(
        QMinimum(), graph.input("x", i8(1, 3)), graph.input("y", i8(1, 3))
    ),
}


@pytest.mark.parametrize("reason", CASES)
def test_engine_says_why_it_refuses(reason):
    node = CASES[reason](Graph("net")).node
    assert architecture("engine").lowering(node).reason == reason


@pytest.mark.parametrize(
    ("bias", "scale", "rounding"),
    [(-(1 << 31) + 3 * 128 + 1, 0.1, Rounding.EVEN), (0, 2.0**21, Rounding.EVEN),
     (0, 2.0**22, Rounding.DOUBLE)],
)  # fmt: skip
def test_engine_takes_the_largest_sums(bias, scale, rounding):
    """The bounds are exact: a little less than what is refused fits. Two roundings wrap around."""
    node = dense(Graph("net"), bias, scale, rounding=rounding).node
    assert not isinstance(architecture("engine").lowering(node), Refusal)


@pytest.mark.parametrize("taps", [(1, 2), (3, 3), (5, 7), (11, 11)])
def test_every_average_has_an_exact_scaling(taps):
    """Of all sums; if one did not divide, the node would be refused, not computed wrongly."""
    count = taps[0] * taps[1]
    graph = Graph("net")
    op = QAveragePool2d(window=Window(kernel=taps))
    node = graph.apply(op, graph.input("x", i8(1, *taps, 1))).node
    assert not isinstance(architecture("engine").lowering(node), Refusal)
    scale = lower._division(node, count)
    sums = np.arange(-128 * count, 127 * count + 1)
    exact = np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))
    found = Rescale((scale.multiplier,), (-scale.right,)).apply(sums << scale.left)
    assert np.array_equal(found, exact)


def test_average_without_an_exact_scaling_is_refused(monkeypatch):
    monkeypatch.setattr(lower.Rescale, "apply", lambda _self, sums: sums * 0)
    graph = Graph("net")
    op = QAveragePool2d(window=Window(kernel=(3, 3)))
    node = graph.apply(op, graph.input("x", i8(1, 3, 3, 1))).node
    with raises(UnsupportedOpError):
        lower._division(node, 9)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_conversions_are_refused_everywhere(name):
    reason = architecture(name).reason(QConvert)
    assert reason == "values in the core are int8; only at its ports uint8 can be converted"
