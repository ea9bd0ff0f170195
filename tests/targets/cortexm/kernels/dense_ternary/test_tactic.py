"""Weights of -1, 0 and 1: lists instead of products, exact, chosen where they pay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write

from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QConv2d, QDense, Window
from rlx_cortexm.core import CORES
from rlx_cortexm.kernels.dense_ternary.tactic import MAX_SEGMENT_INPUTS, lists
from rlx_cortexm.kernels.rules import candidates
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.profile import profile
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare


def drawn(shape, zeros, seed=0):
    """Return ternary weights, a share of which is zero."""
    random = np.random.default_rng(seed)
    signs = random.choice([-1, 1], shape)
    return np.where(random.random(shape) < zeros, 0, signs).astype(np.int8)


def dense(builder, shape, weights, **attributes):
    op = QDense(**{"x_zero_point": 11, "rescale": Rescale.of(0.02), "zero_point": -3, **attributes})
    constant = builder.graph.constant(weights)
    return builder.node(op, builder.input(*shape), constant, builder.bias(len(weights), 300))


def pointwise(builder, shape, weights):
    op = QConv2d(
        window=Window((1, 1)), x_zero_point=-7, zero_point=5,
        rescale=builder.factors(len(weights), shape[3]),
    )  # fmt: skip
    constant = builder.graph.constant(weights.reshape(len(weights), 1, 1, -1))
    return builder.node(op, builder.input(*shape), constant, builder.bias(len(weights), 300))


def layers(zeros=0.4):
    """Return dense layers and convolutions: short, long, all ones, all zeros, several rows."""
    builder = GraphBuilder("ternary")
    weights = drawn((9, 40), zeros)
    weights[0], weights[1], weights[2] = 0, 1, -1
    dense(builder, (40,), weights)
    dense(
        builder,
        (3, MAX_SEGMENT_INPUTS),
        drawn((4, MAX_SEGMENT_INPUTS), zeros),
        rescale=builder.factors(4, 8),
    )
    dense(builder, (2, MAX_SEGMENT_INPUTS + 1), np.ones((3, MAX_SEGMENT_INPUTS + 1), np.int8))
    dense(builder, (1, 3 * MAX_SEGMENT_INPUTS - 5), drawn((8, 3 * MAX_SEGMENT_INPUTS - 5), zeros))
    pointwise(builder, (2, 3, 4, 32), drawn((6, 32), zeros))
    pointwise(builder, (1, 1, 1, 5), drawn((2, 5), zeros))
    return builder.graph


def emitted(folder, **options):
    graph = layers()
    with chosen_by(named("ternary")) as chosen:
        emission = emit_graph(graph, **options)
    assert [way.name for way in chosen] == ["ternary lists"] * 6
    return write(folder, emission), golden_of(graph), chosen


RUNS = [
    HostC("gcc", "-O1", sanitize=True),
    HostC("clang", "-O2"),
    pytest.param(Qemu(FirmwareBuild(offset=1)), marks=pytest.mark.qemu),
    pytest.param(Qemu(FirmwareBuild("cortex-m3", optimization="-Os")), marks=pytest.mark.qemu),
    pytest.param(Unicorn(FirmwareBuild("cortex-m0")), marks=pytest.mark.qemu),
]


@pytest.mark.parametrize("simulator", RUNS, ids=lambda s: s.name)
def test_equals_the_reference(simulator, tmp_path):
    folder, golden, _ = emitted(tmp_path)
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4"])
def test_the_estimate_is_near_the_count(cpu, tmp_path):
    folder, golden, chosen = emitted(tmp_path, cpu=cpu)
    build = FirmwareBuild(cpu)
    counts = profile(folder, "net", golden.first(1), build=build, timeout_s=120).layers
    wrong = [
        f"{way.instructions} instead of {count}"
        for way, count in zip(chosen, counts, strict=True)
        if abs(way.instructions - count) > 0.1 * count + 20
    ]
    assert wrong == []


def cheapest(cpu, zeros):
    """Return the name of the kernel with the fewest instructions."""
    builder = GraphBuilder()
    node = dense(builder, (1, 250), drawn((32, 250), zeros)).node
    return min(candidates(node, CORES[cpu]), key=lambda way: way.instructions).name


@pytest.mark.parametrize(
    ("cpu", "zeros", "pays"),
    [
        *(("cortex-m0", 0.4, True), ("cortex-m3", 0.4, True), ("cortex-m3", 0.0, False)),
        *(("cortex-m4", 0.4, False), ("cortex-m4", 0.8, True), ("cortex-m55", 0.8, False)),
    ],
)
def test_chosen_where_it_pays(cpu, zeros, pays):
    assert (cheapest(cpu, zeros) == "ternary lists") is pays


@pytest.mark.parametrize(
    "weights",
    [np.array([[1, 0, 2]], np.int8), np.array([[-2, 1, 0]], np.int8)],
    ids=lambda weights: f"{weights.min()}..{weights.max()}",
)
def test_other_weights_have_no_lists(weights):
    builder = GraphBuilder()
    assert not any(
        w.name == "ternary lists" for w in candidates(dense(builder, (1, 3), weights).node)
    )


def test_packed_ternary_weights_have_lists_too():
    builder = GraphBuilder()
    weights = drawn((4, 16), 0.5).astype(DType.I2.numpy)
    names = [way.name for way in candidates(dense(builder, (1, 16), weights).node)]
    assert "ternary lists" in names


@given(
    outputs=st.integers(1, 4), inputs=st.integers(1, 600), zeros=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_lists_hold_every_weight(outputs, inputs, zeros, seed):
    weights = drawn((outputs, inputs), zeros, seed)
    stream = iter(lists(weights).view(np.uint8).tolist())
    back = np.zeros_like(weights)
    for channel in back:
        for start in range(0, inputs, MAX_SEGMENT_INPUTS):
            for sign in (1, -1):
                for _ in range(next(stream)):
                    channel[start + next(stream)] = sign
    assert np.array_equal(back, weights)
    assert next(stream, None) is None
