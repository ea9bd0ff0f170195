"""PReLU as lines: the results of the op for every value."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QPrelu
from rlx_cortexm.kernels.prelu_lines.tactic import candidates

VALUES = np.arange(-128, 128, dtype=np.int8)[:, np.newaxis]


def prelu(seed, **bounds):
    """Return a node with slopes of both signs, 0, and above 1, and its slopes."""
    random = np.random.default_rng(seed)
    slopes = random.integers(-128, 127, 12, np.int8, endpoint=True)
    x_zero, y_zero, zero = random.integers(-128, 127, 3, endpoint=True).tolist()
    rounding = (Rounding.DOUBLE, Rounding.SINGLE)[seed % 2]
    op = QPrelu(
        x_zero_point=x_zero, y_zero_point=y_zero, zero_point=zero,
        rescale=Rescale.of(2.0 ** random.uniform(-3, 2), rounding=rounding),
        slope_rescale=Rescale.of(2.0 ** random.uniform(-10, -5), rounding=rounding), **bounds,
    )  # fmt: skip
    graph = Graph("net")
    graph.output(graph.apply(op, graph.input("x", i8(1, 40, 12)), graph.constant(slopes)))
    return graph.outputs[0].node, slopes


@pytest.mark.parametrize("seed", range(40))
def test_lines_have_the_results_of_the_op(seed):
    node, slopes = prelu(seed)
    (candidate,) = candidates(node)
    layer = candidate.lower()
    constants = layer.kernel.context
    factors, offsets = layer.tables[0].data.reshape(-1, 2).T
    above, zero_point = constants["above"], constants["zero_point"]
    below = VALUES.astype(np.int64) * factors + offsets
    sums = np.where(zero_point > VALUES, below, VALUES.astype(np.int64) * above[0] + above[1])
    assert np.abs(sums).max() < 2**31
    results = np.clip(sums >> constants["shift"], -128, 127)
    assert np.array_equal(results, node.op.evaluate(VALUES, slopes)[0])


def test_a_clamp_inside_int8_is_no_line():
    node, _ = prelu(2, low=-60, high=60)
    assert candidates(node) == ()
