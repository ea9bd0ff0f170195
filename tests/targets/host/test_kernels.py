"""Kernels in C compute what ``evaluate`` defines, for each instruction set of this machine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.host.native_cases import native_results, node_of, with_constants

from rlx.ir import Graph, Refusal, i8
from rlx.ops import ALL_OPS
from rlx.ops.q import QResizeNearest
from rlx_host.instruction_set import available
from rlx_host.kernels.floats import FLOAT_RULES
from rlx_host.kernels.integers import INTEGER_RULES
from rlx_host.kernels.rules import RULES
from strategies import STRATEGIES
from support.references.closeness import assert_close

SIZES = ({"size": 4}, {"size": 20, "batch": 2})
EACH_SET = pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)


def each_op(rules):
    return pytest.mark.parametrize("op", rules, ids=lambda op: op.name)


def drawn(op, data):
    cases = [data.draw(STRATEGIES[op](**sizes)) for sizes in SIZES for _ in range(5)]
    if op in FLOAT_RULES:
        cases += [with_constants(case) for case in cases if case.graph.inputs]
    return [node_of(case, op) for case in cases]


def check(nodes, instructions, compare, extra_flags=()):
    """Compare every node with ``evaluate``; return how many were native."""
    results = native_results(nodes, instructions, extra_flags)
    count = 0
    for (node, arrays), found in zip(nodes, results, strict=True):
        if not isinstance(found, Refusal):
            count += 1
            for a, b in zip(found, node.op.evaluate(*arrays), strict=True):
                compare(a, np.asarray(b))
    return count


def test_every_op_has_a_rule_or_a_reason():
    assert [op.name for op in ALL_OPS if not RULES.knows(op)] == []


@EACH_SET
@each_op(INTEGER_RULES)
def test_integers_are_equal(op, instructions):
    native = []

    @settings(max_examples=2)
    @given(data=st.data())
    def run(data):
        native.append(check(drawn(op, data), instructions, np.testing.assert_array_equal))

    run()
    assert sum(native)


@EACH_SET
@each_op(FLOAT_RULES)
def test_floats_are_close(op, instructions):
    native = []

    @settings(max_examples=2)
    @given(data=st.data())
    def run(data):
        compare = partial(assert_close, ulps=32)
        native.append(check(drawn(op, data), instructions, compare))

    run()
    assert sum(native)


def test_long_axes_are_left_to_numpy():
    for size, refused in ((1 << 14, False), ((1 << 14) + 1, True)):
        graph = Graph("net")
        graph.output(graph.apply(QResizeNearest(size=(1, size)), graph.input("x", i8(1, 1, 2, 1))))
        (node,) = graph.op_nodes
        found = INTEGER_RULES[QResizeNearest](node, available()[0])
        assert isinstance(found, Refusal) == refused
