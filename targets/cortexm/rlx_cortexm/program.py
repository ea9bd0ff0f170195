"""From a planned graph to everything that the C files say: layers, names, addresses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rlx.ir import Region, Stage
from rlx.plan import moves_nothing
from rlx_cortexm.candidate import Candidate
from rlx_cortexm.choice import DEFAULT, OBJECTIVES, Limits, Need, choose
from rlx_cortexm.code_size import code_sizes, entry_bytes
from rlx_cortexm.core import DEFAULT_CORE, Core
from rlx_cortexm.layer import Kernel, Layer, Table
from rlx_cortexm.lower import candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, GraphModule, MemoryPlan, Node, Placement, Value

ALIGNMENT = 4
"""Bytes that the arena is aligned to at least."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the choice of kernels goes by.

    Attributes:
        optimize: Name of the objective.
        ram: Most bytes of the arena, or None.
        flash: Most bytes of constants and code, or None.
        core: What they run on.
    """

    optimize: str = DEFAULT
    ram: int | None = None
    flash: int | None = None
    core: Core = DEFAULT_CORE

    def kernel_flash(self, plan: MemoryPlan) -> int | None:
        """Return the flash that there is for kernels and their tables."""
        if self.flash is None:
            return None
        read = (v for n in plan.schedule for v in candidates(n)[-1].lower().operands)
        constants = {value for value in read if value.constant is not None}
        fixed = entry_bytes(len(plan.schedule)) + sum(v.type.nbytes for v in constants)
        return max(self.flash - fixed, 0)


@dataclass(frozen=True, slots=True)
class Step:
    """One layer in its place.

    Attributes:
        index: Position in the order of execution.
        node: What is computed.
        layer: How.
        scratch: Offset of the layer's scratch memory in the arena, in bytes.
        candidate: The kernel chosen, with its estimates.
    """

    index: int
    node: Node
    layer: Layer
    scratch: int
    candidate: Candidate


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


def program(module: GraphModule, settings: Settings | None = None) -> Program:
    """Lower a module at stage LIR.

    Args:
        module: A module with a plan.
        settings: What counts, and the limits; None for the defaults.

    Raises:
        UnsupportedOpError: A node cannot be lowered.
        ValueError: The module has no plan.
    """
    if module.stage is not Stage.LIR or module.plan is None:
        raise ValueError(f"a module at stage lir is wanted, not {module.stage.value}")
    plan = module.plan
    chosen = kernels_for(plan, settings or Settings())
    layers = [candidate.lower() for candidate in chosen]
    scratches = [
        find_scratch(alive, layer.scratch_bytes)
        for alive, layer in zip(alive_by_step(plan), layers, strict=True)
    ]
    steps = tuple(
        Step(index, node, layer, scratch, candidate)
        for index, (node, layer, scratch, candidate) in enumerate(
            zip(plan.schedule, layers, scratches, chosen, strict=True)
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


def kernels_for(plan: MemoryPlan, settings: Settings) -> tuple[Candidate, ...]:
    """Return the kernel of each step, by the objective and within the limits.

    If none keep to the limits, those with the least of what there is too little of are returned:
    of RAM first, then of flash.
    """
    needs = [
        Need(_candidates(plan, node, settings.core), partial(_end, alive))
        for node, alive in zip(plan.schedule, alive_by_step(plan), strict=True)
    ]
    arena, objective = plan.arena_bytes, OBJECTIVES[settings.optimize]
    tries = (
        (objective, Limits(settings.ram, settings.kernel_flash(plan))),
        (OBJECTIVES["size"], Limits(settings.ram)),
        (OBJECTIVES["ram"], Limits()),
    )
    found = (choose(needs, arena, what, limits, code_sizes) for what, limits in tries)
    return next(chosen for chosen in found if chosen is not None)


def _candidates(plan: MemoryPlan, node: Node, core: Core) -> tuple[Candidate, ...]:
    if moves_nothing(plan, node):
        return (Candidate.of(Layer(None, operands=node.operands)),)
    return candidates(node, core)


def least_scratch(node: Node, core: Core = DEFAULT_CORE) -> int:
    """Return the scratch memory of the kernel with least of it, or raise UnsupportedOpError."""
    return min(candidate.scratch_bytes for candidate in candidates(node, core))


def _end(alive: Sequence[Placement], nbytes: int) -> int:
    """Return the arena that it takes to have so many bytes of scratch memory at a step."""
    return find_scratch(alive, nbytes) + nbytes if nbytes else 0


def find_scratch(alive: Sequence[Placement], nbytes: int) -> int:
    """Return the lowest aligned offset where ``nbytes`` meet no value alive at a step.

    The offset may lie behind the plan's arena, which then grows.

    Args:
        alive: What lies in the arena then, by offset (see ``alive_by_step``).
        nbytes: Size of the scratch memory.
    """
    offset = 0
    for placement in alive:
        if offset + nbytes <= placement.offset:
            break
        offset = max(offset, -(-(placement.offset + placement.nbytes) // ALIGNMENT) * ALIGNMENT)
    return offset


def alive_by_step(plan: MemoryPlan) -> list[list[Placement]]:
    """Return for each step what lies in the arena while it runs, by offset."""
    alive: list[list[Placement]] = [[] for _ in plan.schedule]
    for placement in sorted(plan.placements, key=lambda p: p.offset):
        if placement.region is Region.ARENA:
            for step in range(max(placement.first, 0), min(placement.last + 1, len(alive))):
                alive[step].append(placement)
    return alive


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
