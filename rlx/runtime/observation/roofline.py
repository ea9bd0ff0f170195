"""Lower bounds of time: limits of a machine's arithmetic, memory and calls."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlx.ir import GraphModule
from rlx.ir.binding import symbols_of
from rlx.ir.graph import Constant, Param
from rlx.ir.layer_names import layer_names, origins_of
from rlx.memory import moves_nothing
from rlx.ops.work import Work, host_bytes, node_work
from rlx.passes.transforms.bind import sizes_hint
from rlx.runtime.observation.memory import constant_bytes
from rlx.support.errors import UsageError
from rlx.support.text.notebook import table_html
from rlx.support.text.tables import Column, Table, lay_out, printable, share_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import DType, Graph, MemoryPlan, Node
    from rlx.runtime.observation.machine import Machine


class Bound(enum.Enum):
    """Bound of a node's time."""

    COMPUTE = "compute"
    MEMORY = "memory"
    OVERHEAD = "overhead"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBound:
    """The minimum time that a node takes.

    Attributes:
        node: The node.
        name: Name of the layer.
        macs: Multiply-accumulates.
        flops: Operations, a multiply-accumulate as two.
        nbytes: Bytes that are read and written.
        compute_s: Seconds of arithmetic at the machine's peak.
        memory_s: Seconds of reading and writing.
        overhead_s: Seconds of the call.
    """

    node: Node
    name: str
    macs: int
    flops: int
    nbytes: int
    compute_s: float
    memory_s: float
    overhead_s: float

    @property
    def seconds(self) -> float:
        """The lower bound: arithmetic and memory overlap, the call does not."""
        return max(self.compute_s, self.memory_s) + self.overhead_s

    @property
    def bound(self) -> Bound:
        """Bound that most of the time is due to."""
        if self.overhead_s > max(self.compute_s, self.memory_s):
            return Bound.OVERHEAD
        return Bound.COMPUTE if self.compute_s >= self.memory_s else Bound.MEMORY

    def as_json(self) -> dict[str, Any]:
        """Return the figures; times are in microseconds."""
        return {
            "node": self.node.index,
            "op": self.node.op.name,
            "name": self.name,
            "origin": self.node.origin.location,
            "origins": list(origins_of(self.node)),
            "macs": self.macs,
            "flops": self.flops,
            "bytes": self.nbytes,
            "compute_us": 1e6 * self.compute_s,
            "memory_us": 1e6 * self.memory_s,
            "overhead_us": 1e6 * self.overhead_s,
            "us": 1e6 * self.seconds,
            "bound": str(self.bound),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Roofline:
    """The minimum time that a graph takes on a machine, node by node.

    Attributes:
        name: Name of the graph.
        machine: The machine.
        nodes: Each node that does something, in order of execution.
    """

    name: str
    machine: Machine
    nodes: tuple[NodeBound, ...]

    @property
    def seconds(self) -> float:
        """The sum over all nodes, which run one after the other."""
        return sum(n.seconds for n in self.nodes)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all nodes."""
        return sum(n.macs for n in self.nodes)

    @property
    def flops(self) -> int:
        """Operations of all nodes."""
        return sum(n.flops for n in self.nodes)

    def of(self, node: Node) -> NodeBound | None:
        """Return the bound of a node; None if it does nothing."""
        return next((n for n in self.nodes if n.node is node), None)

    def share(self, bound: Bound) -> float:
        """Return the share of the time of nodes with this bound."""
        return sum(n.seconds for n in self.nodes if n.bound is bound) / (self.seconds or 1)

    def table(self) -> Table:
        """Return a row for each node."""
        columns = (
            Column("node", shortest=12),
            Column("op", priority=1),
            Column("MACs", priority=2, total=self.macs),
            Column("bytes", priority=2, total=sum(n.nbytes for n in self.nodes)),
            Column("compute", "us", priority=3),
            Column("memory", "us", priority=3),
            Column("lower bound", "us", total=1e6 * self.seconds),
            Column("share", "%", right=True),
            Column("bound by"),
        )
        rows = tuple(
            (
                n.name,
                n.node.op.name,
                n.macs,
                n.nbytes,
                1e6 * n.compute_s,
                1e6 * n.memory_s,
                1e6 * n.seconds,
                share_text(n.seconds, self.seconds),
                str(n.bound),
            )
            for n in self.nodes
        )
        times = [n.seconds for n in self.nodes]
        slowest = times.index(max(times)) if times else None
        title = f"{printable(self.name)} on {self.machine.name}: lower bounds"
        return Table(title, columns, rows, slowest, total="all")

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values; times are in microseconds."""
        return {
            "graph": self.name,
            "machine": self.machine.as_json(),
            "us": 1e6 * self.seconds,
            "macs": self.macs,
            "flops": self.flops,
            "shares": {str(bound): self.share(bound) for bound in Bound},
            "nodes": [n.as_json() for n in self.nodes],
        }

    def __repr__(self) -> str:
        shares = ", ".join(f"{b} {100 * self.share(b):.0f} %" for b in Bound)
        return f"<Roofline of {self.name!r} on {self.machine.name}: at least" + (
            f" {1e6 * self.seconds:.4g} us, {self.macs:,} MACs; {shares}>"
        )

    def __str__(self) -> str:
        return "\n".join(line.text for line in lay_out(self.table()).lines)

    def _repr_html_(self) -> str:
        return table_html(self.table())


def roofline(graph: Graph | GraphModule, machine: Machine) -> Roofline:
    """Return the minimum time that a graph of static shapes takes.

    Weights are read from the fastest level that holds all of them; other operands may still be in
    the fastest cache that holds them. So the bound is one for a graph that is run again and again.

    Args:
        graph: A graph; of a module at stage LIR the nodes that share the bytes of their operands
            take no time.
        machine: Limits of the machine.

    Raises:
        UsageError: A size is a symbol.
    """
    if isinstance(graph, GraphModule):
        return Roofline(graph.graph.name, machine, tuple(_bounds(graph.graph, graph.plan, machine)))
    return Roofline(graph.name, machine, tuple(_bounds(graph, None, machine)))


def _bounds(graph: Graph, plan: MemoryPlan | None, machine: Machine) -> Iterator[NodeBound]:
    types = [v.type for v in (*graph.inputs, *graph.params)]
    if not all(t.is_static for t in types):
        symbolic = next(t for t in types if not t.is_static)
        raise UsageError(
            f"sizes must be numbers, but there is {symbolic}",
            where=f"graph {printable(graph.name)!r}",
            hint=sizes_hint(symbols_of(symbolic)),
        )
    weights = constant_bytes([graph]) + sum(host_bytes(v.type) for v in graph.params)
    names = layer_names(graph)
    for node in graph.op_nodes if plan is None else plan.schedule:
        if plan is None or not moves_nothing(plan, node):
            yield _bound(node, names[node], weights, machine, in_place=_is_in_place(node, plan))


def _is_in_place(node: Node, plan: MemoryPlan | None) -> bool:
    """Whether a node's result reuses the bytes of its first operand."""
    if plan is None or not node.operands or _is_fixed(node.operands[0].node):
        return False
    places = [plan.of(v) for v in (node.operands[0], node.results[0])]
    return len({(p.region, p.offset) for p in places}) == 1 and any(p.alias_of for p in places)


def _bound(node: Node, name: str, weights: int, machine: Machine, *, in_place: bool) -> NodeBound:
    # Of branches and loops that the data decide it is only known that they write their results.
    written = sum(host_bytes(t) for t in node.types)
    work = node_work(node, in_place=in_place) or Work(written=written)
    fixed = sum(host_bytes(o.type) for o in dict.fromkeys(node.operands) if _is_fixed(o.node))
    fixed = min(fixed, work.read)  # a gather reads some rows of a table
    moving = work.nbytes - fixed
    return NodeBound(
        node=node,
        name=name,
        macs=work.macs,
        flops=work.flops,
        nbytes=work.nbytes,
        compute_s=work.flops / machine.peak(_arithmetic_type(node)),
        memory_s=fixed / machine.rate(weights) + moving / machine.rate(moving),
        overhead_s=machine.overhead_s,
    )


def _is_fixed(node: Node) -> bool:
    """Whether a node has the same results in every run."""
    return isinstance(node.op, Constant | Param)


def _arithmetic_type(node: Node) -> DType:
    """Return the element type that decides how fast a node's arithmetic is."""
    return (node.operands[0].type if node.operands else node.types[0]).dtype
