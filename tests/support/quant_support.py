"""Calibration for tests of the conversion: extremes over some random samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Input, rebuild
from rlx.ir.evaluate import evaluate_all
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.dead_code import DeadCode
from rlx.passes.quantize import Converted, WeightScheme, convert
from rlx.passes.quantize.known import known
from rlx.passes.quantize.scheme import params_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph, Node, QuantParams, Value

    Sample = Mapping[str, Array]

EIGHT_BITS = WeightScheme(8)


def random_samples(graph: Graph, count: int = 4, seed: int = 0) -> list[dict[str, Array]]:
    """Return random normal numbers for every float input."""
    generator = np.random.default_rng(seed)
    return [
        {v.name: generator.standard_normal(v.type.static_shape).astype(np.float32)
         for v in graph.inputs}
        for _ in range(count)
    ]  # fmt: skip


def calibrated(graph: Graph, samples: Sequence[Sample]) -> dict[Value, QuantParams]:
    """Return parameters over the extremes of every float value of ``graph``."""
    ends: dict[Value, tuple[float, float]] = {}
    for sample in samples:
        for value, array in evaluate_all(graph, sample).items():
            if value.type.dtype is DType.F32 and known(value) is None and array.size:
                low, high = ends.get(value, (0.0, 0.0))
                ends[value] = min(low, float(array.min())), max(high, float(array.max()))
    return {v: params_of(*e) for v, e in ends.items() if np.isfinite(e).all()}


def convert_with(
    graph: Graph,
    samples: Sequence[Sample] = (),
    weights: Mapping[str, WeightScheme] | WeightScheme = EIGHT_BITS,
) -> tuple[Converted, Sequence[Sample]]:
    """Return the integer graph, calibrated on the samples that come with it."""
    samples = samples or random_samples(graph)
    return convert(graph, calibrated(graph, samples), weights), samples


def without_boundaries(graph: Graph) -> Graph:
    """Return an integer graph whose inputs and outputs are int8, as targets compute it."""

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> list[Value] | None:
        if isinstance(node.op, Input):
            (reader,) = graph.users()[node.result]
            return [new.input(node.name, reader.types[0])]
        return [*operands] if isinstance(node.op, RealQuantize | RealDequantize) else None

    return DeadCode().apply(rebuild(graph, visit))
