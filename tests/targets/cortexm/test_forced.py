"""Every kernel of convolutions, chosen or not, computes the reference's values at its own cost."""

import pytest
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import RELU, WHOLE, convolutions
from targets.cortexm.network_layers import (
    dense_layers_of_networks,
    depthwise_of_networks,
    elements,
    layers_of_networks,
)

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import QAdd, QAveragePool2d, QSub, Window
from rlx_cortexm.kernels.conv2d_blocks import tactic as blocks
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.profile import profile
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare

KERNELS = [
    *(f"blocks of {steps} " for steps in blocks.UNROLLED_STEPS),
    "ready blocks",
    *(f"winograd, weights in {where}" for where in ("flash", "ram", "pair")),
    *(f"planes {direction}" for direction in ("along", "down")),
    "quads",
    "add table",
    "avg pool2d lanes",
    "plain",
]

PLAIN_TEMPLATES = {f"{name}/kernel" for name in ("dense", "conv2d", "depthwise", "depthwise_large")}

HOSTS = [HostC("gcc", "-O1", sanitize=True), HostC("clang", "-O2", offset=1)]
LEVELS = ("-O0", "-Og", "-Os", "-O2", "-O3")
FIRMWARE = [
    *(Qemu(FirmwareBuild(optimization=level)) for level in LEVELS),
    *(Unicorn(FirmwareBuild(compiler="zig", optimization=level)) for level in LEVELS),
    Qemu(FirmwareBuild("cortex-m3")),
    Qemu(FirmwareBuild("cortex-m33", offset=1)),
    Unicorn(FirmwareBuild("cortex-m0")),
]


def identifier(kernel):
    return kernel.strip().replace(" ", "-")


def label(simulator):
    build = getattr(simulator, "build", None)
    if isinstance(build, FirmwareBuild):
        return f"{simulator.name}-{build.cpu}-{build.compiler}{build.optimization}"
    return f"{simulator.name}-{simulator.compiler}{simulator.optimization}"


def shapes():
    """Return a graph with convolutions for every way through the templates of blocks."""
    builder = GraphBuilder("shapes")
    # Pixels: a remainder of windows, of channels, of inputs; one group; several panels.
    builder.conv((1, 5, 5, 64), 8, (1, 1), **RELU)
    builder.conv((1, 3, 1, 17), 3, (1, 1))
    builder.conv((2, 4, 5, 30), 5, (1, 1), low=-100, high=90, zero_point=-20)
    builder.conv((1, 3, 6, 3), 2, (1, 1), x_zero_point=127, zero_point=127)
    builder.conv((1, 3, 4, 8), 4, (1, 1), factors=Rescale.of(0.002))
    builder.conv((1, 3, 4, 8), 4, (1, 1), factors=builder.factors(4, 8, Rounding.SINGLE))
    builder.conv((1, 2, 4, 8), 3, (1, 1), factors=Rescale.of(1.5, 1e-7, 0.001))
    builder.conv((1, 2, 4, 8), 3, (1, 1), factors=Rescale.of(0.01, 1e-9, 0.0))
    # Windows: rows, taps or patches; inside or not; stride, dilation, batch.
    builder.conv((2, 7, 5, 4), 6, (3, 3), stride=(2, 1), **RELU)
    builder.conv((1, 9, 7, 1), 5, (5, 4), stride=(2, 2), **RELU)
    builder.conv((1, 8, 8, 3), 4, (3, 3), padding=((0, 1), (0, 1)), stride=(2, 2), **RELU)
    builder.conv((1, 8, 8, 3), 4, (3, 3), padding=WHOLE)
    builder.conv((1, 8, 8, 2), 4, (3, 2), padding=WHOLE, stride=(3, 1))
    builder.conv((1, 6, 7, 8), 3, (2, 3), dilation=(1, 2))
    builder.conv((1, 7, 6, 4), 2, (2, 2), dilation=(3, 1), x_zero_point=-128)
    builder.conv((1, 2, 2, 5), 2, (3, 3), x_zero_point=100)
    builder.conv((1, 5, 4, 36), 2, (3, 3), low=-3, zero_point=-3)
    builder.conv((1, 4, 4, 16), 4, (1, 1), stride=(2, 1), padding=WHOLE)
    builder.conv((1, 3, 4, 4), 4, (3, 3), factors=Rescale.of(0.001, rounding=Rounding.SINGLE))
    return builder.graph


