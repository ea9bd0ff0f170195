"""The backend computes what ``evaluate`` defines: every op on random shapes, and networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from targets.xla.joined import join, results

from rlx import frontends
from rlx.ir.graph import Source
from rlx.ops import ALL_OPS
from rlx.ops.nn import NnOp
from rlx.runtime import CompileOptions, Session
from rlx_xla.lowerings import RULES
from rlx_xla.rules import PREPARED
from strategies import STRATEGIES, float_graphs, random_graphs
from strategies.fusible import Fusible
from support.references.closeness import assert_close
from support.references.ulps import check_results

UNFUSED = CompileOptions(backend="xla", fusion=None, simplify=False)
FUSED = CompileOptions(backend="xla")
LOWERED = [op for op in ALL_OPS if not issubclass(op, NnOp | Source)]
GROUPS = [LOWERED[i : i + 12] for i in range(0, len(LOWERED), 12)]
CASES = 3

one_by_one = settings(max_examples=2, phases=[Phase.generate])


def check(cases, options):
    graph, inputs, expected = join(cases)
    for found, right in zip(results(graph, inputs, options), expected, strict=True):
        assert_close(found, right)


def test_every_op_is_lowered():
    assert [op.name for op in LOWERED if op not in RULES] == []
    assert all(op in RULES for op in PREPARED)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0].name}...")
@one_by_one
@given(data=st.data())
def test_ops(group, data):
    check([data.draw(STRATEGIES[op]()) for op in group for _ in range(CASES)], UNFUSED)


@one_by_one
@given(cases=st.lists(random_graphs(batch=2), min_size=20, max_size=20))
def test_integer_networks(cases):
    check(cases, UNFUSED)


@pytest.mark.parametrize("options", [UNFUSED, FUSED], ids=["as written", "fused"])
@one_by_one
@given(cases=st.lists(float_graphs(), min_size=10, max_size=10))
def test_float_networks(options, cases):
    check(cases, options)


def test_fused_networks_with_parameters():
    fused = 0
    for seed in range(1, 5):
        case = Fusible(seed)
        compiled = Session("cpu", FUSED).compile(case.graph)
        compiled.set_params(case.params)
        check_results(case.graph, compiled.run_typed(case.inputs), case.inputs, case.params)
        fused += len(compiled.fusion.fused)
    assert fused >= 3


@pytest.mark.models
@pytest.mark.parametrize(
    "name", ["ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"]
)
def test_vectors_of_the_four_networks(name, shared_models):
    compiled = Session("cpu", FUSED).compile(frontends.load(shared_models / f"{name}.tflite"))
    ((port, type_),) = compiled.input_types.items()
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        for x, y in zip(vectors["x"], vectors["y"], strict=True):
            (found,) = compiled.run_typed({port: x.reshape(type_.shape)})
            np.testing.assert_array_equal(found.reshape(-1), y.reshape(-1))
