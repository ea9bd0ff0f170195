"""LUTs of steps, counted by hand."""

import pytest

from rlx_fpga.architectures.parallel.cost import step_luts
from rlx_fpga.architectures.parallel.netlist import Netlist

SUM = {"negative": False}
DIFFERENCE = {"negative": True}


def difference(n, a, b):
    """Return two differences of 9 and 10 bits with one subtrahend of 8 bits."""
    n.sum(a, b, (0, 0), **DIFFERENCE)
    n.sum(n.input(2), b, (1, 0), **DIFFERENCE)


CASES = {
    "9 bits": (lambda n, a, b: n.sum(a, b, (0, 0), **SUM), 8, 8),
    "10 bits, the lowest passes": (lambda n, a, b: n.sum(a, b, (1, 0), **SUM), 8, 8),
    "10 bits": (lambda n, a, b: n.choice(a, b, (-200, 300)), 9, 10),
    "9 bits, three pass": (lambda n, a, _: n.offset(a, 0, 120, **SUM), 5, 6),
    "negated": (lambda n, a, _: n.offset(a, 0, 1, **DIFFERENCE), 8, 8),
    "an offset of 0": (lambda n, a, _: n.offset(a, 2, 0, **SUM), 0, 0),
    # The operands are inverted once, in front.
    "two differences": (difference, 8 + 9, 8 + 10 + 8),
    "clamp": (lambda n, a, b: n.clamp(n.sum(a, b, (0, 0), **SUM), -7, 7), 8 + 9, 8 + 9),
    "maximum": (lambda n, a, b: n.maximum(a, n.clamp(b, -2, 1)), 8 + 8, 8 + 8),
    # Operands that are compared count, not those of which one is taken.
    "choice of two": (
        lambda n, a, b: n.pick(a, b, n.constant(1 << 20), n.constant(0)), 8, 8
    ),
    "wires and tables": (
        lambda n, a, _: n.right(n.table(a, range(256)), 2), 0, 0
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("family", ["xc7", "xcup", "ice40", "ecp5"])
def test_luts_are_those_counted_by_hand(case, family):
    append, plain, ecp5 = CASES[case]
    netlist = Netlist()
    append(netlist, netlist.input(0), netlist.input(1))
    assert step_luts(netlist, family) == (ecp5 if family == "ecp5" else plain)
