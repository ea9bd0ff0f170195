"""A planned network in calls of C functions, with places for constants and scratch memory.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir.layer_names import name_nodes
from rlx.support.errors import UnsupportedOpError
from rlx.support.text.names import shorten
from rlx_c.arena import alive_by_step, find_scratch
from rlx_host.emission.constants import ConstantFile
from rlx_host.kernels.rules import lower_schedule
from rlx_host.source import ProgramSource, number_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Array, Graph, GraphModule, MemoryPlan, Node, Refusal, Value
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.source import NativeStep

HINT: Final = "run the model with 'rlx run', where NumPy computes what has no kernel in C"
"""Advice on a node without a kernel."""


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A network as it is emitted.

    Attributes:
        graph: The graph.
        plan: Order of execution and places.
        steps: Call of each node that needs one, in order of execution.
        names: Name of each of these nodes.
        source: The functions.
        scratch: Offset in the arena of the scratch memory of each step.
        tables: Offset in the file of constants of each table of each step.
        constants: Offset there of each constant that is an operand or an output.
        file: The file of constants.
        arena_bytes: Size of the arena, scratch memory included; at least its alignment.
    """

    graph: Graph
    plan: MemoryPlan
    steps: tuple[NativeStep, ...]
    names: Mapping[Node, str]
    source: ProgramSource
    scratch: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    constants: Mapping[Value, int]
    file: ConstantFile
    arena_bytes: int


def host_program(module: GraphModule, instructions: InstructionSet) -> HostProgram:
    """Return the program of a planned graph.

    Raises:
        UnsupportedOpError: Nodes have no kernel in C; it names them all.
    """
    plan, graph = module.plan, module.graph
    assert plan is not None
    layers, refusals = lower_schedule(plan, instructions)
    names = name_nodes([*(node for node, _ in layers), *refusals])
    if refusals:
        raise _refused(graph, refusals, names)
    steps = number_steps(layers)
    scratch = _scratch(plan, steps)
    ends = [begin + step.layer.scratch_bytes for begin, step in zip(scratch, steps, strict=True)]
    arena = max(plan.arena_bytes, plan.alignment, *ends)
    file = ConstantFile()
    tables = tuple(
        tuple(file.add(pack(_values(step.node))) for pack in step.layer.tables) for step in steps
    )
    read = [step.node.operands[index] for step in steps for index in step.layer.operands]
    fixed = dict.fromkeys(v for v in (*read, *graph.outputs) if v.constant is not None)
    constants = {value: file.add(_constant(value)) for value in fixed}
    return HostProgram(
        graph, plan, steps, names, ProgramSource.of(steps, instructions), scratch, tables,
        constants, file, -(-arena // plan.alignment) * plan.alignment,
    )  # fmt: skip


def _scratch(plan: MemoryPlan, steps: tuple[NativeStep, ...]) -> tuple[int, ...]:
    """Return the offset of the scratch memory of each step: the first gap that is wide enough."""
    alive = dict(zip(plan.schedule, alive_by_step(plan), strict=True))
    return tuple(
        find_scratch(alive[s.node], s.layer.scratch_bytes, plan.alignment)
        if s.layer.scratch_bytes
        else 0
        for s in steps
    )


def _values(node: Node) -> list[Array]:
    """Return the operands of a node for its tables: constants, and zeros for computed ones."""
    return [
        np.broadcast_to(np.zeros((), o.type.dtype.numpy), o.type.static_shape)
        if o.constant is None
        else o.constant
        for o in node.operands
    ]


def _constant(value: Value) -> Array:
    """Return the array of a constant."""
    assert value.constant is not None
    return value.constant


def _refused(
    graph: Graph, refusals: Mapping[Node, Refusal], names: Mapping[Node, str]
) -> UnsupportedOpError:
    """Return (not raise) the error that names every node without a kernel."""
    lines = [f"{n.op.name} ({shorten(names[n])}): {r.reason}" for n, r in refusals.items()]
    return UnsupportedOpError(
        "host has no kernel in C for:\n    " + "\n    ".join(lines),
        where=f"graph {graph.name!r}",
        hint=HINT,
    )
