"""The backend computes what ``evaluate`` defines: every op on random shapes, and networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rlx import frontends
from rlx.ir.graph import Source
from rlx.ops import ALL_OPS
from rlx.ops.nn import NnOp
from rlx.runtime import CompileOptions, Device, Session
from rlx.support import config
from rlx_xla.lowerings import RULES
from rlx_xla.platforms import PLATFORMS
from rlx_xla.rules import PREPARED
from strategies import STRATEGIES, float_graphs, random_graphs
from strategies.fusible import Fusible
from support.joined import join, results
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


@pytest.fixture(params=["int8", "float32"], scope="module")
def products(request):
    """Types of the products of integer layers: a processor has the other one than a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        form = replace(PLATFORMS[Device.CPU], prefers_floats=request.param == "float32")
        patch.setitem(PLATFORMS, Device.CPU, form)
        yield request.param


@pytest.mark.usefixtures("products")
@one_by_one
@given(cases=st.lists(random_graphs(batch=2), min_size=12, max_size=12))
def test_integer_networks(cases):
    check(cases, UNFUSED)


@pytest.mark.usefixtures("products")
@one_by_one
@given(data=st.data())
def test_integer_layers(data):
    check([data.draw(STRATEGIES[op]()) for op in PREPARED for _ in range(8)], UNFUSED)


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


# All networks by the products of a processor; two of them, of all layers, by those of a GPU.
@pytest.mark.models
@pytest.mark.parametrize(
    ("products", "name"),
    [
        ("float32", "ad01_int8"),
        ("float32", "kws_ref_model"),
        ("float32", "pretrainedResnet_quant"),
        ("float32", "vww_96_int8"),
        ("int8", "ad01_int8"),
        ("int8", "vww_96_int8"),
    ],
    indirect=["products"],
)
@pytest.mark.usefixtures("products")
def test_vectors_of_the_four_networks(name, shared_models):
    with config.override(compilations=0):
        compiled = Session("cpu", FUSED).compile(frontends.load(shared_models / f"{name}.tflite"))
    ((port, type_),) = compiled.input_types.items()
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        for x, y in zip(vectors["x"], vectors["y"], strict=True):
            (found,) = compiled.run_typed({port: x.reshape(type_.shape)})
            np.testing.assert_array_equal(found.reshape(-1), y.reshape(-1))
