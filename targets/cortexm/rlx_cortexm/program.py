"""From a planned graph to everything that the C files say: layers, names, addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Region, Stage
from rlx.ops.q import QConv2d
from rlx_cortexm.candidate import Room, choose
from rlx_cortexm.layer import Kernel, Layer, Table
from rlx_cortexm.lower import RULES
from rlx_cortexm.lower.conv import candidates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Graph, GraphModule, MemoryPlan, Node, Placement, Value

ALIGNMENT = 4
"""Bytes that the arena is aligned to at least."""

GROWTH = 8
"""Where no limit is given, scratch memory for speed may add one part in so many to the arena."""

SMALL_GROWTH = 2048
"""Or so many bytes, where that is more."""


@dataclass(frozen=True, slots=True)
class Step:
    """One layer in its place.

    Attributes:
        index: Position in the order of execution.
        node: What is computed.
        layer: How.
        scratch: Offset of the layer's scratch memory in the arena, in bytes.
    """

    index: int
    node: Node
    layer: Layer
    scratch: int


@dataclass(frozen=True, slots=True)
class Named:
    """A kernel or table with the number in its symbol: that of the first layer with it."""

    index: int
    users: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A planned graph, lowered.

    Attributes:
        graph: The graph.
        plan: Order of execution and places.
        steps: Every layer, in order of execution.
        kernels: Distinct functions, each with its number and the layers that call it.
        tables: Distinct constants, likewise.
        constants: Number of each constant that a layer reads as an ordinary operand.
        arena_bytes: The plan's arena and the scratch memory that lies behind it, at least 1 byte.
        alignment: The arena's alignment in bytes.
    """

    graph: Graph
    plan: MemoryPlan
    steps: tuple[Step, ...]
    kernels: dict[Kernel, Named]
    tables: dict[tuple[object, ...], tuple[Table, Named]]
    constants: dict[Value, int]
    arena_bytes: int
    alignment: int

    @property
    def constant_bytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table, _ in self.tables.values())

    def table_of(self, table: Table) -> tuple[Table, Named]:
        """Return the emitted table with the content of ``table``."""
        return self.tables[table.content]


def program(module: GraphModule, ram: int | None = None) -> Program:
    """Lower a module at stage LIR.

    Args:
        module: A module with a plan.
        ram: Bytes that the arena may have, if kernels with less scratch memory can keep to it.

    Raises:
        UnsupportedOpError: A node cannot be lowered.
        ValueError: The module has no plan.
    """
    if module.stage is not Stage.LIR or module.plan is None:
        raise ValueError(f"a module at stage lir is wanted, not {module.stage.value}")
    plan = module.plan
    layers = [lower(node, _room(plan, index, ram)) for index, node in enumerate(plan.schedule)]
    scratches = [
        find_scratch(plan, index, layer.scratch_bytes) for index, layer in enumerate(layers)
    ]
    steps = tuple(
        Step(index, node, layer, scratch)
        for index, (node, layer, scratch) in enumerate(
            zip(plan.schedule, layers, scratches, strict=True)
        )
    )
    ends = [step.scratch + step.layer.scratch_bytes for step in steps if step.layer.scratch_bytes]
    alignment = max(plan.alignment, ALIGNMENT)
    arena = max(plan.arena_bytes, 1, *ends)
    return Program(
        graph=module.graph,
        plan=plan,
        steps=steps,
        kernels=_kernels(steps),
        tables=_tables(steps),
        constants={value: index for index, value in enumerate(_constant_operands(steps, module))},
        arena_bytes=-(-arena // alignment) * alignment,
        alignment=alignment,
    )


def lower(node: Node, room: Room | None = None) -> Layer:
    """Return the cheapest layer of a node, or raise UnsupportedOpError."""
    if isinstance(node.op, QConv2d):
        return choose(candidates(node), room).lower()
    return RULES[type(node.op)](node)


def least_scratch(node: Node) -> int:
    """Return the scratch memory of the kernel with least of it, or raise UnsupportedOpError."""
    if isinstance(node.op, QConv2d):
        return min(candidate.scratch_bytes for candidate in candidates(node))
    return RULES[type(node.op)](node).scratch_bytes


def _room(plan: MemoryPlan, step: int, ram: int | None) -> Room:
    """Return the room for scratch memory beside the values that are alive at ``step``."""

    def growth(nbytes: int) -> int:
        end = find_scratch(plan, step, nbytes) + nbytes if nbytes else 0
        return max(end - plan.arena_bytes, 0)

    usual = max(plan.arena_bytes // GROWTH, SMALL_GROWTH)
    return Room(growth, usual if ram is None else max(ram - plan.arena_bytes, 0))


def find_scratch(plan: MemoryPlan, step: int, nbytes: int) -> int:
    """Return the lowest aligned offset where ``nbytes`` meet no value alive at ``step``.

    The offset may lie behind the plan's arena, which then grows.
    """
    offset = 0
    for placement in sorted(_alive(plan, step), key=lambda p: p.offset):
        if offset + nbytes <= placement.offset:
            break
        offset = max(offset, -(-(placement.offset + placement.nbytes) // ALIGNMENT) * ALIGNMENT)
    return offset


def _alive(plan: MemoryPlan, step: int) -> Iterator[Placement]:
    return (
        p for p in plan.placements
        if p.region is Region.ARENA and p.first <= step <= p.last
    )  # fmt: skip


def _kernels(steps: tuple[Step, ...]) -> dict[Kernel, Named]:
    users: dict[Kernel, list[int]] = {}
    for step in steps:
        if step.layer.kernel is not None:
            users.setdefault(step.layer.kernel, []).append(step.index)
    return {kernel: Named(indices[0], tuple(indices)) for kernel, indices in users.items()}


def _tables(steps: tuple[Step, ...]) -> dict[tuple[object, ...], tuple[Table, Named]]:
    users: dict[tuple[object, ...], list[int]] = {}
    first: dict[tuple[object, ...], Table] = {}
    for step in steps:
        for table in step.layer.tables:
            key = table.content
            first.setdefault(key, table)
            users.setdefault(key, []).append(step.index)
    return {
        key: (table, Named(users[key][0], tuple(dict.fromkeys(users[key]))))
        for key, table in first.items()
    }


def _constant_operands(steps: tuple[Step, ...], module: GraphModule) -> tuple[Value, ...]:
    """Return the constants that are read as codes or handed out, in order of first use."""
    read = [value for step in steps for value in step.layer.operands]
    values = [v for v in (*read, *module.graph.outputs) if v.constant is not None]
    return tuple(dict.fromkeys(values))


def constant_table(value: Value) -> Table:
    """Return the table of a constant operand."""
    data = value.constant
    if data is None:
        raise AssertionError(f"{value.node.label} is no constant")
    element = "int32_t" if value.type.dtype is DType.I32 else "int8_t"
    return Table("constant", element, np.asarray(data).reshape(-1), f"constant {value.type}")
