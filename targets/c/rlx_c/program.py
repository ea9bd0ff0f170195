"""A planned graph whose kernels are chosen: layers, functions, tables, addresses.

Tests: tests/targets/cortexm/test_program.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir.layer_names import layer_names
from rlx_c.arena import MIN_ALIGNMENT, alive_by_step, find_scratch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, MemoryPlan, Node, Value
    from rlx_c.candidate import Candidate
    from rlx_c.layer import ConstantTable, Kernel, LoweredLayer


@dataclass(frozen=True, slots=True)
class LayerStep:
    """One layer in its place.

    Attributes:
        index: Position in the order of execution.
        name: Name of the layer.
        node: Node that is computed.
        layer: Its lowered form.
        scratch: Offset of the layer's scratch memory in the arena, in bytes.
        candidate: The kernel chosen, with its estimates.
    """

    index: int
    name: str
    node: Node
    layer: LoweredLayer
    scratch: int
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Named:
    """A kernel or table, with the number of the first layer that has it and all such layers."""

    index: int
    users: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A planned graph, lowered.

    Attributes:
        graph: The graph.
        plan: Order of execution and places.
        steps: Every layer, in order of execution.
        kernels: Distinct functions, each with its index and the layers that call it.
        tables: Distinct constants, likewise.
        constants: Index of each constant that a layer reads as an ordinary operand.
        arena_bytes: The plan's arena and the scratch memory after it, at least 1 byte.
        alignment: The arena's alignment in bytes.
    """

    graph: Graph
    plan: MemoryPlan
    steps: tuple[LayerStep, ...]
    kernels: dict[Kernel, Named]
    tables: dict[tuple[object, ...], tuple[ConstantTable, Named]]
    constants: dict[Value, int]
    arena_bytes: int
    alignment: int

    @property
    def constant_bytes(self) -> int:
        """Bytes of all tables, and of the constants that are operands."""
        tables = sum(table.nbytes for table, _ in self.tables.values())
        return tables + sum(value.type.nbytes for value in self.constants)

    def table_of(self, table: ConstantTable) -> tuple[ConstantTable, Named]:
        """Return the emitted table with the content of ``table``."""
        return self.tables[table.content]


def assemble_program(
    graph: Graph, plan: MemoryPlan, candidates: Sequence[Candidate]
) -> LoweredProgram:
    """Return the program of a graph.

    Args:
        graph: The graph.
        plan: Order of execution and places.
        candidates: The kernel of each step of the plan's schedule.
    """
    layers = [candidate.lower() for candidate in candidates]
    scratches = [
        find_scratch(alive, layer.scratch_bytes)
        for alive, layer in zip(alive_by_step(plan), layers, strict=True)
    ]
    names = layer_names(graph)
    steps = tuple(
        LayerStep(index, names[node], node, layer, scratch, candidate)
        for index, (node, layer, scratch, candidate) in enumerate(
            zip(plan.schedule, layers, scratches, candidates, strict=True)
        )
    )
    ends = [step.scratch + step.layer.scratch_bytes for step in steps if step.layer.scratch_bytes]
    alignment = max(plan.alignment, MIN_ALIGNMENT)
    arena = max(plan.arena_bytes, 1, *ends)
    return LoweredProgram(
        graph=graph,
        plan=plan,
        steps=steps,
        kernels=_kernels(steps),
        tables=_tables(steps),
        constants={value: index for index, value in enumerate(_constant_operands(steps, graph))},
        arena_bytes=-(-arena // alignment) * alignment,
        alignment=alignment,
    )


def _kernels(steps: tuple[LayerStep, ...]) -> dict[Kernel, Named]:
    users: dict[Kernel, list[int]] = {}
    for step in steps:
        if step.layer.kernel is not None:
            users.setdefault(step.layer.kernel, []).append(step.index)
    return {kernel: Named(indices[0], tuple(indices)) for kernel, indices in users.items()}


def _tables(
    steps: tuple[LayerStep, ...],
) -> dict[tuple[object, ...], tuple[ConstantTable, Named]]:
    users: dict[tuple[object, ...], list[int]] = {}
    first: dict[tuple[object, ...], ConstantTable] = {}
    for step in steps:
        for table in step.layer.tables:
            key = table.content
            first.setdefault(key, table)
            users.setdefault(key, []).append(step.index)
    return {
        key: (table, Named(users[key][0], tuple(dict.fromkeys(users[key]))))
        for key, table in first.items()
    }


def _constant_operands(steps: tuple[LayerStep, ...], graph: Graph) -> tuple[Value, ...]:
    """Return the constants that are operands or outputs, in order of first use."""
    read = [value for step in steps for value in step.layer.operands]
    values = [v for v in (*read, *graph.outputs) if v.constant is not None]
    return tuple(dict.fromkeys(values))
