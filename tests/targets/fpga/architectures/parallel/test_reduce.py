"""Pools, means and argmax take as few steps as a tree has, and round as the definition."""

from fractions import Fraction

import numpy as np
import pytest
from targets.fpga.architectures.parallel.test_design import core_of

from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QArgmax, QMaxPool2d, QMean, Window
from rlx_fpga.architectures.parallel.reduce import _average_line


def rounded(total, count):
    """Return ``total / count``, halves away from zero."""
    magnitude = int(Fraction(abs(total), count) + Fraction(1, 2))
    return magnitude if total >= 0 else -magnitude


@pytest.mark.parametrize("count", [1, 2, 3, 6, 9, 25, 49, 64, 121])
@pytest.mark.parametrize(("low", "high"), [(-128, 127), (-1, 1), (0, 127), (-128, -100), (5, 5)])
def test_the_line_of_a_mean_is_right_for_every_sum(count, low, high):
    line = _average_line(count, low, high)
    sums = np.arange(-128 * count, 127 * count + 1)
    addend = np.where(sums < 0, line.below, line.addend)
    found = np.clip((sums * line.factor + addend) >> line.shift, line.low, line.high)
    assert found.tolist() == [min(max(rounded(total, count), low), high) for total in sums.tolist()]


def layer(op, *shape):
    """Return the netlist of an op alone, after comparing it with the reference."""
    graph = Graph("net")
    graph.output(graph.apply(op, graph.input("x", i8(*shape))))
    core = core_of(graph)
    (one,) = core.component.layers
    rng = np.random.default_rng(0)
    for high in (2, 128):
        x = rng.integers(-high, high, shape).astype(np.int8)
        values = one.netlist.evaluate(x.reshape(-1).astype(np.int64))
        (expected,) = evaluate(graph, {"x": x})
        assert [int(values[o]) for o in one.outputs] == expected.reshape(-1).tolist()
    return one.netlist


def kinds(netlist):
    return [step.kind for step in netlist.steps]


def levels(netlist):
    """Return the most steps in sequence, wires left out."""
    depth = []
    for step in netlist.steps:
        below = max((depth[o] for o in step.operands), default=0)
        depth.append(below + (step.kind not in ("input", "constant", "right")))
    return max(depth)


@pytest.mark.parametrize("taps", [1, 2, 3, 5, 8, 13])
def test_a_maximum_of_many_is_a_tree(taps):
    netlist = layer(QMaxPool2d(window=Window((1, taps))), 1, 1, taps, 1)
    assert kinds(netlist).count("max") == taps - 1
    assert levels(netlist) == (taps - 1).bit_length()


def test_padding_of_maxima_is_left_out():
    netlist = layer(QMaxPool2d(window=Window.same((3, 3), (3, 3)), low=-5, high=50), 1, 3, 3, 1)
    # A window in a corner holds 4 values, at an edge 6, in the middle 9.
    assert kinds(netlist).count("max") <= 4 * 3 + 4 * 5 + 8


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 1, 2), (1, 1, 1)])
def test_the_first_maximum_along_any_axis_is_found(axis, shape):
    netlist = layer(QArgmax(axis=axis), *shape)
    rows, size = int(np.prod(shape)) // shape[axis], shape[axis]
    assert kinds(netlist).count("pick") == rows * (size - 1)


@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (2, 0), (1, -1), (0, 1, 2)])
def test_means_over_any_axes_add_as_trees(axes):
    shape = (2, 3, 4)
    count = int(np.prod([shape[axis] for axis in axes]))
    op = QMean(axes=axes, x_zero_point=-7, rescale=Rescale.of(1.3).divided(count), zero_point=5)
    netlist = layer(op, *shape)
    sums = sum(step.kind == "sum" and not any(step.numbers) for step in netlist.steps)
    assert sums == 24 // count * (count - 1)
