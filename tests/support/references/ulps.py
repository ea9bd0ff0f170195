"""Maximum distance of a fused graph from the graph it was made of.

Fusion that folds or joins weights sums in another order. What a sum may then be off is measured in
units in the last place of the *largest number that was summed* on the way to an output: where
large numbers cancel, the result is small, but its error is that of the large ones. Everything else
is the same to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType
from rlx.ir.evaluate import evaluate, evaluate_all
from rlx.ops.real import RealConv, RealMatmul

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph, Node, Value
    from rlx.passes.fusion import FusionReport

ULPS = 4


def largest_summed(graph: Graph, values: Mapping[Value, Array]) -> dict[Value, float]:
    """Return for each value the largest number among those from which it comes.

    For a product these are the sums of the magnitudes of what it adds. Numbers that are not finite
    do not count.
    """
    found: dict[Value, float] = {}
    for node in graph.nodes:
        largest = max((found[o] for o in node.operands), default=0.0)
        for result in node.results:
            found[result] = max(largest, _magnitude(node, result, values))
    return found


def _magnitude(node: Node, result: Value, values: Mapping[Value, Array]) -> float:
    if not result.type.dtype.is_float:
        return 0.0
    array = values[result]
    if isinstance(node.op, RealMatmul | RealConv):
        (array,) = node.op.evaluate(*(np.abs(values[o]) for o in node.operands))
    size = np.abs(np.asarray(array, np.float64))
    return float(np.max(size[np.isfinite(size)], initial=0.0))


def check_fused(
    graph: Graph,
    fused: Graph,
    report: FusionReport,
    inputs: Mapping[str, Array],
    params: Mapping[str, Array] | None = None,
) -> float:
    """Fail unless ``fused`` gives what ``graph`` gives; return the largest error in such units.

    Integers and booleans are always the same, and so is everything if the report says so.
    """
    found = evaluate(fused, inputs, params)
    return check_results(graph, found, inputs, params, exact=report.exact)


def check_results(
    graph: Graph,
    found: Sequence[Array],
    inputs: Mapping[str, Array],
    params: Mapping[str, Array] | None = None,
    *,
    exact: bool = False,
) -> float:
    """Fail unless ``found`` are the outputs of ``graph``; return the largest error as above."""
    values = evaluate_all(graph, inputs, params)
    largest = largest_summed(graph, values)
    worst = 0.0
    for output, result in zip(graph.outputs, found, strict=True):
        expected = values[output]
        assert result.dtype == expected.dtype
        assert result.shape == expected.shape
        if exact or not DType.of(expected).is_float:
            assert result.tobytes() == expected.tobytes() or _equal(result, expected)
            continue
        wide, right = result.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(right)
        assert np.array_equal(wide[~finite], right[~finite], equal_nan=True)
        unit = _unit(graph, output, largest[output])
        error = float(np.max(np.abs(wide - right)[finite], initial=0.0) / unit)
        assert error <= ULPS, f"{error} units in the last place of {largest[output]}"
        worst = max(worst, error)
    return worst


def _unit(graph: Graph, output: Value, magnitude: float) -> float:
    """Return a unit in the last place: of the output's type, of f32 if f64 holds what f32 did."""
    depends = {output.node}
    for node in reversed(graph.nodes):
        if node in depends:
            depends.update(o.node for o in node.operands)
    single = any(t.dtype is DType.F32 for n in depends for t in n.types)
    dtype = output.type.dtype
    if single and dtype is DType.F64:
        dtype = DType.F32
    return float(np.spacing(np.asarray(magnitude, dtype.numpy)))


def _equal(x: Array, y: Array) -> bool:
    """Whether arrays hold the same numbers; NaNs may have other bits."""
    return np.array_equal(x.astype(np.float64), y.astype(np.float64), equal_nan=True)
