"""Networks that hold their own scales: converted without samples, and measured all the same.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.calibration.report import QuantizationReport, weight_figures
from rlx.calibration.useful import check_useful
from rlx.ir import DType
from rlx.ir.module import GraphModule
from rlx.metrics.compare import compare_on
from rlx.ops.real import RealQuantize
from rlx.ops.real.cast import integer_range
from rlx.passes.quantize.params import moves
from rlx.passes.quantize.readiness import converted
from rlx.passes.quantize.single import in_float32
from rlx.samples.batches import read_samples

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rlx.calibration.settings import Settings
    from rlx.ir import Graph, Value
    from rlx.samples.batches import Data

    Progress = Callable[[str, int, int], None]

RANDOM_SAMPLES: Final = 16
"""Number of random samples for measurements without data of the user."""

_DEVIATIONS_PER_RANGE: Final = 4.0
"""Standard deviations of random numbers that the range of an input's scale is wide."""


@dataclass(frozen=True, slots=True)
class OwnScales:
    """An integer network that was made with its own scales.

    Attributes:
        module: The network.
        report: Report of its losses; None where inputs are such that no random samples suit them.
        bounded: Places of layers whose range only their weights say, which is wide.
    """

    module: GraphModule
    report: QuantizationReport | None
    bounded: tuple[str, ...]


def convert_graph(
    graph: Graph, test: Data | None, settings: Settings, progress: Progress | None = None
) -> OwnScales:
    """Return the integer network of a graph that holds its own scales.

    Args:
        graph: The graph.
        test: Samples to measure it on; None for random ones over the range of the input's scale.
        settings: Have the limits for its loss.
        progress: Called with a text, samples done and all samples.

    Raises:
        DoesNotFitError: Its outputs have little to do with those of the graph.
        QuantizationError: A value has no scale.
        UnsupportedOpError: Something has no integer form.
    """
    graph = in_float32(graph)
    conversion = converted(graph)
    module = GraphModule.mir(conversion.graph)
    data = random_data(graph) if test is None else test
    if data is None:
        return OwnScales(module, None, conversion.bounded)
    samples = read_samples(graph, data, what="random data" if test is None else "test data")
    comparison = compare_on(graph, conversion.graph, (samples, samples), progress=progress)
    report = QuantizationReport(
        graph=graph.name,
        calibration_samples=0,
        tested=test is not None,
        observer="none",
        equalized=False,
        **weight_figures(conversion.graph),
        comparison=comparison,
        layers=(),
        random=test is None,
    )
    check_useful(comparison, graph.name, settings)
    return OwnScales(module, report, conversion.bounded)


def random_data(graph: Graph) -> dict[str, npt.NDArray[Any]] | None:
    """Return random samples by the name of the input; None if an input has indices or the like.

    Values are normal about the middle of the range of the input's scale, from a fixed seed.
    """
    random, users, samples = np.random.default_rng(0), graph.users(), {}
    for value in graph.inputs:
        ends = _ends(value, users)
        if ends is None or not value.type.is_static:
            return None
        low, high = ends
        shape = RANDOM_SAMPLES, *value.type.static_shape
        numbers = random.normal((low + high) / 2, (high - low) / _DEVIATIONS_PER_RANGE, shape)
        numbers = np.clip(numbers, low, high)
        whole = not value.type.dtype.is_float
        samples[value.name] = (np.rint(numbers) if whole else numbers).astype(
            value.type.dtype.numpy
        )
    return samples


def _ends(value: Value, users: dict[Value, list[Any]]) -> tuple[float, float] | None:
    """Return the range of an input's values, as its quantize node or its element type says."""
    if not value.type.dtype.is_float:
        small = value.type.dtype in (DType.I8, DType.U8)
        low, high = integer_range(value.type.dtype) if small else (0, 0)
        return (float(low), float(high)) if small else None
    waiting = [value]
    while waiting:
        for node in users[waiting.pop()]:
            op = node.op
            if isinstance(op, RealQuantize) and len(op.quant.scale) == 1:
                low, high = integer_range(op.dtype)
                (scale,), (zero,) = op.quant.scale, op.quant.zero_point
                return scale * (low - zero), scale * (high - zero)
            if moves(node):
                waiting += node.results
    return -2.0, 2.0
