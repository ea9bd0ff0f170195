"""Random quantized ONNX networks: integer form against ONNX Runtime and QONNX, C against it.

A third each has ``QuantizeLinear`` and ``DequantizeLinear``, operators of ONNX Runtime on
integers, and ``Quant`` of QONNX. Scales are powers of two, so that sums meet rounding halves, but
for every second network of operators on integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from campaign.equality import c_options
from campaign.part import Outcome, Part
from campaign.runs import emission_equals
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.passes.quantize import convert
from rlx_sim.firmware.host_c import HostC
from support.files.onnx_builder import by_runtime, load
from support.files.quantized_files import QdqFile, QonnxFile, qonnx_result
from support.networks.quantized_operators import Network
from support.quant_support import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable

_SAMPLES = 4
"""Inputs of each network that are compared with another program."""


@dataclass(frozen=True)
class _Case:
    """A file, its inputs, and the program whose results are right."""

    data: bytes
    samples: list[Any]
    expected: Callable[[bytes, Any], Any]


def _runtime(data: bytes, x: Any) -> Any:
    return by_runtime(data, x)[0]


def _case(number: int) -> _Case:
    """Return the file of a number: each of the three kinds comes in turn."""
    kind, seed = number % 3, number // 3
    if kind == 0:
        file = QdqFile(seed, channels=1 + seed % 4)
        return _Case(file.network(), file.samples(_SAMPLES), _runtime)
    if kind == 1:
        qonnx = QonnxFile(seed, channels=1 + seed % 4)
        return _Case(qonnx.network(), qonnx.samples(_SAMPLES), qonnx_result)
    powers = seed % 2 == 0
    network = Network(seed, powers=powers, float_halves=powers)
    x = np.random.default_rng(seed).standard_normal((_SAMPLES, 1, 3, 8, 8)).astype(np.float32)
    return _Case(network.data(), list(x), _runtime)


def _run(number: int) -> Outcome:
    """Compare the integer form with its source, and its C under sanitizers with the reference."""
    case = _case(number)
    graph = convert(load(case.data), {}).graph
    for index, x in enumerate(case.samples):
        if not np.array_equal(evaluate(graph, {"x": x})[0], case.expected(case.data, x)):
            return Outcome("differs", f"sample {index}: integer form and {case.expected.__name__}")
    module = GraphModule(without_boundaries(graph), Stage.MIR)
    simulator = HostC(optimization="-O1", sanitize=True, offset=number % 4)
    return emission_equals(
        module, "cortexm", c_options(number), simulator, count=_SAMPLES, seed=number
    )


ONNX = Part(
    name="onnx",
    title="random ONNX and QONNX networks: integer form, and its C under sanitizers",
    goal="400 equal, 0 reports",
    run=_run,
    cases=400,
    short=6,
)
