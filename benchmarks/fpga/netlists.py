"""Mapped netlists of small networks, simulated and compared with the reference."""

from __future__ import annotations

import math
import tempfile
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.fpga.points import RESULTS
from rlx.driver import driver
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QConv2d, QDense, QMaxPool2d, QMean, QReshape, Window
from rlx.support.errors import DoesNotFitError
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.synthesis.build import FPGA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rlx.ir import Value

STORED = RESULTS / "fpga_netlists.jsonl"
"""Results with which ``python -m benchmarks --check`` compares."""

KEY = ("network", "device", "architecture")
COSTS = ("interval",)
"""Entries of a row that must not grow."""

DEVICES = ("ecp5-25k", "ice40-up5k", "artix7-35t")
ARCHITECTURES = ("dataflow", "engine")
SCALE = Rescale.of(0.004)


class NetworkBuilder:
    """Builds a network of random parameters, which depend only on its name."""

    def __init__(self, name: str, *shape: int) -> None:
        self.graph = Graph(name)
        self.random = np.random.default_rng(list(name.encode()))
        self.value = self.graph.input("x", TensorType((1, *shape), DType.I8))

    def _constant(self, bound: int, dtype: type, *shape: int) -> Value:
        return self.graph.constant(self.random.integers(-bound, bound + 1, shape).astype(dtype))

    def conv(self, channels: int, kernel: tuple[int, int], *, groups: int = 1) -> None:
        """Add a convolution whose result has the size of its input."""
        _, height, width, inputs = self.value.type.static_shape
        op = QConv2d(
            window=Window.same((height, width), kernel), groups=groups, x_zero_point=-3,
            rescale=SCALE, zero_point=5,
        )  # fmt: skip
        weights = self._constant(127, np.int8, channels, *kernel, inputs // groups)
        bias = self._constant(900, np.int32, channels)
        self.value = self.graph.apply(op, self.value, weights, bias)

    def add(self, other: Value) -> None:
        """Add another value of the same shape."""
        half = Rescale.of(0.5)
        op = QAdd(
            x_zero_point=5, y_zero_point=5, x_rescale=half, y_rescale=half,
            rescale=Rescale.of(0.9 * 2.0**-19), zero_point=5,
        )  # fmt: skip
        self.value = self.graph.apply(op, self.value, other)

    def pool(self) -> None:
        """Add a maximum over 2 x 2 pixels."""
        self.value = self.graph.apply(QMaxPool2d(window=Window((2, 2), (2, 2))), self.value)

    def mean(self) -> None:
        """Add the mean over all pixels."""
        op = QMean(axes=(1, 2), x_zero_point=5, rescale=Rescale.of(0.05), zero_point=5)
        self.value = self.graph.apply(op, self.value)

    def dense(self, outputs: int) -> None:
        """Add a dense layer of all that is there."""
        inputs = math.prod(self.value.type.static_shape)
        flat = self.graph.apply(QReshape(shape=(1, inputs)), self.value)
        op = QDense(x_zero_point=-3, rescale=SCALE, zero_point=1)
        weights = self._constant(127, np.int8, outputs, inputs)
        self.value = self.graph.apply(op, flat, weights, self._constant(900, np.int32, outputs))

    def module(self) -> GraphModule:
        """Return the network."""
        self.graph.output(self.value)
        return GraphModule(self.graph, Stage.MIR)


def _conv() -> GraphModule:
    net = NetworkBuilder("conv", 8, 8, 3)
    net.conv(6, (3, 3))
    net.pool()
    net.dense(5)
    return net.module()


def _depthwise() -> GraphModule:
    net = NetworkBuilder("depthwise", 8, 6, 4)
    net.conv(4, (3, 3), groups=4)
    net.conv(8, (1, 1))
    net.mean()
    net.dense(3)
    return net.module()


def _residual() -> GraphModule:
    net = NetworkBuilder("residual", 6, 6, 4)
    net.conv(4, (3, 3))
    first = net.value
    net.conv(4, (3, 3))
    net.add(first)
    net.mean()
    return net.module()


def _sequence() -> GraphModule:
    net = NetworkBuilder("sequence", 1, 24, 3)
    net.conv(6, (1, 5))
    net.conv(6, (1, 3))
    net.mean()
    return net.module()


def _wide() -> GraphModule:
    net = NetworkBuilder("wide", 4, 4, 16)
    net.conv(16, (1, 1))
    net.pool()
    net.dense(10)
    return net.module()


def _deep() -> GraphModule:
    net = NetworkBuilder("deep", 12, 12, 1)
    for channels in (4, 4, 8):
        net.conv(channels, (3, 3))
        net.pool()
    net.dense(4)
    return net.module()


def _dense() -> GraphModule:
    net = NetworkBuilder("dense", 12)
    for outputs in (8, 8, 3):
        net.dense(outputs)
    return net.module()


NETWORKS: dict[str, Callable[[], GraphModule]] = {
    "conv": _conv, "depthwise": _depthwise, "residual": _residual, "sequence": _sequence,
    "wide": _wide, "deep": _deep, "dense": _dense,
}  # fmt: skip


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for one network in each family."""
    for device in DEVICES:
        yield row("dense", device, "dataflow")


def measure_thoroughly() -> Iterator[dict[str, Any]]:
    """Yield a row for each design that fits its device; each takes about half a minute."""
    for network, device, architecture in product(NETWORKS, DEVICES, ARCHITECTURES):
        with suppress(DoesNotFitError):
            yield row(network, device, architecture)


def row(network: str, device: str, architecture: str) -> dict[str, Any]:
    """Return the result of one design.

    Raises:
        SimulationError: The outputs of the netlist differ from those of the reference.
    """
    options = FpgaOptions(device=device, architecture=architecture, dsp=8)
    with tempfile.TemporaryDirectory(prefix="rlx-benchmark-") as work:
        folder = Path(work) / "net"
        driver.emit(NETWORKS[network](), target.load("fpga"), folder, options=options)
        build = FPGA.build(folder, seeds=0, simulate=True)
    run = build.as_json()["netlist"]
    return {
        "network": network, "device": device, "architecture": architecture,
        "cells": run["cells"], "equal": f"{run['equal']} of {run['inputs']}",
        "stalled": f"{run['stalled']['equal']} of {run['stalled']['inputs']}",
        "latency": run["latency"], "interval": run["interval"], "predicted": build.interval,
        "yosys": build.tools["yosys"],
    }  # fmt: skip
