"""The contents of a graph, as tables to read and as plain data for programs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rlx.ir.diff import GraphDiff, inspect_graph_diff
from rlx.ir.graph import Constant, Source
from rlx.ir.hash import structural_hash
from rlx.ir.layer_names import layer_names
from rlx.ir.macs import MACS
from rlx.ir.printer import format_type, format_value
from rlx.ir.regions import all_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir.graph import Graph, Node
    from rlx.ir.module import GraphModule, MemoryPlan

MAX_NAME_LENGTH = 41
"""Characters of a name in a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInspection:
    """One node that computes, or an input or parameter.

    Attributes:
        index: Identifier in the text form, without the percent sign.
        op: Name of the op.
        name: Name of the layer; of a parameter, its own.
        operands: Operands as in the text form.
        types: Types of the results as in the text form.
        macs: Multiply-accumulates; None where shapes are symbolic.
        constants: Elements of constant operands that no earlier node reads, and of the constants
            in regions.
        constant_bytes: Bytes of the same, stored packed.
        users: Number of operands of other nodes, and outputs of the graph, that are its results.
        origin: Origin of the node.
        origins: Nodes of the model of which it was made.
    """

    index: int
    op: str
    name: str
    operands: tuple[str, ...]
    types: tuple[str, ...]
    macs: int | None
    constants: int
    constant_bytes: int
    users: int
    origin: str
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphInspection:
    """Figures of a graph.

    Attributes:
        name: Name of the graph.
        hash: Its structural hash.
        inputs: Type of each input by name.
        params: Type of each parameter by name.
        outputs: Name and type of each output.
        nodes: Everything but constants, in order.
        op_counts: Number of occurrences of each op, in regions too, most frequent first.
        macs: Multiply-accumulates of all nodes; None if those of one are not known.
        constants: Elements of all constants.
        constant_bytes: Bytes of the same, stored packed.
    """

    name: str
    hash: str
    inputs: dict[str, str]
    params: dict[str, str]
    outputs: tuple[tuple[str, str], ...]
    nodes: tuple[NodeInspection, ...]
    op_counts: dict[str, int]
    macs: int | None
    constants: int
    constant_bytes: int

    def stats(self) -> str:
        """Return the whole graph in one line."""
        ops = ", ".join(f"{name} {count}" for name, count in self.op_counts.items())
        macs = "unknown" if self.macs is None else f"{self.macs:,}"
        return (
            f"{printable(self.name)}: {sum(self.op_counts.values())} ops ({ops}),"
            f" {macs} MACs, {self.constants:,} constants in {self.constant_bytes:,} bytes"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [
            (f"%{n.index}", n.op, printable(n.name), ", ".join(n.types),
             "" if n.op.startswith("core.") else "?" if n.macs is None else f"{n.macs:,}",
             f"{n.constant_bytes:,}" if n.constant_bytes else "")
            for n in self.nodes
        ]  # fmt: skip
        header = ("", "op", "name", "result", "MACs", "constant bytes")
        return "\n".join([self.stats(), "", *table(header, rows, right=(4, 5))])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementInspection:
    """The place of one value in a memory plan; see ``Placement``."""

    value: str
    name: str
    region: str
    offset: int
    nbytes: int
    first: int
    last: int
    alias_of: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleInspection:
    """A module: its stage, its graph and, at stage LIR, its plan.

    Attributes:
        stage: ``hir``, ``mir`` or ``lir``.
        graph: The graph.
        schedule: Nodes in order of execution; empty without a plan.
        placements: Places of values in memory; empty without a plan.
        arena_bytes: Size of the arena; None without a plan.
    """

    stage: str
    graph: GraphInspection
    schedule: tuple[int, ...] = ()
    placements: tuple[PlacementInspection, ...] = ()
    arena_bytes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"stage {self.stage}", str(self.graph)]
        if self.arena_bytes is None:
            return "\n".join(lines)
        rows = [
            (p.value, printable(p.name), p.region, str(p.offset), str(p.nbytes),
             f"{p.first}..{p.last}", p.alias_of or "")
            for p in self.placements
        ]  # fmt: skip
        header = ("", "name", "region", "offset", "bytes", "steps", "alias of")
        order = " ".join(f"%{n}" for n in self.schedule)
        lines += ["", f"arena of {self.arena_bytes:,} bytes; order {order}", ""]
        return "\n".join([*lines, *table(header, rows, right=(3, 4))])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInspection:
    """Effect of one pass.

    Attributes:
        name: Name of the pass, with its round if it is repeated.
        stats: The graph afterwards, in one line.
        diff: Its changes; None for the first step.
    """

    name: str
    stats: str
    diff: GraphDiff | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineInspection:
    """Changes that the passes of a pipeline made, in order; passes without any are left out."""

    steps: tuple[StepInspection, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold."""
        return {
            "steps": [
                {"name": s.name, "stats": s.stats, "diff": s.diff.to_dict() if s.diff else None}
                for s in self.steps
            ]
        }

    def __str__(self) -> str:
        parts = []
        for step in self.steps:
            parts.append(f"== {step.name}: {step.stats}")
            if step.diff is not None:
                parts.append(str(step.diff))
        if len(self.steps) == 1:
            parts.append("no pass changes it")
        return "\n".join(parts)


def inspect_graph(graph: Graph) -> GraphInspection:
    """Return the contents of ``graph``: ops, shapes, multiply-accumulates, constants."""
    users: Counter[Node] = Counter(o.node for n in graph.nodes for o in n.operands)
    users.update(v.node for v in graph.outputs)
    counted: set[Node] = set()
    names = layer_names(graph)
    nodes = tuple(
        _node(n, names.get(n, n.name), users[n], counted)
        for n in graph.nodes
        if not isinstance(n.op, Constant)
    )
    macs = [n.macs for n in nodes]
    every = tuple(all_nodes(graph))
    constants = [n.types[0] for n in every if isinstance(n.op, Constant)]
    computing = Counter(n.op.name for n in every if not isinstance(n.op, Source))
    return GraphInspection(
        name=graph.name,
        hash=structural_hash(graph),
        inputs={v.name: format_type(v.type) for v in graph.inputs},
        params={v.name: format_type(v.type) for v in graph.params},
        outputs=tuple(
            (name, format_type(v.type))
            for v, name in zip(graph.outputs, graph.output_names, strict=True)
        ),
        nodes=nodes,
        op_counts=dict(computing.most_common()),
        macs=None if None in macs else sum(m or 0 for m in macs),
        constants=sum(t.size for t in constants),
        constant_bytes=sum(t.nbytes for t in constants),
    )


def inspect_module(module: GraphModule) -> ModuleInspection:
    """Return the contents of ``module``: its graph and, at stage LIR, its memory plan."""
    graph = inspect_graph(module.graph)
    if module.plan is None:
        return ModuleInspection(stage=module.stage.value, graph=graph)
    return ModuleInspection(
        stage=module.stage.value,
        graph=graph,
        schedule=tuple(n.index for n in module.plan.schedule),
        placements=_placements(module.plan),
        arena_bytes=module.plan.arena_bytes,
    )


def inspect_pipeline(stages: Sequence[tuple[str, Graph]]) -> PipelineInspection:
    """Return the changes of each pass; passes that changed nothing are left out.

    Args:
        stages: Name of each pass and the graph after it; first the graph before all passes.
    """
    name, before = stages[0]
    steps = [StepInspection(name=name, stats=inspect_graph(before).stats(), diff=None)]
    for name, graph in stages[1:]:
        if graph is not before and (diff := inspect_graph_diff(before, graph)):
            stats = inspect_graph(graph).stats()
            steps.append(StepInspection(name=name, stats=stats, diff=diff))
        before = graph
    return PipelineInspection(steps=tuple(steps))


def node_macs(node: Node) -> int | None:
    """Return the multiply-accumulates of a node; 0 for ops that have none, None if unknown."""
    if type(node.op) not in MACS:
        return 0
    types = (*node.types, *(o.type for o in node.operands))
    return MACS[type(node.op)](node) if all(t.is_static for t in types) else None


def printable(text: str) -> str:
    """Return ``text`` without characters that move a terminal's cursor, its middle left out."""
    safe = json.dumps(text)[1:-1].replace('\\"', '"')
    half = (MAX_NAME_LENGTH - 3) // 2
    return safe if len(safe) <= MAX_NAME_LENGTH else f"{safe[:half]}...{safe[-half:]}"


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> list[str]:
    """Return lines with columns of equal width.

    Args:
        header: Title of each column.
        rows: Cells.
        right: Columns that are aligned at the right.
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[c]) for line in lines) for c in range(len(header))]
    return [
        "  ".join(
            cell.rjust(width) if c in right else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _node(node: Node, name: str, users: int, counted: set[Node]) -> NodeInspection:
    """Return one row; ``counted`` collects the constants that a row already counts."""
    constants = {o.node for o in node.operands if isinstance(o.node.op, Constant)} - counted
    counted |= constants
    inner = (n for _, region in node.op.regions() for n in all_nodes(region))
    types = [n.types[0] for n in (*constants, *inner) if isinstance(n.op, Constant)]
    return NodeInspection(
        index=node.index,
        op=node.op.name,
        name=name,
        operands=tuple(map(format_value, node.operands)),
        types=tuple(format_type(t, full=False) for t in node.types),
        macs=0 if isinstance(node.op, Source) else node_macs(node),
        constants=sum(t.size for t in types),
        constant_bytes=sum(t.nbytes for t in types),
        users=users,
        origin=str(node.origin),
        origins=node.origin.places,
    )


def _placements(plan: MemoryPlan) -> tuple[PlacementInspection, ...]:
    """Return the rows of a plan."""
    return tuple(
        PlacementInspection(
            value=format_value(p.value),
            name=p.value.name,
            region=p.region.value,
            offset=p.offset,
            nbytes=p.nbytes,
            first=p.first,
            last=p.last,
            alias_of=None if p.alias_of is None else format_value(p.alias_of),
        )
        for p in plan.placements
    )
