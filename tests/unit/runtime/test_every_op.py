"""Sessions compute what ``evaluate`` defines: every op on random shapes, and random networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx.ir.evaluate import evaluate
from rlx.runtime import CompileOptions, Session
from strategies import STRATEGIES, float_graphs, random_graphs
from strategies.fusible import Fusible
from support.references.closeness import assert_close
from support.references.ulps import check_results

UNFUSED = CompileOptions(fusion=None, simplify=False)
OPTIONS = {"fused": CompileOptions(), "as written": UNFUSED}


def check(case, options):
    """Run a graph twice, the second time in memory that holds the first run's values."""
    with np.errstate(all="ignore"):
        wanted = evaluate(case.graph, case.inputs)
    compiled = Session().compile(case.graph, options)
    for _ in range(2):
        for found, right in zip(compiled.run_typed(case.inputs), wanted, strict=True):
            assert_close(found, np.asarray(right))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("op", STRATEGIES, ids=lambda op: op.name)
@settings(max_examples=3)
@given(data=st.data())
def test_a_graph_of_one_op(op, options, data):
    check(data.draw(STRATEGIES[op]()), options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@settings(max_examples=30)
@given(case=float_graphs())
def test_float_networks(options, case):
    check(case, options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@settings(max_examples=30)
@given(case=random_graphs())
def test_integer_networks(options, case):
    check(case, options)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(20))
def test_a_thousand_random_graphs_fused(chunk):
    fused = 0
    for seed in range(50 * chunk, 50 * (chunk + 1)):
        case = Fusible(seed)
        compiled = Session().compile(case.graph)
        compiled.set_params(case.params)
        compiled.run_typed(case.inputs)  # what it leaves in memory must not matter
        check_results(case.graph, compiled.run_typed(case.inputs), case.inputs, case.params)
        fused += bool(compiled.fusion.fused)
    assert fused >= 40
