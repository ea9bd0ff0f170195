"""Forward-mode derivatives: a graph that also computes how its outputs change with inputs.

Tests: tests/unit/passes/transforms/test_derivatives.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir.module import graph_of, with_graph
from rlx.passes.transforms import jvp_rules as _rules  # noqa: F401 - fills the table
from rlx.passes.transforms.formulas import or_zeros
from rlx.passes.transforms.linearize import (
    Linearized,
    float_outputs,
    free_names,
    prepared,
    sources_of,
)
from rlx.passes.transforms.simplify import simplified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir.module import Given


def jvp(model: Given, wrt: Sequence[str] | str | None = None) -> Given:
    """Return a graph of the outputs and of their change with the inputs (forward mode).

    The result has an input ``d_NAME`` for each input or parameter of ``wrt`` and, after the
    outputs, an output ``d_NAME`` for each floating-point output: the sum of its derivatives times
    the given changes. A name that is taken gets a further ``d_``.

    Args:
        model: The graph.
        wrt: Names of inputs and parameters; None for every floating-point input.

    Raises:
        UsageError: A name is unknown or its value not floating-point.
        UnsupportedOpError: Ops have no derivative.

    Example:
        >>> graph = rlx.trace("net", lambda x: {"y": (x * x).sum()}, rlx.f32(3)).graph
        >>> rlx.jvp(graph).output_names
        ('y', 'd_y')
    """
    graph = prepared(graph_of(model))
    sources, outputs = sources_of(graph, wrt), float_outputs(graph)
    linearized = Linearized(graph, sources, list(outputs.values()))
    new = linearized.graph
    tangents = [or_zeros(linearized.tangent(v), new, v.type) for v in outputs.values()]
    new.output(*(linearized[v] for v in graph.outputs), names=graph.output_names)
    new.output(*(t.value for t in tangents), names=free_names(outputs, graph.output_names))
    return with_graph(model, simplified(new))
