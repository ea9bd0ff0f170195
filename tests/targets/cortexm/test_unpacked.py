"""Weights of 4 and 2 bits for kernels that read bytes: unpacked in the arena."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets.cortexm.forced import chosen_by
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import RELU, WHOLE

from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale
from rlx_cortexm.code_size import code_sizes
from rlx_cortexm.core import CORES
from rlx_cortexm.kernels.rules import candidates
from rlx_cortexm.narrow import pack_values
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.profile import layer_instructions
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare

BITS = {DType.I4: 4, DType.I2: 2}


def layers(dtype):
    """Return every kernel of depthwise layers that reads bytes: with and without own scratch."""
    builder = GraphBuilder("depthwise")
    builder.conv((1, 6, 5, 8), 8, (3, 3), groups=8, dtype=dtype, **RELU)
    builder.conv((2, 6, 5, 6), 6, (3, 3), groups=6, dtype=dtype, stride=(2, 2))
    builder.conv((1, 7, 6, 5), 5, (3, 2), groups=5, dtype=dtype, padding=WHOLE)
    builder.conv((1, 4, 4, 3), 6, (3, 3), groups=3, dtype=dtype)
    builder.conv((2, 6, 6, 4), 8, (5, 5), groups=4, dtype=dtype, factors=Rescale.of(0.01))
    return builder.graph


def unpacking(ways):
    """Choose the last kernel that unpacks: the plain one."""
    return [way for way in ways if way.name.endswith("unpacked")][-1]


def plain(ways):
    """Choose the plain kernel, which reads bytes."""
    return ways[-1]


def emitted(dtype, folder, cpu):
    graph = layers(dtype)
    with chosen_by(unpacking):
        emission = emit_graph(graph, cpu=cpu)
    assert [row["weight_bits"] for row in emission.report["layers"]] == [BITS[dtype]] * 5
    return write(folder, emission), golden_of(graph)


RUNS = [
    ("cortex-m4", HostC("gcc", "-O1", sanitize=True)),
    ("cortex-m55", HostC("clang", "-O2")),
    pytest.param("cortex-m4", Qemu(FirmwareBuild(offset=1)), marks=pytest.mark.qemu),
    pytest.param("cortex-m4", Qemu(FirmwareBuild("cortex-m3")), marks=pytest.mark.qemu),
    pytest.param("cortex-m55", Qemu(FirmwareBuild("cortex-m55")), marks=pytest.mark.qemu),
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", BITS, ids=str)
@pytest.mark.parametrize(("cpu", "simulator"), RUNS, ids=lambda v: getattr(v, "name", v))
def test_equals_the_reference(dtype, cpu, simulator, tmp_path):
    folder, golden = emitted(dtype, tmp_path, cpu)
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []


@pytest.mark.parametrize("dtype", BITS, ids=str)
def test_flash_is_saved_and_scratch_memory_paid(dtype):
    builder = GraphBuilder()
    node = builder.conv((1, 8, 8, 64), 64, (3, 3), groups=64, dtype=dtype).node
    ways = candidates(node)
    plain, narrow = ways[-1].lower(), unpacking(ways).lower()
    bits = BITS[dtype]
    assert narrow.tables[0].nbytes == 9 * 64 * bits // 8
    assert narrow.packed_bytes == 9 * 64 - 9 * 64 * bits // 8
    assert narrow.scratch_bytes == plain.scratch_bytes + 9 * 64
    assert [t.content for t in narrow.tables[1:]] == [t.content for t in plain.tables[1:]]
    assert unpacking(ways).flash_bytes(code_sizes) < ways[-1].flash_bytes(code_sizes)
    assert unpacking(ways).instructions > ways[-1].instructions


@pytest.mark.parametrize("core", CORES.values(), ids=lambda core: core.name)
def test_weights_of_bytes_are_not_unpacked(core):
    builder = GraphBuilder()
    builder.conv((1, 8, 8, 8), 8, (3, 3), groups=8)
    builder.conv((1, 8, 8, 8), 8, (3, 3))
    builder.dense((1, 8), 8)
    for node in builder.graph.op_nodes:
        assert not any(way.name.endswith("unpacked") for way in candidates(node, core))


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m7", "cortex-m3", "cortex-m0"])
@pytest.mark.parametrize("dtype", BITS, ids=str)
def test_the_estimate_of_unpacking_is_the_count(dtype, cpu, tmp_path):
    builder = GraphBuilder("depthwise")
    for channels in (16, 64, 33):
        builder.conv((1, 2, 2, channels), channels, (3, 3), groups=channels, dtype=dtype, **RELU)
    build = FirmwareBuild(cpu)
    simulator = Unicorn(build) if cpu == "cortex-m0" else Qemu(build)
    counts, ways = [], []
    for chooser in (unpacking, plain):
        with chosen_by(chooser) as chosen:
            folder = write(tmp_path / chooser.__name__, emit_graph(builder.graph, cpu=cpu))
        golden = golden_of(builder.graph, 1)
        counts.append(layer_instructions(folder, "net", golden, simulator=simulator, timeout_s=120))
        ways.append(tuple(chosen))
    for narrow, whole, more, less in zip(*ways, *counts, strict=True):
        predicted = narrow.instructions - whole.instructions
        assert predicted == pytest.approx(more - less, rel=0.1)


@given(count=st.integers(1, 40), bits=st.sampled_from([4, 2]), seed=st.integers(0, 99))
def test_values_follow_each_other_from_the_lowest_bits(count, bits, seed):
    low = -(2 ** (bits - 1))
    values = np.random.default_rng(seed).integers(low, -low, count).astype(np.int8)
    stream = np.unpackbits(pack_values(values, bits).view(np.uint8), bitorder="little")
    fields = stream[: count * bits].reshape(count, bits).astype(int) @ (1 << np.arange(bits))
    assert np.array_equal(np.where(fields >= -low, fields + 2 * low, fields), values)
    assert not stream[count * bits :].any()
