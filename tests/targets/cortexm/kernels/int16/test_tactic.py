"""Layers on int16: the type of their sums, networks in C, and targets that refuse them."""

from __future__ import annotations

import pytest
from targets.cortexm.graph_builder import golden_of, write
from targets.cortexm.int16_graphs import ENDS, POINTS, Int16GraphBuilder

from rlx.driver.driver import compile
from rlx.driver.exporters.tflite import to_tflite
from rlx.frontends.tflite import frontend as tflite
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAveragePool2d, QDense, QMean, Window
from rlx.support.errors import UnsupportedOpError
from rlx.targets import target
from rlx_cortexm.kernels.rules import candidates
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import compare
from support.messages import raises
from support.networks.int16_layers import network


@pytest.mark.parametrize(
    ("inner", "bias", "rescale", "expected"),
    [
        (3, 5000, Rescale.wide(0.003), ("int32_t", False)),
        (3, 2**40, Rescale.wide(2.0**-26), ("int64_t", True)),
        (511, 2**40, Rescale.wide(2.0**-26), ("int64_t", True)),
        (512, 2**40, Rescale.wide(2.0**-26), ("int64_t", False)),
        (3, 5000, Rescale.of(0.003), ("uint32_t", False)),
    ],
)
def test_sums_are_as_wide_as_their_bound(
    inner: int, bias: int, rescale: Rescale, expected: tuple[str, bool]
) -> None:
    builder = Int16GraphBuilder()
    x = builder.wide(1, inner)
    y = builder.weighted(QDense, x, (2, inner), bias, rescale=rescale)
    (way,) = candidates(y.node)
    kernel = way.lower().kernel
    assert kernel is not None
    assert (kernel.context["sum"], kernel.context["part"]) == expected


def test_averages_and_means_whose_sum_could_leave_int32_are_refused() -> None:
    builder = Int16GraphBuilder()
    for height in (255, 256):
        x = builder.wide(1, height, 256, 1)
        pool = builder.node(QAveragePool2d(window=Window((height, 256)), **ENDS), x)
        op = QMean(axes=(1, 2), rescale=Rescale.of(0.5), **POINTS, **ENDS)
        for value in (pool, builder.node(op, x)):
            if height < 256:
                assert len(candidates(value.node)) == 1
                continue
            with raises(UnsupportedOpError):
                candidates(value.node)


@pytest.mark.parametrize("seed", range(2))
def test_networks_in_c_equal_the_reference(tmp_path, seed: int) -> None:
    module = tflite.load(network(seed, 6))
    folder = write(tmp_path, compile(module, target.load("cortexm")).emission)
    golden = golden_of(module.graph)
    simulator = HostC("gcc", "-O1", sanitize=True)
    assert compare("gcc", simulator.simulate(folder, golden, timeout_s=60), golden) == []


def test_fpga_cores_refuse_int16() -> None:
    with raises(UnsupportedOpError):
        compile(tflite.load(network(size=4)), target.load("fpga"))


def test_export_refuses_int16() -> None:
    with raises(UnsupportedOpError):
        to_tflite(tflite.load(network(size=4)).graph)
