"""Ops whose accumulators reach no half, or only such as go up anyway, round halves up."""

import numpy as np
import pytest

from rlx.ir import DType, Graph, TensorType, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAdd, QClamp, QConvert, QDense, QMean, QPrelu, QRequantize
from rlx.passes.pipelines import SIMPLIFY
from rlx.passes.round_halves import RoundHalvesUp

EVEN, FLOAT32 = Rounding.EVEN, Rounding.FLOAT32


def roundings(graph):
    """Return the rounding of each factor after the pass."""
    (node,) = [n for n in RoundHalvesUp().apply(graph).op_nodes if hasattr(n.op, "rescale")]
    names = ("x_rescale", "y_rescale", "slope_rescale", "rescale")
    return [getattr(node.op, n).rounding.value for n in names if hasattr(node.op, n)]


def dense(weights, bias, *factors, rounding=EVEN, low=-128, high=127, zero_point=0):
    graph = Graph("net")
    rescale = Rescale.of(*factors, rounding=rounding)
    op = QDense(x_zero_point=3, rescale=rescale, zero_point=zero_point, low=low, high=high)
    operands = np.int8(weights), np.int32(bias)
    x = graph.input("x", i8(1, len(weights[0])))
    graph.output(graph.apply(op, x, *map(graph.constant, operands)))
    return graph


def requantize(factor, rounding=EVEN, **more):
    graph = Graph("net")
    op = QRequantize(
        x_zero_point=0, rescale=Rescale.of(factor, rounding=rounding), zero_point=0, **more
    )
    graph.output(graph.apply(op, graph.input("x", i8(1, 4))))
    return graph


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (dense([[1, 2], [3, 4]], [0, 0], 0.25), "even"),
        (dense([[1, 2], [3, 4]], [0, 0], 0.3), "single"),
        # Sums are odd multiples of 1/8, or even ones.
        (dense([[4, 8], [12, 4]], [1, 5], 0.125), "single"),
        (dense([[4, 8], [12, 4]], [1, 4], 0.125), "even"),
        # The factor of an integer has no halves, nor has one so small that nothing reaches it.
        (dense([[1, 2]], [0], 2.0), "single"),
        (dense([[1, 2]], [0], 2.0**-12), "single"),
        (dense([[1, 2], [1, 3]], [0, 0], 2.0, 0.5), "even"),
        # 0 to 1: the only half is 1/2, which goes to 0; to 1 if halves are odd.
        (dense([[1, 2]], [0], 0.25, low=0, high=1), "even"),
        (dense([[1, 2]], [0], 0.25, rounding=Rounding.ODD, low=0, high=1), "single"),
        (dense([[1, 2]], [0], 0.25, low=5, high=6, zero_point=4), "single"),
        (dense([[1, 2]], [0], 0.25, low=5, high=7, zero_point=4), "even"),
        (dense([[1, 2], [3, 4]], [0, 0], 0.3141, rounding=FLOAT32), "single"),
        (dense([[1, 2], [3, 4]], [0, 0], 0.25, rounding=FLOAT32), "even"),
        # Sixths are halves by the rounding of float32, to either side, unless no sum is one.
        (dense([[1, 2]], [0], 1 / 6, rounding=FLOAT32), "float32"),
        (dense([[6, 12]], [1], 1 / 6, rounding=FLOAT32), "single"),
        (dense([[1, 2], [1, 3]], [0, 0], 2.0, 1 / 6, rounding=FLOAT32), "float32"),
        (dense([[1, 2]], [0], 1 / 6, rounding=FLOAT32, low=0, high=1), "single"),
        (requantize(0.5), "even"),
        (requantize(1.0 / 3), "single"),
        (requantize(0.5, low=1, high=2), "single"),
    ],
)
def test_only_halves_that_matter_count(graph, expected):
    assert roundings(graph) == [expected]


def test_the_range_of_the_input_counts():
    graph = Graph("net")
    x = graph.apply(QClamp(low=-1, high=1), graph.input("x", i8(1, 4)))
    op = QRequantize(x_zero_point=0, rescale=Rescale.of(0.25, rounding=EVEN), zero_point=0)
    graph.output(graph.apply(op, x))
    assert roundings(graph) == ["single"]


def test_operands_of_a_sum_that_are_exact_round_up():
    graph = Graph("net")
    half = Rescale.of(0.5, rounding=EVEN)
    op = QAdd(x_zero_point=0, y_zero_point=1, x_rescale=half, y_rescale=half, zero_point=0,
              rescale=Rescale.of(2.0**-20, rounding=EVEN))  # fmt: skip
    graph.output(graph.apply(op, graph.input("x", i8(1, 4)), graph.input("y", i8(1, 4))))
    assert roundings(graph) == ["single", "single", "even"]


@pytest.mark.parametrize(("count", "expected"), [(4, "even"), (3, "single")])
def test_means(count, expected):
    graph = Graph("net")
    rescale = Rescale.of(1.0, rounding=EVEN).divided(count)
    op = QMean(axes=(1,), x_zero_point=0, rescale=rescale, zero_point=0)
    graph.output(graph.apply(op, graph.input("x", i8(1, count, 2))))
    assert roundings(graph) == [expected]


def test_other_element_types_and_slopes():
    graph = Graph("net")
    op = QConvert(
        x_zero_point=7, rescale=Rescale.of(2.0**-9, rounding=EVEN), zero_point=0, dtype=DType.I8
    )
    graph.output(graph.apply(op, graph.input("x", TensorType((1, 4), DType.I16))))
    assert roundings(graph) == ["even"]
    graph = Graph("net")
    op = QPrelu(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(1.0, rounding=EVEN),
                slope_rescale=Rescale.of(0.25, rounding=EVEN), zero_point=0)  # fmt: skip
    slopes = graph.constant(np.int8([4, 12]))
    graph.output(graph.apply(op, graph.input("x", i8(1, 2)), slopes))
    assert roundings(graph) == ["single", "single"]


def test_every_target_has_it_done():
    (node,) = SIMPLIFY.apply(requantize(0.3)).op_nodes
    assert node.op.rescale.rounding is Rounding.SINGLE
