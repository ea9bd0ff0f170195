"""Estimates of instructions beside what is counted under QEMU, layer by layer.

Convolutions are in ``test_forced.py``, layers of whole networks in ``tests/benchmarks``.
"""

import pytest
from targets.cortexm.graph_builder import GraphBuilder, golden_of, planned, write

from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConcat,
    QDiv,
    QL2Norm,
    QMatmul,
    QMaxPool2d,
    QMean,
    QMul,
    QPad,
    QResizeBilinear,
    QResizeNearest,
    QSoftmax,
    QTable,
    QTranspose,
    Window,
)
from rlx_cortexm import TARGET, CortexMOptions
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.profile import layer_instructions, profile
from rlx_sim.firmware.unicorn_runner import Unicorn

NEGATE = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))
DIV = QDiv(x_zero_point=3, y_zero_point=0, rescale=Rescale.of(20.0), zero_point=0)
MUL = QMul(x_zero_point=3, y_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
NONE, ONE = ((0, 0), (0, 0)), ((1, 1), (1, 1))

SHARE, SMALL, FEW = 0.1, 100, 1000
"""Estimates are right within a tenth, those of layers of few instructions within a hundred."""


def pools():
    """Return pools of whole images and of windows, with padding or not."""
    builder = GraphBuilder("pools")
    windows = (
        (Window((25, 5)), 25, 5), (Window((8, 8)), 8, 8), (Window((3, 3)), 3, 3),
        (Window((3, 3), padding=ONE), 3, 3), (Window((2, 2), (2, 2)), 8, 8),
        (Window((2, 2), (2, 2), padding=ONE), 8, 8), (Window((3, 3), (2, 2)), 9, 9),
        (Window((3, 3), (2, 2), padding=ONE), 9, 9), (Window((4, 2), (2, 2)), 12, 6),
        (Window((4, 2), (2, 2), padding=ONE), 12, 6), (Window((1, 2), (1, 2)), 1, 64),
        (Window((2, 1), (2, 1)), 64, 1), (Window((1, 1), (2, 2)), 8, 8),
        (Window((1, 8), (1, 8)), 1, 64),
    )  # fmt: skip
    for window, height, width in windows:
        builder.node(QAveragePool2d(window=window), builder.input(1, height, width, 22))
        builder.node(QMaxPool2d(window=window), builder.input(1, height, width, 22))
    return builder.graph


def elementwise():
    """Return ops that go element by element."""
    builder = GraphBuilder("elementwise")
    for length in (64, 700, 4096):
        builder.node(QClamp(low=-5), builder.input(length))
        builder.node(NEGATE, builder.input(length))
        builder.binary(QAdd, builder.input(length), builder.input(length))
        builder.binary(QAdd, builder.input(4, length), builder.input(length))
        builder.node(MUL, builder.input(length), builder.input(length))
        builder.node(DIV, builder.input(length), builder.input(length))
    return builder.graph


def dense():
    """Return dense layers, small and large."""
    builder = GraphBuilder("dense")
    shapes = ((22, 2), (64, 12), (64, 10), (256, 10), (128, 8), (8, 128), (40, 17), (640, 128))
    for inputs, outputs in shapes:
        builder.dense((1, inputs), outputs)
    return builder.graph


def products():
    """Return products of computed matrices."""
    builder = GraphBuilder("products")
    op = QMatmul(x_zero_point=3, y_zero_point=-2, rescale=Rescale.of(0.001), zero_point=5)
    shapes = (
        ((1, 16, 32), (1, 32, 16)), ((4, 12, 8), (4, 8, 12)), ((2, 2, 7, 20), (2, 2, 20, 64)),
        ((1, 1, 64), (1, 64, 10)), ((5, 3), (3, 40)),
    )  # fmt: skip
    for x, y in shapes:
        builder.node(op, builder.input(*x), builder.input(*y))
    return builder.graph


def reductions_and_moves():
    """Return means, positions, softmax, and ops that move values."""
    builder = GraphBuilder("reductions")
    for shape, axes in (((1, 5, 5, 22), (1, 2)), ((1, 12, 30), (1,)), ((8, 16), (1,))):
        op = QMean(axes=axes, x_zero_point=3, rescale=Rescale.of(0.04), zero_point=0)
        builder.node(op, builder.input(*shape))
    for shape, axis in (((1, 10), 1), ((1, 200), 1), ((8, 16, 5), 1)):
        builder.node(QArgmax(axis=axis), builder.input(*shape))
    for classes in (2, 10, 12):
        op = QSoftmax(multiplier=2**30, left_shift=20, diff_min=-100)
        builder.node(op, builder.input(1, classes))
    for shape in ((1, 128), (4, 10), (1, 512)):
        builder.node(QL2Norm(x_zero_point=3), builder.input(*shape))
    builder.node(QTranspose(axes=(0, 2, 1)), builder.input(4, 16, 20))
    builder.node(QConcat(axis=1), builder.input(8, 64), builder.input(8, 16))
    builder.node(QPad(before=(0, 1, 1, 0), after=(0, 1, 1, 0), value=3), builder.input(1, 8, 8, 16))
    return builder.graph


def resized():
    """Return images of another size, of few channels and many."""
    builder = GraphBuilder("resized")
    corners, centers = {"align_corners": True}, {"half_pixel_centers": True}
    for shape, size, flags in (
        ((1, 8, 8, 22), (16, 16), {}), ((1, 8, 8, 1), (16, 16), {}),
        ((1, 8, 8, 3), (24, 24), {}), ((1, 8, 8, 64), (16, 16), centers),
        ((1, 16, 16, 8), (13, 11), corners), ((1, 8, 8, 8), (16, 8), {}),
        ((1, 1, 1, 32), (12, 12), {}), ((1, 28, 43, 4), (92, 19), {}),
        ((1, 20, 20, 40), (40, 40), {}),
    ):  # fmt: skip
        builder.node(QResizeNearest(size=size, **flags), builder.input(*shape))
    for shape, size, flags in (
        ((1, 8, 8, 22), (16, 16), centers), ((1, 8, 8, 1), (16, 16), {}),
        ((1, 8, 8, 3), (24, 24), {}), ((1, 8, 8, 64), (16, 16), corners),
        ((1, 16, 16, 16), (8, 8), centers), ((1, 9, 9, 4), (17, 17), corners),
        ((1, 1, 1, 32), (12, 12), centers), ((1, 12, 12, 2), (24, 24), centers),
    ):  # fmt: skip
        builder.node(QResizeBilinear(size=size, **flags), builder.input(*shape))
    return builder.graph


@pytest.mark.qemu
@pytest.mark.parametrize(
    "layers",
    [pools, elementwise, dense, products, reductions_and_moves, resized],
    ids=lambda f: f.__name__,
)
def test_every_estimate_is_near_the_count(layers, tmp_path):
    graph = layers()
    emission = TARGET.emit(planned(graph), CortexMOptions(prefix="net"))
    folder = write(tmp_path, emission)
    counts = profile(folder, "net", golden_of(graph, 1), timeout_s=120).layers
    wrong = [
        f"{row['op']} {row['result']} ({row['kernel']}): {row['instructions']} instead of {count}"
        for row, count in zip(emission.report["layers"], counts, strict=True)
        if abs(row["instructions"] - count) > (SMALL if count < FEW else SHARE * count)
    ]
    assert wrong == []


@pytest.mark.qemu
@pytest.mark.parametrize("layers", [pools, elementwise, dense, products], ids=lambda f: f.__name__)
def test_estimates_for_a_small_core_are_within_a_factor_of_two(layers, tmp_path):
    graph, options = layers(), {"cpu": "cortex-m0"}
    emission = TARGET.emit(planned(graph, **options), CortexMOptions(prefix="net", **options))
    simulator = Unicorn(FirmwareBuild("cortex-m0"))
    counts = layer_instructions(
        write(tmp_path, emission), "net", golden_of(graph, 1), simulator=simulator, timeout_s=120
    )
    rows = [row["instructions"] for row in emission.report["layers"]]
    wrong = [
        f"{row['op']} {row['result']} ({row['kernel']}): {row['instructions']} instead of {count}"
        for row, count in zip(emission.report["layers"], counts, strict=True)
        if count > FEW and not 0.5 < row["instructions"] / count < 2
    ]
    assert wrong == []
    assert sum(rows) == pytest.approx(sum(counts), rel=0.25)
