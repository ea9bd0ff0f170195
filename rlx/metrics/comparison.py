"""Compare anything with outputs on the same data: ``rlx.compare``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.ir import Graph
from rlx.metrics.compare import compare_sides
from rlx.metrics.comparison_result import Comparison
from rlx.metrics.criteria import EXACT, HALF, PRESETS, STRICT, Criteria
from rlx.metrics.inference import Result
from rlx.metrics.inference.data import samples_of
from rlx.metrics.node_match import equalized_layers, matched_nodes
from rlx.metrics.sides import ArraySide, CompiledSide, GraphSide, ports_of
from rlx.runtime import CompiledGraph
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    import numpy.typing as npt

    from rlx.ir import Value
    from rlx.metrics.inference import Inputs
    from rlx.metrics.node_match import LayerMatch
    from rlx.metrics.sides import Side
    from rlx.samples.batches import Samples

    Labels = npt.NDArray[Any] | str | PathLike[str]
    Progress = Callable[[str, int, int], None]

__all__ = ["EXACT", "HALF", "PRESETS", "STRICT", "Comparison", "Criteria", "compare"]

Comparable: TypeAlias = "Graph | CompiledGraph | Result | Mapping[str, npt.ArrayLike]"
"""Things to compare: graphs, compiled ones, or outputs ``[samples, *shape]`` by name."""


def compare(
    a: Comparable,
    b: Comparable,
    data: Inputs | None = None,
    *,
    labels: Labels | None = None,
    criteria: Criteria | str | None = None,
    nodes: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Return the comparison of two networks on the same data.

    A graph is run by the reference, with its nodes; a compiled graph without a change, and only its
    outputs are compared.

    Args:
        a: The reference.
        b: Network or outputs that are compared with it.
        data: As for :func:`rlx.run`; None if nothing is run.
        labels: A class for each sample, if they are not in ``data``.
        criteria: Criteria that the outputs must keep, or the name of a preset.
        nodes: Whether to compare the nodes of two graphs too.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit, or outputs cannot be compared.
    """
    samples = tuple(_samples(one, data, labels) for one in (a, b))
    matched, equalized = _matched(a, b) if nodes else ([], ())
    first = _side(a, b, samples[0], [layer.values[0] for layer in matched])
    second = _side(b, a, samples[1], [layer.values[1] for layer in matched])
    stated = next((s.labels for s in samples if s is not None), None)
    partial = any(_is_arrays(one) for one in (a, b))
    comparison = compare_sides(
        first, second, matched, labels=stated, partial=partial, progress=progress
    )
    comparison = replace(comparison, equalized=equalized)
    return comparison if criteria is None else comparison.judged(criteria)


def _is_arrays(network: Comparable) -> bool:
    return isinstance(network, Result | Mapping)


def _graph(network: Comparable) -> Graph | None:
    """Return the graph that something computes, if that is known."""
    if isinstance(network, CompiledGraph):
        return network.graph
    return network if isinstance(network, Graph) else None


def _samples(network: Comparable, data: Inputs | None, labels: Labels | None) -> Samples | None:
    """Return the samples on which something is run; None for a side that is not run."""
    graph = _graph(network)
    if graph is None:
        return None
    if data is None:
        raise UsageError(
            "expected data to run the network on, got none",
            where="compare",
            hint="give samples: rlx.compare(a, b, data)",
        )
    return samples_of(graph, data, labels=labels)


def _matched(a: Comparable, b: Comparable) -> tuple[list[LayerMatch], tuple[str, ...]]:
    """Return the nodes that belong together and the equalized layers, if both are graphs."""
    if isinstance(a, Graph) and isinstance(b, Graph):
        return matched_nodes(a, b), equalized_layers(a, b)
    return [], ()


def _side(
    network: Comparable, other: Comparable, samples: Samples | None, watched: list[Value]
) -> Side:
    """Return one side of a comparison."""
    if isinstance(network, Result):
        network = {name: output.array for name, output in network.outputs.items()}
    if isinstance(network, Mapping):
        graph = _graph(other)
        return ArraySide(network, None if graph is None else ports_of(graph))
    assert samples is not None  # made for everything that is run
    if isinstance(network, CompiledGraph):
        return CompiledSide(network, samples)
    return GraphSide(network, samples, watched)
