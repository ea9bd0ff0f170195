"""Estimates of instructions beside what is counted under QEMU, layer by layer.

Convolutions are in ``test_forced.py``, layers of whole networks in ``tests/benchmarks``.
"""

import pytest
from targets.cortexm.zoo import Zoo, golden_of, planned, write

from rlx.numerics.fixed_point import Rescale
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConcat,
    QMaxPool2d,
    QMean,
    QMul,
    QPad,
    QSoftmax,
    QTable,
    QTranspose,
    Window,
)
from rlx_cortexm import TARGET, CortexMOptions
from rlx_sim.profile import profile

NEGATE = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))
MUL = QMul(x_zero_point=3, y_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
NONE, ONE = ((0, 0), (0, 0)), ((1, 1), (1, 1))

SHARE, SMALL, FEW = 0.1, 100, 1000
"""Estimates are right within a tenth, those of layers of few instructions within a hundred."""


def pools():
    """Return pools of whole images and of windows, with padding or not."""
    zoo = Zoo("pools")
    windows = (
        (Window((25, 5)), 25, 5), (Window((8, 8)), 8, 8), (Window((3, 3)), 3, 3),
        (Window((3, 3), padding=ONE), 3, 3), (Window((2, 2), (2, 2)), 8, 8),
        (Window((2, 2), (2, 2), padding=ONE), 8, 8), (Window((3, 3), (2, 2)), 9, 9),
        (Window((3, 3), (2, 2), padding=ONE), 9, 9), (Window((4, 2), (2, 2)), 12, 6),
        (Window((4, 2), (2, 2), padding=ONE), 12, 6),
    )  # fmt: skip
    for window, height, width in windows:
        zoo.node(QAveragePool2d(window=window), zoo.input(1, height, width, 22))
        zoo.node(QMaxPool2d(window=window), zoo.input(1, height, width, 22))
    return zoo.graph


def elementwise():
    """Return ops that go element by element."""
    zoo = Zoo("elementwise")
    for length in (64, 700, 4096):
        zoo.node(QClamp(low=-5), zoo.input(length))
        zoo.node(NEGATE, zoo.input(length))
        zoo.binary(QAdd, zoo.input(length), zoo.input(length))
        zoo.binary(QAdd, zoo.input(4, length), zoo.input(length))
        zoo.node(MUL, zoo.input(length), zoo.input(length))
    return zoo.graph


def dense():
    """Return dense layers, small and large."""
    zoo = Zoo("dense")
    shapes = ((22, 2), (64, 12), (64, 10), (256, 10), (128, 8), (8, 128), (40, 17), (640, 128))
    for inputs, outputs in shapes:
        zoo.dense((1, inputs), outputs)
    return zoo.graph


def reductions_and_moves():
    """Return means, positions, softmax, and ops that move codes."""
    zoo = Zoo("reductions")
    for shape, axes in (((1, 5, 5, 22), (1, 2)), ((1, 12, 30), (1,)), ((8, 16), (1,))):
        op = QMean(axes=axes, x_zero_point=3, rescale=Rescale.of(0.04), zero_point=0)
        zoo.node(op, zoo.input(*shape))
    for shape, axis in (((1, 10), 1), ((1, 200), 1), ((8, 16, 5), 1)):
        zoo.node(QArgmax(axis=axis), zoo.input(*shape))
    for classes in (2, 10, 12):
        op = QSoftmax(multiplier=2**30, left_shift=20, diff_min=-100)
        zoo.node(op, zoo.input(1, classes))
    zoo.node(QTranspose(axes=(0, 2, 1)), zoo.input(4, 16, 20))
    zoo.node(QConcat(axis=1), zoo.input(8, 64), zoo.input(8, 16))
    zoo.node(QPad(before=(0, 1, 1, 0), after=(0, 1, 1, 0), value=3), zoo.input(1, 8, 8, 16))
    return zoo.graph


@pytest.mark.qemu
@pytest.mark.parametrize(
    "layers", [pools, elementwise, dense, reductions_and_moves], ids=lambda f: f.__name__
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
