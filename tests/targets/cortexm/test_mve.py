"""Kernels for MVE: the reference's values on a Cortex-M55, and by the portable path elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import (
    RELU,
    WHOLE,
    arithmetic,
    convolutions,
    depthwise,
    reductions,
)

from rlx.ir import DType
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAdd, QAveragePool2d, QMaxPool2d, QSub, Window
from rlx_cortexm.core import CORES
from rlx_cortexm.kernels.rules import candidates
from rlx_cortexm.mve.rows import CHANNELS, MAX_STRAIGHT_STEPS, UNROLLED, VECTOR, VectorRows, pack
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.profile import profile
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare

M55 = "cortex-m55"


def rows_of_inputs():
    """Return a graph with every way to cut rows into vectors."""
    builder = GraphBuilder("rows")
    # Rows: one, odd, even; outputs that fill vectors or not; inputs with and without tails, loops.
    for rows, inputs, outputs in (
        *((1, 8, 4), (1, 16, 5), (2, 64, 8), (3, 33, 7), (5, 96, 4), (4, 112, 6), (1, 640, 9)),
        *((7, 181, 12), (2, 256, 3)),
    ):
        factors = builder.factors(outputs, inputs) if rows % 2 else None
        builder.dense((rows, inputs), outputs, factors)
    builder.dense((2, 48), 6, builder.factors(6, 48))
    builder.dense((1, 50), 6)
    builder.dense((3, 20), 4, Rescale.of(1.5, 0.9, 0.001, 0.0))
    builder.dense((3, 20), 4, Rescale.of(1.5))
    builder.conv((1, 5, 5, 64), 8, (1, 1), **RELU)
    builder.conv((2, 3, 3, 17), 6, (1, 1), low=-100, high=90, zero_point=-20)
    return builder.graph


def windows():
    """Return a graph with every way to copy windows."""
    builder = GraphBuilder("windows")
    # Inside or not, stride, dilation, batch, an odd number.
    builder.conv((1, 6, 7, 16), 8, (3, 3), **RELU)
    builder.conv((2, 5, 5, 16), 5, (3, 3), padding=WHOLE)
    builder.conv((1, 9, 8, 1), 12, (10, 4), stride=(2, 2))
    builder.conv((2, 7, 5, 3), 6, (3, 3), stride=(2, 1), x_zero_point=127)
    builder.conv((1, 9, 6, 40), 4, (3, 3), dilation=(2, 1))
    builder.conv((1, 2, 2, 20), 3, (3, 3), factors=Rescale.of(0.002))
    builder.conv((1, 4, 4, 2), 4, (2, 2), factors=Rescale.of(1.5, 0.9, 0.001, 0.0))
    return builder.graph


def planes():
    """Return a graph with depthwise convolutions in every shape that columns are cut for."""
    builder = GraphBuilder("planes")
    builder.conv((1, 9, 5, 16), 16, (3, 3), groups=16, **RELU)
    builder.conv((2, 4, 11, 9), 9, (3, 3), groups=9)
    builder.conv((1, 7, 9, 3), 3, (3, 3), groups=3, stride=(2, 2), padding=((0, 1), (0, 1)))
    builder.conv((1, 8, 8, 10), 10, (4, 2), groups=10, stride=(1, 3), padding=WHOLE)
    builder.conv((1, 3, 3, 8), 8, (3, 3), groups=8, padding=WHOLE)
    builder.conv((1, 1, 1, 5), 5, (3, 3), groups=5, x_zero_point=-128)
    builder.conv((1, 12, 2, 8), 8, (1, 4), groups=8, padding=((0, 0), (2, 1)))
    builder.conv((1, 6, 6, 4), 4, (4, 4), groups=4, factors=Rescale.of(0.002))
    builder.conv(
        (1, 6, 6, 4), 4, (2, 3), groups=4, stride=(4, 1), factors=Rescale.of(1.5, 0.9, 1e-3, 0)
    )
    builder.conv((1, 6, 6, 4), 4, (2, 3), groups=4, factors=Rescale.of(1.5))
    return builder.graph


def sums():
    """Return a graph with sums and differences, whole vectors and rests."""
    builder = GraphBuilder("sums")
    for kind, size in ((QAdd, 64), (QSub, 37), (QAdd, 3)):
        x, y = builder.input(size), builder.input(size)
        builder.binary(kind, x, y)
        builder.binary(kind, x, y, x_zero_point=-128, zero_point=-128, left_shift=7)
        builder.binary(kind, x, y, x_rescale=Rescale.of(1.0), rescale=Rescale.of(1.0), low=-100)
    return builder.graph


def pools():
    """Return a graph with pools, whole vectors and rests."""
    builder = GraphBuilder("pools")
    for kind in (QAveragePool2d, QMaxPool2d):
        for channels in (16, 21):
            image = builder.input(2, 5, 6, channels)
            builder.node(kind(window=Window.same((5, 6), (3, 3), (2, 2))), image)
            builder.node(kind(window=Window((5, 6)), low=-10, high=10), image)
            builder.node(kind(window=Window((2, 3), (1, 1), (1, 2), ((1, 0), (1, 2)))), image)
    return builder.graph


def halves():
    """Return a graph of layers and sums that round once."""
    builder = GraphBuilder("halves")
    for rounding in (Rounding.SINGLE, Rounding.EVEN, Rounding.ODD):
        builder.dense((3, 33), 7, builder.powers(7, 33, rounding))
        builder.conv((1, 5, 6, 16), 8, (3, 3), factors=builder.powers(8, 144, rounding))
        one = Rescale.of(2.0**-6, rounding=rounding)
        builder.conv((1, 6, 6, 9), 9, (3, 3), groups=9, factors=builder.powers(9, 9, rounding))
        builder.conv((1, 6, 6, 4), 4, (3, 3), groups=4, factors=one)
        own = Rescale.of(2.0**-20, rounding=rounding)
        exact = Rescale.of(0.5, rounding=rounding)
        x, y = builder.input(37), builder.input(37)
        builder.binary(QSub, x, y, rescale=own, x_rescale=exact, y_rescale=exact)
    return builder.graph


GRAPHS = (
    rows_of_inputs, windows, planes, sums, halves, pools, convolutions, depthwise, arithmetic,
    reductions,
)  # fmt: skip

# Depthwise convolutions may be cut in two ways; each turn begins with another one.
CASES = [(make, 0) for make in GRAPHS] + [(planes, 1), (depthwise, 1)]


def identifier(value):
    return getattr(value, "__name__", str(value))


def emitted_by(graph, folder, turn=0):
    """Write code with kernels for MVE wherever there is one; ``turn`` picks among several."""
    with chosen_by(named("mve", turn)) as chosen:
        emission = emit_graph(graph, cpu=M55)
    return write(folder, emission), chosen


@pytest.mark.slow
@pytest.mark.parametrize(("make", "turn"), CASES, ids=identifier)
def test_the_portable_path_equals_the_reference(make, turn, tmp_path):
    graph = make()
    folder, chosen = emitted_by(graph, tmp_path, turn)
    assert any(c.name.startswith("mve") for c in chosen)
    golden = golden_of(graph)
    simulation = HostC("gcc", "-O1", sanitize=True).simulate(folder, golden, timeout_s=120)
    assert compare("sanitize", simulation, golden) == []


@pytest.mark.qemu
@pytest.mark.parametrize(("make", "turn"), CASES, ids=identifier)
def test_a_cortex_m55_equals_the_reference(make, turn, tmp_path):
    graph = make()
    folder, _ = emitted_by(graph, tmp_path, turn)
    golden = golden_of(graph)
    simulation = Qemu(FirmwareBuild(M55, offset=1)).simulate(folder, golden, timeout_s=120)
    assert compare("qemu", simulation, golden) == []


OTHERS = [
    *(FirmwareBuild(M55, optimization=level) for level in ("-O0", "-Og", "-Os", "-O3")),
    FirmwareBuild(M55, "zig"),
    FirmwareBuild("cortex-m4"),
]


@pytest.mark.qemu
@pytest.mark.parametrize("build", OTHERS, ids=lambda b: f"{b.cpu}-{b.compiler}{b.optimization}")
@pytest.mark.parametrize("make", [windows, planes], ids=identifier)
def test_other_compilers_levels_and_cores_equal_the_reference(make, build, tmp_path):
    graph = make()
    folder, _ = emitted_by(graph, tmp_path)
    golden = golden_of(graph, 2)
    simulation = Qemu(build).simulate(folder, golden, timeout_s=120)
    assert compare("qemu", simulation, golden) == []


def network():
    """Return a graph with the kinds of layers that small networks have."""
    builder = GraphBuilder("network")
    builder.conv((1, 49, 10, 1), 64, (10, 4), stride=(2, 2), **RELU)
    builder.conv((1, 32, 32, 3), 16, (3, 3), **RELU)
    builder.conv((1, 16, 16, 32), 32, (3, 3))
    builder.conv((1, 16, 16, 16), 32, (1, 1), stride=(2, 2), padding=WHOLE)
    for shape in ((1, 25, 5, 64), (1, 24, 24, 16), (1, 6, 6, 57)):
        builder.conv(shape, shape[3], (3, 3), groups=shape[3], **RELU)
    for shape, outputs in (((1, 24, 24, 32), 32), ((1, 6, 6, 60), 106), ((1, 6, 6, 106), 57)):
        builder.conv(shape, outputs, (1, 1), **RELU)
    builder.dense((1, 640), 128)
    builder.dense((1, 64), 12)
    builder.binary(QAdd, builder.input(1, 8, 8, 16), builder.input(1, 8, 8, 16))
    builder.node(QAveragePool2d(window=Window((25, 5))), builder.input(1, 25, 5, 64))
    builder.node(QMaxPool2d(window=Window((2, 2), (2, 2))), builder.input(1, 16, 16, 32))
    return builder.graph


@pytest.mark.qemu
@pytest.mark.parametrize("turn", [0, 1])
def test_the_estimate_of_every_layer_is_near_the_count(turn, tmp_path):
    graph = network()
    folder, chosen = emitted_by(graph, tmp_path, turn)
    build = FirmwareBuild(M55)
    counts = profile(folder, "net", golden_of(graph, 1), build=build, timeout_s=120).layers
    assert all(candidate.name.startswith("mve") for candidate in chosen)
    wrong = [
        f"{candidate.name}: {candidate.instructions} instead of {count}"
        for candidate, count in zip(chosen, counts, strict=True)
        if abs(candidate.instructions - count) > 0.1 * count
    ]
    assert wrong == []


@given(
    outputs=st.integers(1, 9), inputs=st.integers(1, 70), seed=st.integers(0, 99),
)  # fmt: skip
def test_packing_keeps_every_weight(outputs, inputs, seed):
    weights = np.random.default_rng(seed).integers(-128, 128, (outputs, inputs)).astype(np.int8)
    blocks = pack(weights).reshape(-1, -(-inputs // VECTOR), CHANNELS, VECTOR)
    back = blocks.transpose(0, 2, 1, 3).reshape(len(blocks) * CHANNELS, -1)
    assert np.array_equal(back[:outputs, :inputs], weights)
    assert np.abs(back.astype(int)).sum() == np.abs(weights.astype(int)).sum()


@given(inputs=st.integers(1, 5000), tail=st.booleans())
def test_steps_passes_and_rest_are_the_whole_row(inputs, tail):
    run = VectorRows(inputs, tail)
    steps = run.straight + run.loops * UNROLLED
    assert steps * VECTOR + run.rest >= inputs > (steps - 1) * VECTOR + run.rest
    assert run.vectors == steps + (run.rest > 0)
    assert 0 <= run.straight <= MAX_STRAIGHT_STEPS


def test_only_a_core_with_vectors_gets_these_kernels():
    builder = GraphBuilder()
    node = builder.dense((1, 64), 8).node
    names = {name: {c.name for c in candidates(node, core)} for name, core in CORES.items()}
    assert "mve rows" in names[M55]
    assert all("mve rows" not in found for name, found in names.items() if name != M55)


def test_narrow_weights_are_bytes_or_unpacked_for_these_kernels():
    builder = GraphBuilder()
    node = builder.conv((1, 4, 4, 4), 4, (3, 3), dtype=DType.I4).node
    names = [c.name for c in candidates(node, CORES[M55]) if c.name.startswith("mve")]
    assert names == ["mve windows, 4-bit weights unpacked", "mve windows"]


def test_what_needs_64_bits_has_no_such_kernel():
    builder = GraphBuilder()
    nodes = [
        builder.dense((1, 64), 8, Rescale.of(0.75, rounding=Rounding.EVEN)).node,
        builder.conv((1, 4, 4, 4), 8, (3, 3), groups=4).node,
        builder.conv((1, 9, 9, 4), 4, (5, 5), groups=4).node,
        builder.binary(QAdd, builder.input(3, 4), builder.input(4)).node,
        builder.node(QAveragePool2d(window=Window((16, 16))), builder.input(1, 16, 16, 2)).node,
    ]
    for node in nodes:
        names = [c.name for c in candidates(node, CORES[M55])]
        assert not any(name.startswith("mve") for name in names), node.op
