"""The backend computes what ``evaluate`` defines: every op on random shapes, and networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rlx import frontends
from rlx.ir import DType, Graph, TensorType
from rlx.ir.graph import Source
from rlx.ops import ALL_OPS, q, real
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.runtime import CompileOptions, Device, Session
from rlx.support import config
from rlx_wgpu import program
from rlx_wgpu.adapters import open_gpu
from rlx_wgpu.lowerings import RULES, refusal_of
from strategies import STRATEGIES, Case, random_graphs
from support.joined import join, results

WGPU = CompileOptions(backend="wgpu", simplify=False)
CASES = 6

pytestmark = pytest.mark.usefixtures("adapter")
one_by_one = settings(max_examples=3, phases=[Phase.generate])


@pytest.fixture(params=["64 bits", "32 bits"], scope="module")
def integers(request, adapter):
    """Integers of kernels: those of 64 bits need a feature that not every adapter has."""
    del adapter
    if request.param == "64 bits" and not open_gpu(Device.VULKAN).wide:
        pytest.skip("this adapter has no integers of 64 bits in shaders")
    make = program.Writer
    with pytest.MonkeyPatch.context() as patch:
        wide = request.param == "64 bits"
        patch.setattr(program, "Writer", lambda layout, **_: make(layout, wide=wide))
        yield request.param


def check(cases):
    graph, inputs, expected = join(cases)
    for found, right in zip(results(graph, inputs, WGPU, "vulkan"), expected, strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_array_equal(found, right)


def runs(case):
    """Whether every node of a case has a kernel."""
    return not any(refusal_of(node) for node in case.graph.op_nodes)


ON_INT16 = {q.QSigmoid16, q.QSoftmax16, q.QTanh16}
RECURRENT = {q.QLstmCell, q.QLstmOutput, q.QSvdf, q.QSvdfState}


def test_every_op_has_a_kernel_or_a_reason():
    others = [op for op in ALL_OPS if not issubclass(op, Source)]
    assert [op.name for op in others if not RULES.knows(op)] == []
    assert {op for op in q.Q_OPS if op not in RULES} == {q.QChain, *RECURRENT, *ON_INT16}


@pytest.mark.usefixtures("integers")
@pytest.mark.parametrize("op", [op for op in q.Q_OPS if op in RULES], ids=lambda op: op.name)
@one_by_one
@given(data=st.data())
def test_integer_ops(op, data):
    strategy = STRATEGIES[op]().filter(runs)
    check([data.draw(strategy) for _ in range(CASES)])


@pytest.mark.parametrize(
    "op",
    [real.RealReshape, real.RealTranspose, real.RealBroadcastTo, real.RealSlice, real.RealConcat],
    ids=lambda op: op.name,
)
@one_by_one
@given(data=st.data())
def test_ops_that_move_elements(op, data):
    strategy = STRATEGIES[op]().filter(runs)
    check([data.draw(strategy) for _ in range(CASES)])


@pytest.mark.usefixtures("integers")
@pytest.mark.parametrize("columns", [1, 255, 511, 512, 2000, 4095])
def test_softmax_of_many_elements(columns):
    multiplier, left_shift, diff_min = softmax_scaling(0.02)
    graph = Graph("softmax")
    x = graph.input("x", TensorType((2, columns), DType.I8))
    op = q.QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    graph.output(graph.apply(op, x))
    random = np.random.default_rng(columns)
    values = random.integers(-128, 128, (2, columns)).astype(np.int8)
    values[0] = 5
    check([Case(graph, {"x": values})])


@pytest.mark.usefixtures("integers")
@settings(max_examples=3, phases=[Phase.generate])
@given(cases=st.lists(random_graphs(batch=2).filter(runs), min_size=10, max_size=10))
def test_integer_networks(cases):
    check(cases)


@pytest.mark.models
@pytest.mark.usefixtures("integers")
@pytest.mark.parametrize(
    "name", ["ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"]
)
def test_vectors_of_the_four_networks(name, shared_models):
    with config.override(compilations=0):
        compiled = Session("vulkan").compile(frontends.load(shared_models / f"{name}.tflite"))
    ((port, type_),) = compiled.input_types.items()
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        for x, y in zip(vectors["x"], vectors["y"], strict=True):
            (found,) = compiled.run_typed({port: x.reshape(type_.shape)})
            np.testing.assert_array_equal(found.reshape(-1), y.reshape(-1))
