"""Plans of interpretation: every node a function call, every value a place, freed when dead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import Constant, Input, Param

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph, Node, Value
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True)
class Step:
    """One node made ready.

    Attributes:
        node: The node.
        compute: Its function, from operands to results.
        reads: Places of the operands.
        writes: Places of the results.
        frees: Places that nobody reads after this step.
    """

    node: Node
    compute: Evaluator
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    frees: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, and where values are.

    Attributes:
        steps: What is computed at each run.
        places: Number of places.
        known: Values that are there before the first step, by place.
        inputs: Place of each graph input by name.
        outputs: Place of each output.
    """

    steps: tuple[Step, ...]
    places: int
    known: Mapping[int, Array]
    inputs: Mapping[str, int]
    outputs: tuple[int, ...]


def make_plan(graph: Graph, params: Mapping[str, Array]) -> Plan:
    """Return a plan for ``graph``.

    What depends on constants and parameters only is computed now, once; what reads them can make
    them ready for its purpose (``Op.prepare``).

    Args:
        graph: The graph.
        params: A value for every parameter by name.
    """
    known: dict[Value, Array] = {}
    running: list[tuple[Node, Evaluator]] = []
    for node in graph.nodes:
        constants = [known.get(o) for o in node.operands]
        if isinstance(node.op, Input):
            continue
        if isinstance(node.op, Param):
            known[node.result] = params[node.name]
        elif isinstance(node.op, Constant):
            known[node.result] = node.op.value
        elif all(c is not None for c in constants):
            results = node.op.evaluate(*(c for c in constants if c is not None))
            for array in results:
                array.setflags(write=False)
            known.update(zip(node.results, results, strict=True))
        else:
            running.append((node, node.op.prepare(constants)))
    return _assign_places(graph, known, running)


def _assign_places(
    graph: Graph, known: Mapping[Value, Array], running: list[tuple[Node, Evaluator]]
) -> Plan:
    """Return the plan of ``running`` nodes, with a place for every value."""
    place = {v: i for i, v in enumerate(v for n in graph.nodes for v in n.results)}
    last_read = {o: node for node, _ in running for o in node.operands}
    kept = {*graph.outputs, *known}
    steps = []
    for node, compute in running:
        made = [v for v in node.results if v not in last_read]
        done = [v for v in dict.fromkeys(node.operands) if last_read[v] is node]
        frees = tuple(place[v] for v in (*done, *made) if v not in kept)
        reads = tuple(place[o] for o in node.operands)
        steps.append(Step(node, compute, reads, tuple(place[v] for v in node.results), frees))
    read = {i for s in steps for i in s.reads} | {place[o] for o in graph.outputs}
    return Plan(
        tuple(steps),
        len(place),
        {place[v]: array for v, array in known.items() if place[v] in read},
        {v.name: place[v] for v in graph.inputs},
        tuple(place[o] for o in graph.outputs),
    )
