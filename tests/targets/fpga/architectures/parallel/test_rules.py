"""Scaling appends exactly ``clamp(((total + base) * factor + addend) >> shift)``."""

import numpy as np
import pytest

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense
from rlx.support.errors import UnsupportedOpError
from rlx_fpga.architectures.parallel.affine import AffineLine
from rlx_fpga.architectures.parallel.netlist import Netlist
from rlx_fpga.architectures.parallel.rules import checked, requantizer, scaled
from support.messages import raises

CODES = np.arange(-128, 128)[np.newaxis]


def test_any_term_is_scaled_by_any_line():
    rng = np.random.default_rng(0)
    for _ in range(60):
        factor, addend, below, base = map(int, rng.integers(1, 5000, 4))
        low, high = sorted(map(int, rng.integers(-128, 128, 2)))
        base, addend = base - 2500, addend - 2500
        below = int(rng.choice([addend, below - 2500]))
        line = AffineLine(factor, addend, below, int(rng.integers(0, 14)), low, high)
        own, sign = int(rng.integers(0, 4)), int(rng.choice([-1, 1]))
        netlist = Netlist()
        step = scaled(netlist, line, (netlist.input(0), own, sign), base)
        total = sign * (CODES[0] << own) + base
        product = total * factor + np.where(total < 0, below, addend)
        found = netlist.evaluate(CODES)[step]
        assert np.array_equal(found, np.clip(product >> line.shift, low, high))
        # One of two intercepts is chosen only where there are two.
        chosen = [one for one in netlist.steps if one.kind == "choice"]
        assert len(chosen) == (below != addend)


@pytest.mark.parametrize(("total", "factor"), [(False, 3), (True, 0), (False, 0)])
def test_without_an_operand_or_a_slope_the_result_is_a_constant(total, factor):
    netlist = Netlist()
    term = (netlist.input(0), 0, 1) if total else None
    step = netlist.steps[scaled(netlist, AffineLine(factor, 5, 5, 0, -9, -9), term, 7)]
    assert (step.kind, step.numbers) == ("constant", (-9,))


def dense(*factors):
    graph = Graph("net")
    weights = graph.constant(np.ones((len(factors), 3), np.int8))
    biases = graph.constant(np.zeros(len(factors), np.int32))
    op = QDense(x_zero_point=0, rescale=Rescale.of(*factors), zero_point=-3)
    return graph.apply(op, graph.input("x", i8(1, 3)), weights, biases, name="d").node


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_each_channel_has_the_line_of_its_own_factor(channel):
    node = dense(0.25, 0.01, 1.7)
    line = requantizer(node, channel, (-384, 381))
    x = np.arange(-384, 382)
    expected = np.clip(node.op.rescale.take([channel]).apply(x) - 3, -128, 127)
    addend = np.where(x < 0, line.below, line.addend)
    found = np.clip((x * line.factor + addend) >> line.shift, line.low, line.high)
    assert np.array_equal(found, expected)


def test_a_node_without_a_line_is_refused_by_name():
    line = AffineLine(1, 0, 0, 0, -128, 127)
    assert checked(dense(0.5), line) is line
    with raises(UnsupportedOpError):
        checked(dense(0.5), None)