def halves():
    """Return a graph with convolutions that round halves to even or odd, or in float32."""
    builder = GraphBuilder("halves")
    # A power of two for each channel, one for all, other factors.
    builder.conv((1, 3, 4, 40), 5, (1, 1), factors=builder.powers(5, 40), **RELU)
    builder.conv((1, 3, 5, 8), 4, (1, 1), factors=builder.powers(4, 8, Rounding.ODD))
    builder.conv((1, 4, 4, 8), 4, (3, 3), factors=Rescale.of(2.0**-7, rounding=Rounding.EVEN))
    builder.conv((1, 3, 4, 8), 3, (1, 1), factors=Rescale.of(0.75 / 64, rounding=Rounding.EVEN))
    few = Rescale.of(2.0**-20, 2.0**-6, 0.0, rounding=Rounding.ODD)
    builder.conv((1, 3, 4, 8), 3, (1, 1), factors=few)
    for factors in ((1 / 96, 1 / 160, 0.01), (1 / 96,), (5 / 6, 1 / 96, 0.0)):
        in_float32 = Rescale.of(*factors, rounding=Rounding.FLOAT32)
        builder.conv((1, 3, 4, 8), 3, (1, 1), factors=in_float32)
    return builder.graph


def tiles():
    """Return a graph with convolutions for every way through the template of Winograd."""
    builder = GraphBuilder("tiles")
    # Even and odd images, tiles inside or not, a channel left over or filled up, batch.
    builder.conv((1, 8, 7, 8), 4, (3, 3), **RELU)
    builder.conv((2, 5, 4, 12), 3, (3, 3), x_zero_point=127, low=-30, high=80)
    builder.conv((1, 6, 7, 16), 2, (3, 3), padding=WHOLE)
    builder.conv((1, 2, 2, 4), 5, (3, 3), zero_point=-128)
    builder.conv((1, 3, 4, 4), 2, (3, 3), padding=((2, 0), (0, 2)), factors=Rescale.of(0.002))
    for rounding in (Rounding.SINGLE, Rounding.EVEN, Rounding.ODD):
        builder.conv((1, 4, 5, 8), 4, (3, 3), factors=builder.powers(4, 72, rounding))
    builder.conv((1, 4, 5, 8), 2, (3, 3), factors=Rescale.of(0.003, rounding=Rounding.SINGLE))
    builder.conv((1, 4, 5, 8), 2, (3, 3), factors=Rescale.of(1 / 384, rounding=Rounding.FLOAT32))
    return builder.graph


def lines_along(builder, turned):
    """Append depthwise convolutions of wide images, or of the same turned by a quarter."""

    def conv(shape, kernel, **attributes):
        pairs = {"shape": shape[1:3], "kernel": kernel, **attributes}
        for name in ("shape", "kernel", "stride", "dilation", "padding"):
            if turned and name in pairs:
                pairs[name] = pairs[name][::-1]
        batch, channels = shape[0], shape[3]
        own = (batch, *pairs.pop("shape"), channels)
        builder.conv(own, channels, pairs.pop("kernel"), groups=channels, **pairs)

    conv((1, 5, 9, 8), (3, 3), **RELU)
    conv((2, 6, 8, 6), (3, 3), stride=(2, 2), low=-100, high=90)
    conv((1, 7, 10, 5), (2, 5), padding=((3, 2), (4, 1)), x_zero_point=127)
    conv((1, 1, 12, 4), (1, 5), padding=WHOLE)
    conv((1, 1, 4, 4), (3, 3), stride=(1, 3), zero_point=-128)
    conv((1, 9, 9, 4), (3, 2), dilation=(3, 1), factors=Rescale.of(0.002))
    conv((1, 5, 150, 4), (5, 3), padding=WHOLE)


