"""Execution plans: nodes are function calls, values have slots that are freed after use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import Constant, Input, Param

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph, Node, Value
    from rlx.ir.op import Evaluator


@dataclass(frozen=True, slots=True)
class ExecutionStep:
    """One node, ready to run.

    Attributes:
        node: The node.
        compute: Its function, from operands to results.
        reads: Slots of the operands.
        writes: Slots of the results.
        frees: Slots that are not read after this step.
    """

    node: Node
    compute: Evaluator
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    frees: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """Steps in order, and the slots of values.

    Attributes:
        steps: Steps of each run.
        slots: Number of slots.
        known: Values known before the first step, by slot.
        inputs: Slot of each graph input by name.
        outputs: Slot of each output.
    """

    steps: tuple[ExecutionStep, ...]
    slots: int
    known: Mapping[int, Array]
    inputs: Mapping[str, int]
    outputs: tuple[int, ...]


def make_plan(graph: Graph, params: Mapping[str, Array]) -> ExecutionPlan:
    """Return a plan for ``graph``.

    Values that depend only on constants and parameters are computed once, now; ops that read them
    can preprocess them (``Op.prepare``).

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
    return _assign_slots(graph, known, running)


def _assign_slots(
    graph: Graph, known: Mapping[Value, Array], running: list[tuple[Node, Evaluator]]
) -> ExecutionPlan:
    """Return the plan of ``running`` nodes, with a slot for every value."""
    slot = {v: i for i, v in enumerate(v for n in graph.nodes for v in n.results)}
    last_read = {o: node for node, _ in running for o in node.operands}
    kept = {*graph.outputs, *known}
    steps = []
    for node, compute in running:
        made = [v for v in node.results if v not in last_read]
        done = [v for v in dict.fromkeys(node.operands) if last_read[v] is node]
        frees = tuple(slot[v] for v in (*done, *made) if v not in kept)
        reads = tuple(slot[o] for o in node.operands)
        steps.append(
            ExecutionStep(node, compute, reads, tuple(slot[v] for v in node.results), frees)
        )
    read = {i for s in steps for i in s.reads} | {slot[o] for o in graph.outputs}
    return ExecutionPlan(
        tuple(steps),
        len(slot),
        {slot[v]: array for v, array in known.items() if slot[v] in read},
        {v.name: slot[v] for v in graph.inputs},
        tuple(slot[o] for o in graph.outputs),
    )
