"""Graphs as functions: each node prepared once, its results in slots.

Nothing is planned and nothing is shared between calls, so several threads may call one program.

Tests: tests/unit/ir/test_evaluate.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlx.ir.graph import Constant, Input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.op import Evaluator
    from rlx.ir.types import Array


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One node, ready to run: its function, and slots that it reads, writes and frees."""

    compute: Evaluator
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    frees: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GraphProgram:
    """A graph whose nodes were prepared; several threads may call it.

    Attributes:
        steps: Computations of each call, in order.
        known: For each slot its value if that is the same in each call, else None.
        inputs: Slot of each input.
        outputs: Slot of each output.
    """

    steps: tuple[ProgramStep, ...]
    known: tuple[Array | None, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def __call__(self, *operands: Array) -> tuple[Array, ...]:
        """Return the outputs for these inputs."""
        values: list[Any] = list(self.known)
        for slot, array in zip(self.inputs, operands, strict=True):
            values[slot] = array
        for step in self.steps:
            # Operands are computed before their users.
            results = step.compute(*[values[slot] for slot in step.reads])
            for slot, array in zip(step.writes, results, strict=True):
                values[slot] = array
            for slot in step.frees:
                values[slot] = None
        return tuple(values[slot] for slot in self.outputs)


def prepare_graph(graph: Graph, constants: Sequence[Array | None] = ()) -> GraphProgram:
    """Return ``graph`` prepared for many calls.

    Values that depend on constants only are computed now; ops that read it can be prepared for it.

    Args:
        graph: The graph, without symbols and parameters.
        constants: For each input its value if it is the same in each call, else None; or nothing,
            if all of them may change.
    """
    constants = constants or [None] * len(graph.inputs)
    known: dict[Value, Array] = {
        value: array
        for value, array in zip(graph.inputs, constants, strict=True)
        if array is not None
    }
    running: list[tuple[Node, Evaluator]] = []
    for node in graph.nodes:
        values = [known.get(o) for o in node.operands]
        if isinstance(node.op, Constant):
            known[node.result] = node.op.value
        elif isinstance(node.op, Input):
            continue
        elif node.op.regions() or any(v is None for v in values):
            running.append((node, node.op.prepare(values)))
        else:
            results = node.op.evaluate(*(v for v in values if v is not None))
            known.update(zip(node.results, results, strict=True))
    return _assign_slots(graph, known, running)


def _assign_slots(
    graph: Graph, known: Mapping[Value, Array], running: Sequence[tuple[Node, Evaluator]]
) -> GraphProgram:
    """Return the program of ``running`` nodes, with a slot for every value."""
    slot = {v: i for i, v in enumerate(v for n in graph.nodes for v in n.results)}
    last = {o: node for node, _ in running for o in node.operands}
    permanent = {*graph.outputs, *known}
    steps = []
    for node, compute in running:
        # Results that nothing reads are freed at once, or they would live until the end.
        unread = [v for v in node.results if v not in last]
        last_read = [v for v in dict.fromkeys(node.operands) if last[v] is node]
        steps.append(
            ProgramStep(
                compute,
                tuple(slot[o] for o in node.operands),
                tuple(slot[v] for v in node.results),
                tuple(slot[v] for v in (*last_read, *unread) if v not in permanent),
            )
        )
    return GraphProgram(
        tuple(steps),
        tuple(known.get(v) for v in slot),
        tuple(slot[v] for v in graph.inputs),
        tuple(slot[v] for v in graph.outputs),
    )
