"""Weights of 4 and 2 bits unpacked in registers: equal to the reference on every path."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets.cortexm.forced import chosen_by
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import RELU
from targets.cortexm.network_layers import dense_layers_of_networks, layers_of_networks
from targets.cortexm.test_narrow import counts_of

from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale
from rlx_cortexm.kernels.rules import candidates
from rlx_cortexm.narrow import WHOLE_BITS, pack_lanes, pack_words
from rlx_cortexm.weighted import WeightedLayer
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare
from targets.cortexm import test_forced as forced

BITS = {DType.I4: 4, DType.I2: 2}
KERNELS = ("blocks", "winograd, weights in pair", "winograd, weights in ram", "quads")
SIMULATORS = [
    HostC("gcc", "-O1", sanitize=True),
    HostC("clang", "-O2", offset=1),
    *(
        pytest.param(simulator, marks=pytest.mark.qemu)
        for simulator in (
            *(Qemu(FirmwareBuild(optimization=level)) for level in ("-O0", "-O2", "-O3")),
            Qemu(FirmwareBuild("cortex-m3")),
            Qemu(FirmwareBuild("cortex-m33", offset=1)),
            Unicorn(FirmwareBuild("cortex-m0")),
            Unicorn(FirmwareBuild(compiler="zig")),
        )
    ),
]


def narrow_ones(ways, start, bits):
    """Return the candidates of a kernel that unpacks weights in registers."""
    return [w for w in ways if w.name.startswith(start) and w.name.endswith(f"{bits}-bit weights")]


def chooser_of(bits, starts):
    """Return a chooser of kernels in the order of ``starts``, another variant for each layer."""
    turns = itertools.count(step=7)

    def chooser(ways):
        found = [narrow_ones(ways, start, bits) for start in starts]
        ones = next((ones for ones in found if ones), [ways[-1]])
        return ones[next(turns) % len(ones)]

    return chooser


def network(dtype):
    """Return every way through the templates of all kernels, with packed weights."""
    builder = GraphBuilder("narrow", weights=dtype)
    for append in (forced.shapes, forced.halves, forced.tiles, forced.rows):
        append(builder)
    return builder.graph


@pytest.fixture(scope="module", params=BITS, ids=str)
def emitted(request, tmp_path_factory):
    dtype = request.param
    graph = network(dtype)
    starts = ("winograd", "quads", "blocks")
    with chosen_by(chooser_of(BITS[dtype], starts)) as chosen:
        emission = emit_graph(graph)
    assert {s for s in KERNELS for way in chosen if way.name.startswith(s)} == set(KERNELS)
    return write(tmp_path_factory.mktemp("narrow"), emission), golden_of(graph)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS, ids=forced.label)
def test_equals_the_reference(emitted, simulator):
    folder, golden = emitted
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", BITS, ids=str)
def test_lines_are_short(dtype):
    with chosen_by(chooser_of(BITS[dtype], KERNELS[::-1])):
        files = emit_graph(network(dtype)).files
    lines = [line for name in files if name.startswith("src/") for line in files[name].splitlines()]
    assert [line for line in lines if len(line) > 100 or line != line.rstrip()] == []


def sample(dtype):
    """Return a convolution and a dense layer to which every kernel applies."""
    builder = GraphBuilder(weights=dtype)
    builder.conv((1, 8, 8, 16), 16, (3, 3), **RELU)
    builder.dense((1, 64), 16)
    return builder.graph.op_nodes


@pytest.mark.parametrize("dtype", BITS, ids=str)
def test_packed_weights_take_their_bits(dtype):
    conv, dense = sample(dtype)
    for start, node, weights in (
        *((start, conv, 16 * 16 * 9) for start in KERNELS[:3]),
        ("quads", dense, 16 * 64),
    ):
        for way in narrow_ones(candidates(node), start, BITS[dtype]):
            layer = way.lower()
            assert layer.tables[0].nbytes == weights * BITS[dtype] // 8
            assert sum(table.nbytes for table in layer.tables) == way.table_bytes
            assert layer.packed_bytes == weights - weights * BITS[dtype] // 8
            assert (layer.weight_bits, layer.unpacked) == (BITS[dtype], 0)


def test_weights_of_bytes_have_no_packed_kernels():
    for node in sample(DType.I8):
        assert not any(way.name.endswith("bit weights") for way in candidates(node))


@pytest.mark.qemu
@pytest.mark.parametrize("start", KERNELS)
@pytest.mark.parametrize("dtype", BITS, ids=str)
def test_the_estimate_is_near_the_count(dtype, start, tmp_path):
    chooser = chooser_of(BITS[dtype], (start,))
    builder = GraphBuilder("layers", weights=dtype)
    layers_of_networks(builder)
    dense_layers_of_networks(builder)
    layers = list(counts_of(builder.graph, "cortex-m4", chooser, tmp_path))
    counted = [(way, count) for way, count in layers if way.name.startswith(start)]
    assert len(counted) > 1
    wrong = [
        f"{way.name}: {way.instructions} instead of {count}"
        for way, count in counted
        if abs(way.instructions - count) > 0.1 * count
    ]
    assert wrong == []


def test_sums_that_could_leave_int32_when_multiplied_are_refused():
    builder = GraphBuilder(weights=DType.I2)
    builder.conv((1, 3, 3, 64), 4, (1, 1))
    (node,) = builder.graph.op_nodes
    weighted = WeightedLayer.of(node)
    places = 31 - int(weighted.bounds.max()).bit_length()
    assert weighted.for_larger_sums(places) is not None
    assert weighted.for_larger_sums(places + 1) is None


def test_every_channel_is_scaled_up_by_the_places_of_the_sums():
    builder = GraphBuilder(weights=DType.I4)
    builder.conv((1, 3, 3, 64), 4, (1, 1), factors=Rescale.of(0.01, 0.002, 0.0, 1e-9), **RELU)
    builder.conv((1, 3, 3, 64), 4, (1, 1), factors=Rescale.of(0.01, 2.0**-12, 0.1, 0.1), **RELU)
    builder.conv((1, 3, 3, 64), 4, (1, 1))
    level, folded, negative = (
        WeightedLayer.of(node).for_larger_sums(4).scaling for node in builder.graph.op_nodes
    )
    assert (level.function, min(level.shift)) == ("requantize_level_12", 4)
    assert (folded.function, negative.function) == ("requantize_folded", "requantize_folded")


def fields(stream, bits):
    """Return the values of bytes, from the lowest bits on."""
    places = np.arange(0, WHOLE_BITS, bits)
    return (stream.view(np.uint8)[:, np.newaxis] >> places) % (1 << bits)


shapes = st.tuples(st.integers(1, 3), st.integers(1, 9))


@given(shape=shapes, bits=st.sampled_from([4, 2]), seed=st.integers(0, 99))
def test_pairs_are_16_bits_apart(shape, bits, seed):
    rows, quads = shape
    low = -(2 ** (bits - 1))
    values = np.random.default_rng(seed).integers(low, -low, (rows, 4 * quads))
    streams = fields(pack_lanes(values, bits), bits).reshape(rows, -1).astype(int) + low
    whole = quads - quads % (8 // bits)
    for row, stream in zip(values, streams, strict=True):
        words = stream[: 4 * whole].reshape(-1, 2, 16 // bits)
        pairs = row[: 4 * whole].reshape(-1, 2, 2)
        assert np.array_equal(
            words.swapaxes(1, 2).reshape(-1, 2), pairs.swapaxes(1, 2).reshape(-1, 2)
        )
        assert np.array_equal(stream[4 * whole :], row[4 * whole :])


@given(shape=shapes, bits=st.sampled_from([4, 2]), seed=st.integers(0, 99))
def test_a_byte_of_a_word_holds_a_value_of_each_quad(shape, bits, seed):
    rows, words = shape
    low, per_byte = -(2 ** (bits - 1)), 8 // bits
    values = np.random.default_rng(seed).integers(low, -low, (rows, 4 * per_byte * words))
    stream = pack_words(values, bits).view(np.uint8).reshape(-1, 4)
    for word, quads in zip(stream, values.reshape(-1, per_byte, 4), strict=True):
        for quad in quads:
            assert np.array_equal(word.view(np.int8) >> (8 - bits), quad)
            word <<= bits
