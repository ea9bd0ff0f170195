"""Weights of 4 and 2 bits: packed in flash, equal to the reference on every path and compiler."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets.cortexm.forced import chosen_by
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import RELU, WHOLE

from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QClamp, QDense
from rlx_cortexm.core import CORES
from rlx_cortexm.kernels.dense import packed_cost
from rlx_cortexm.kernels.dense.packed_cost import PackedCost
from rlx_cortexm.kernels.rules import candidates
from rlx_cortexm.narrow import WHOLE_BITS, can_pack, pack_narrow, run_bytes
from rlx_cortexm.packing import pack_rows
from rlx_cortexm.weighted import WeightedLayer
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.profile import layer_instructions
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare

BITS = {DType.I4: 4, DType.I2: 2}
CPUS = ("cortex-m4", "cortex-m7", "cortex-m3", "cortex-m0")
INSIDE = ((0, 0), (0, 0))


def dense(builder, shape, outputs, dtype):
    op = QDense(x_zero_point=11, rescale=Rescale.of(0.02), zero_point=-3)
    weights = builder.constant(outputs, shape[-1], dtype=dtype)
    return builder.node(op, builder.input(*shape), weights, builder.bias(outputs, 300))


def network(dtype):
    """Return every way through the kernels that read packed weights: tails, groups, copies."""
    builder = GraphBuilder("narrow")
    for outputs, inputs in ((4, 8), (4, 1), (3, 7), (9, 13), (6, 31), (8, 64)):
        dense(builder, (2, inputs), outputs, dtype)
    shared = {"dtype": dtype, "factors": Rescale.of(0.01)}
    builder.conv((1, 6, 7, 8), 8, (3, 3), **shared)
    builder.conv((1, 6, 7, 7), 9, (3, 3), padding=WHOLE, **shared)
    builder.conv((2, 5, 6, 3), 6, (3, 3), stride=(2, 1), **shared)
    builder.conv((2, 5, 5, 6), 10, (3, 2), groups=2, **shared)
    builder.conv((2, 4, 4, 5), 9, (1, 1), **shared)
    builder.conv((1, 7, 9, 6), 5, (2, 3), dilation=(1, 2), **shared)
    builder.conv((1, 6, 6, 4), 4, (3, 3), groups=4, **shared)
    return builder.graph


SIMULATORS = [
    HostC("gcc", "-O2"),
    HostC("clang", "-O1"),
    HostC("gcc", "-O1", sanitize=True),
    *(
        pytest.param(simulator, marks=pytest.mark.qemu)
        for simulator in (
            *(Qemu(FirmwareBuild(optimization=level)) for level in ("-O0", "-Os", "-O2", "-O3")),
            Qemu(FirmwareBuild(offset=1)),
            Qemu(FirmwareBuild("cortex-m3")),
            Qemu(FirmwareBuild("cortex-m55", optimization="-O3")),
            Unicorn(FirmwareBuild(compiler="zig")),
            Unicorn(FirmwareBuild("cortex-m0")),
        )
    ),
]


def label(simulator):
    build = getattr(simulator, "build", None)
    if isinstance(build, FirmwareBuild):
        return f"{build.cpu}-{build.compiler}{build.optimization}-{build.offset}"
    return f"{simulator.name}-{simulator.compiler}{simulator.optimization}"


@pytest.fixture(scope="module", params=BITS, ids=str)
def emitted(request, tmp_path_factory):
    graph = network(request.param)
    with chosen_by(lambda ways: ways[-1]):
        emission = emit_graph(graph)
    return write(tmp_path_factory.mktemp("narrow"), emission), golden_of(graph)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS, ids=label)
def test_equals_the_reference(emitted, simulator):
    folder, golden = emitted
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []


def unpack(stream, shape, bits):
    """Return the weights [O, S, K] of a stream, read as the comment of the module says."""
    channels, rows, length = shape
    fields, at = 8 // bits, 0
    weights = np.zeros(shape, np.int8)
    for o in range(0, channels - channels % 4, 4):
        for row in range(rows):
            for k, n in itertools.product(range(length), range(4)):
                whole = k < length // 4 * 4
                base = k // 4 * 2 * bits + k % 4 * (1 if whole else bits // 2)
                byte = stream[at + base + n // fields * (4 if whole else 1)]
                weights[o + n, row, k] = code_of(byte, n % fields, bits)
            at += length * bits // 2
    for o, row in itertools.product(range(channels - channels % 4, channels), range(rows)):
        for k in range(length):
            weights[o, row, k] = code_of(stream[at + k // fields], k % fields, bits)
        at += run_bytes(length, bits)
    assert at == len(stream)
    return weights


def code_of(byte, field, bits):
    value = int(byte) >> (bits * field) & ((1 << bits) - 1)
    return value - (1 << bits) if value >> (bits - 1) else value


@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 11)),
    bits=st.sampled_from([4, 2]),
    seed=st.integers(0, 99),
)
def test_packing_keeps_every_code(shape, bits, seed):
    low = -(2 ** (bits - 1))
    weights = np.random.default_rng(seed).integers(low, -low, shape).astype(np.int8)
    stream = pack_narrow(weights, bits)
    assert np.array_equal(unpack(stream.view(np.uint8), shape, bits), weights)


def test_packing_halves_and_quarters():
    weights = np.ones((8, 3, 12), np.int8)
    assert len(pack_rows(weights)) == 2 * len(pack_narrow(weights, 4))
    assert len(pack_rows(weights)) == 4 * len(pack_narrow(weights, 2))
    assert [run_bytes(7, bits) for bits in (8, 4, 2)] == [7, 4, 2]


def test_weights_whose_scaled_sums_are_too_large_are_not_packed():
    assert can_pack(np.full((1, 131_071), -8), 4)
    assert not can_pack(np.full((1, 131_072), -8), 4)
    assert can_pack(np.full((2, 131_071), -2), 2)
    assert not can_pack(np.full((2, 131_072), -2), 2)
    assert not can_pack(np.ones((1, 1)), WHOLE_BITS)


@pytest.mark.parametrize(("dtype", "bits"), [(DType.I8, 8), (DType.I4, 4), (DType.I2, 2)])
def test_report_gives_bits_and_bytes(dtype, bits):
    builder = GraphBuilder()
    value = dense(builder, (1, 64), 32, dtype)
    layer = candidates(value.node)[-1].lower()
    assert layer.tables[0].nbytes == 64 * 32 * bits // 8
    assert layer.tables[0].note.startswith(f"{bits}-bit weights of 32 channels")
    report = emit_graph(builder.graph).report
    (row,) = report["layers"]
    assert row["weight_bits"] == bits
    assert row["constant_bytes"] == 64 * 32 * bits // 8 + 32 * 4
    assert report["packed_bytes"] == 64 * 32 - 64 * 32 * bits // 8


def layers_of_networks(dtype):
    """Return the kinds of layers that small networks have, with factors for each channel."""
    builder = GraphBuilder("layers")
    for inputs, outputs in ((64, 12), (64, 10), (256, 10), (8, 128), (40, 17), (640, 128)):
        op = QDense(x_zero_point=11, rescale=builder.factors(outputs, inputs), zero_point=-3)
        weights = builder.constant(outputs, inputs, dtype=dtype)
        builder.node(op, builder.input(1, inputs), weights, builder.bias(outputs, 300))
    for shape, outputs, kernel, attributes in (
        ((1, 8, 8, 16), 16, (3, 3), RELU), ((1, 16, 16, 3), 16, (3, 3), RELU),
        ((1, 8, 8, 16), 16, (3, 3), {"padding": INSIDE}), ((1, 8, 8, 32), 32, (3, 3), RELU),
        ((1, 49, 10, 1), 64, (10, 4), {"stride": (2, 2)}), ((1, 12, 12, 64), 64, (1, 1), RELU),
        ((1, 12, 12, 8), 16, (1, 1), {"factors": Rescale.of(0.02)}),
        ((1, 12, 12, 16), 32, (1, 1), {"stride": (2, 2), "padding": INSIDE}),
        ((1, 12, 12, 16), 16, (1, 1), {"factors": Rescale.of(*[0.01] * 15, 1.5)}),
        ((1, 8, 8, 7), 9, (3, 3), RELU), ((1, 8, 8, 16), 7, (3, 3), {"padding": INSIDE}),
    ):  # fmt: skip
        builder.conv(shape, outputs, kernel, dtype=dtype, **attributes)
    return builder.graph


def counts_of(graph, cpu, chooser, folder):
    """Return the kernels that a chooser selects, and the instructions of each layer."""
    with chosen_by(chooser) as chosen:
        emission = emit_graph(graph, cpu=cpu)
    build = FirmwareBuild(cpu)
    simulator = Unicorn(build) if cpu == "cortex-m0" else Qemu(build)
    counts = layer_instructions(
        write(folder, emission), "net", golden_of(graph, 1), simulator=simulator, timeout_s=120
    )
    return zip(chosen, counts, strict=True)


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", BITS, ids=str)
def test_the_estimate_of_packed_weights_is_near_the_count(dtype, cpu, tmp_path):
    layers = counts_of(layers_of_networks(dtype), cpu, lambda ways: ways[-1], tmp_path)
    wrong = [
        f"{way.name}: {way.instructions} instead of {count}"
        for way, count in layers
        if abs(way.instructions - count) > (0.1 if cpu == "cortex-m0" else 0.05) * count
        or not way.name.endswith(f"{BITS[dtype]}-bit weights")
    ]
    assert wrong == []


@pytest.mark.parametrize("bits", [4, 2])
def test_every_function_that_scales_has_a_cost(bits):
    builder = GraphBuilder()
    for rescale in (
        *(Rescale.of(0.003, rounding=rounding) for rounding in Rounding),
        *(Rescale.of(1.5, rounding=rounding) for rounding in Rounding),
        *(Rescale.of(2.0**-8, rounding=rounding) for rounding in (Rounding.EVEN, Rounding.ODD)),
    ):
        builder.dense((1, 8), 4, rescale)
    functions = set()
    for node in builder.graph.op_nodes:
        weighted = replace(WeightedLayer.of(node), bits=bits)
        functions.add(weighted.scaling.function)
        for core in CORES.values():
            assert PackedCost.of(weighted, core).instructions(1, 8, 4) > 0
    assert functions == set(packed_cost.PLAIN.scaled) == set(packed_cost.DSP.scaled)
    assert functions == set(packed_cost.BASELINE.scaled)


def test_layers_without_weights_have_no_bits():
    builder = GraphBuilder()
    builder.dense((1, 8), 8)
    builder.node(QClamp(low=0), builder.input(4))
    assert [row["weight_bits"] for row in emit_graph(builder.graph).report["layers"]] == [8, None]