def lines():
    """Return a graph with convolutions for every way through the template of planes."""
    builder = GraphBuilder("lines")
    # A code left over, channels left over, strips, one line, windows that leave the image far.
    for turned in (False, True):
        lines_along(builder, turned)
    mixed = Rescale.of(0.002, 1e-6, 0.9, 0.0)
    builder.conv((1, 8, 8, 7), 7, (3, 3), groups=7, stride=(2, 2), padding=((0, 1), (0, 1)), **RELU)
    builder.conv((1, 5, 4, 4), 4, (3, 3), groups=4, factors=mixed, low=-3, zero_point=-3)
    builder.conv((1, 5, 4, 4), 4, (1, 1), groups=4, stride=(2, 1), padding=WHOLE)
    for rounding in (Rounding.SINGLE, Rounding.EVEN, Rounding.ODD):
        own = builder.powers(6, 9, rounding)
        builder.conv((1, 6, 7, 6), 6, (3, 3), groups=6, factors=own)
    in_float32 = Rescale.of(1 / 96, rounding=Rounding.FLOAT32)
    builder.conv((1, 6, 7, 6), 6, (3, 3), groups=6, factors=in_float32)
    return builder.graph


def rows(builder=None):
    """Return a graph with dense layers for every way through the template of quads."""
    builder = builder or GraphBuilder("rows")
    # Remaining inputs and channels, several rows, every function that scales.
    builder.dense((1, 64), 8, low=-3, zero_point=-3)
    builder.dense((1, 40), 6, builder.factors(6, 40), **RELU)
    builder.dense((2, 3, 13), 6)
    builder.dense((3, 30), 9, builder.factors(9, 30))
    builder.dense((1, 7), 4, Rescale.of(1.5))
    builder.dense((2, 8), 5, Rescale.of(0.003, rounding=Rounding.SINGLE))
    builder.dense((2, 9), 5, builder.powers(5, 9))
    builder.dense((1, 20), 4, Rescale.of(2.0**-8, rounding=Rounding.ODD))
    builder.dense((1, 20), 4, Rescale.of(0.75 / 256, rounding=Rounding.EVEN))
    return builder.graph


def sums(builder=None):
    """Return a graph with sums for every way through the template of tables."""
    builder = builder or GraphBuilder("sums")
    shape, ends = (1, 4, 4, 8), {"low": -128, "zero_point": -128}
    half, other = Rescale.of(0.5), Rescale.of(0.49)
    # No table, one, two; runs of whole quads or not, strides of zero; every function that scales.
    for scales in ((half, half), (half, other), (other, half), (other, other)):
        both = dict(zip(("x_rescale", "y_rescale"), scales, strict=True))
        builder.binary(QAdd, builder.input(*shape), builder.input(*shape), **both, **ends)
        builder.binary(QSub, builder.input(3, 5), builder.input(3, 5), **both, low=-100, high=30)
    x = builder.input(*shape)
    builder.binary(QAdd, x, builder.input(8))
    builder.binary(QSub, x, builder.input(1, 4, 1, 8))
    builder.binary(QAdd, x, builder.input(1, 4, 4, 1), rescale=Rescale.of(1.0))
    builder.binary(QAdd, x, x, rescale=Rescale.of(1.3 / 2**19, rounding=Rounding.SINGLE))
    for rounding in (Rounding.EVEN, Rounding.ODD):
        own = Rescale.of(2.0**-20, rounding=rounding)
        builder.binary(QSub, x, builder.input(1, 4, 4, 1), rescale=own, y_rescale=half)
    return builder.graph


def pools(builder=None):
    """Return a graph with average pools for every way through the template of lanes."""
    builder = builder or GraphBuilder("pools")

    def pool(shape, window, **attributes):
        builder.node(QAveragePool2d(window=window, **attributes), builder.input(*shape))

    pool((1, 15, 17, 8), Window((15, 17)))
    pool((1, 8, 8, 16), Window((8, 8)))
    pool((2, 9, 9, 7), Window((2, 3), (2, 2)), low=-10, high=20)
    pool((1, 1, 20, 6), Window((1, 20)))
    pool((1, 9, 9, 4), Window((2, 3), (1, 1), (3, 2)))
    return builder.graph


