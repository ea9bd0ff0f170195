"""Kernels in C compute what ``evaluate`` defines, for each instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.host.native_cases import constant_form, native_results

from rlx.ir import Refusal
from rlx.ops import ALL_OPS
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


def cases_of(op, data):
    return [data.draw(STRATEGIES[op](**sizes)) for sizes in SIZES for _ in range(6)]


def expected_of(case):
    node, arrays = constant_form(case)
    return [np.asarray(value) for value in node.op.evaluate(*arrays)]


def test_every_op_has_a_rule_or_a_reason():
    assert [op.name for op in ALL_OPS if not RULES.knows(op)] == []


@EACH_SET
@each_op(INTEGER_RULES)
@settings(max_examples=2)
@given(data=st.data())
def test_integers_are_equal(op, instructions, data):
    cases = cases_of(op, data)
    for case, found in zip(cases, native_results(cases, instructions), strict=True):
        if isinstance(found, Refusal):
            continue
        for a, b in zip(found, expected_of(case), strict=True):
            np.testing.assert_array_equal(a, b)


@EACH_SET
@each_op(FLOAT_RULES)
@settings(max_examples=2)
@given(data=st.data())
def test_floats_are_close(op, instructions, data):
    cases = cases_of(op, data)
    for case, found in zip(cases, native_results(cases, instructions), strict=True):
        if isinstance(found, Refusal):
            continue
        for a, b in zip(found, expected_of(case), strict=True):
            assert_close(a, b, 32)