def others():
    """Return a graph with all those that are not convolutions."""
    builder = GraphBuilder("others")
    for append in (rows, sums, pools):
        append(builder)
    return builder.graph


def emitted_by(chooser, graph, folder):
    """Write code with kernels of the chooser's choice."""
    with chosen_by(chooser) as chosen:
        emission = emit_graph(graph)
    return write(folder, emission), chosen


def graph_for(kernel):
    """Return the graph whose layers take every way through the template of a kernel."""
    graphs = {
        "winograd": tiles, "planes": lines, "quads": rows, "add": sums, "avg": pools,
        "plain": convolutions,
    }  # fmt: skip
    return graphs.get(kernel.split()[0].strip(","), shapes)()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=identifier)
def test_host_c_equals_the_reference(kernel, tmp_path):
    graph = graph_for(kernel)
    folder, chosen = emitted_by(named(kernel), graph, tmp_path)
    if not any(c.name.startswith(kernel) for c in chosen):
        assert kernel == "plain"
        assert {c.lower().kernel.template for c in chosen} <= PLAIN_TEMPLATES
    golden = golden_of(graph)
    for simulator in HOSTS:
        simulation = simulator.simulate(folder, golden, timeout_s=120)
        assert compare(simulator.name, simulation, golden) == []


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [k for k in KERNELS if "blocks" in k], ids=identifier)
def test_halves_equal_the_reference(kernel, tmp_path):
    graph = halves()
    folder, chosen = emitted_by(named(kernel), graph, tmp_path)
    assert any(c.name.startswith(kernel) for c in chosen)
    golden = golden_of(graph)
    simulation = HOSTS[0].simulate(folder, golden, timeout_s=120)
    assert compare("sanitize", simulation, golden) == []


@pytest.fixture(
    scope="module",
    params=[shapes, halves, tiles, lines, rows, sums, pools],
    ids=lambda builder: builder.__name__,
)
def mixed(request, tmp_path_factory):
    """Folder and golden vectors of a graph in which every layer has another kernel."""
    graph = request.param()
    folder, _ = emitted_by(named("", 1), graph, tmp_path_factory.mktemp("mixed"))
    return folder, golden_of(graph)


@pytest.mark.qemu
@pytest.mark.parametrize("simulator", FIRMWARE, ids=label)
def test_firmware_equals_the_reference(mixed, simulator):
    folder, golden = mixed
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []


@pytest.mark.qemu
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=identifier)
def test_every_kernel_as_firmware(kernel, tmp_path):
    graph = graph_for(kernel)
    folder, _ = emitted_by(named(kernel, 1), graph, tmp_path)
    golden = golden_of(graph)
    simulation = Qemu().simulate(folder, golden, timeout_s=120)
    assert compare("qemu", simulation, golden) == []


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=identifier)
def test_lines_of_every_kernel_are_short(kernel):
    with chosen_by(named(kernel)):
        files = emit_graph(graph_for(kernel)).files
    lines = [line for name in files if name.startswith("src/") for line in files[name].splitlines()]
    assert [line for line in lines if len(line) > 100 or line != line.rstrip()] == []


@pytest.mark.qemu
@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=identifier)
def test_the_estimate_of_every_layer_is_near_the_count(kernel, turn, tmp_path):
    graphs = {
        "planes": depthwise_of_networks, "quads": dense_layers_of_networks, "add": elements,
        "avg": elements,
    }  # fmt: skip
    graph = graphs.get(kernel.split()[0], layers_of_networks)()
    folder, chosen = emitted_by(named(kernel, turn), graph, tmp_path)
    counts = profile(folder, "net", golden_of(graph, 1), timeout_s=120).layers
    wrong = [
        f"{candidate.name}: {candidate.instructions} instead of {count}"
        for candidate, count in zip(chosen, counts, strict=True)
        if candidate.name.startswith(kernel) and abs(candidate.instructions - count) > 0.1 * count
    ]
    assert wrong == []
