"""The time of each node of a program, measured."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rlx.ir.layer_names import main_node, name_nodes, origins_of
from rlx.ops.work import Work, node_work
from rlx.runtime.observation.trace import write_trace
from rlx.support.text.notebook import table_html
from rlx.support.text.tables import Column, Table, lay_out, printable, share_text, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.ir import Node
    from rlx.runtime.observation.roofline import Roofline


class Timed(NamedTuple):
    """One execution of a node: nanoseconds of ``time.perf_counter_ns``."""

    node: Node
    begin_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class TimedRun:
    """One run of a program.

    Attributes:
        begin_ns: Start, in nanoseconds of ``time.perf_counter_ns``.
        end_ns: End; inputs are copied and states kept within it.
        steps: Its nodes, in order.
    """

    begin_ns: int
    end_ns: int
    steps: tuple[Timed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTime:
    """The time of a node.

    Attributes:
        node: The node.
        layer: Name of the layer.
        calls: Number of times that it was measured.
        seconds: Median of its times.
        minimum: The shortest one.
        share: Its share of the medians of all nodes.
        work: Work that it does; None if that is not known.
        bound_s: Seconds that the machine allows at best; None without a machine.
    """

    node: Node
    layer: str
    calls: int
    seconds: float
    minimum: float
    share: float
    work: Work | None
    bound_s: float | None

    @property
    def gflops(self) -> float | None:
        """Thousands of millions of operations a second; None without arithmetic."""
        if self.work is None or not self.work.flops or not self.seconds:
            return None
        return self.work.flops / self.seconds / 1e9

    @property
    def of_bound(self) -> float | None:
        """Best time that the machine allows, as a share of the time; None if it is not known."""
        return None if self.bound_s is None or not self.seconds else self.bound_s / self.seconds

    def as_json(self) -> dict[str, Any]:
        """Return the figures; times are in microseconds."""
        work = self.work
        return {
            "node": self.node.index,
            "op": self.node.op.name,
            "name": self.layer,
            "origin": self.node.origin.location,
            "origins": list(origins_of(self.node)),
            "calls": self.calls,
            "us": 1e6 * self.seconds,
            "minimum_us": 1e6 * self.minimum,
            "share": self.share,
            "macs": None if work is None else work.macs,
            "flops": None if work is None else work.flops,
            "bytes": None if work is None else work.nbytes,
            "gflops": self.gflops,
            "bound_us": None if self.bound_s is None else 1e6 * self.bound_s,
        }


class LayerTime(NamedTuple):
    """The time of all nodes with one name, or from one place of the model."""

    layer: str
    ops: tuple[str, ...]
    seconds: float
    share: float


def _layer_time(group: Sequence[NodeTime]) -> LayerTime:
    main = main_node([n.node for n in group])
    return LayerTime(
        next(n.layer for n in group if n.node is main),
        tuple(dict.fromkeys(n.node.op.name for n in group)),
        sum(n.seconds for n in group),
        sum(n.share for n in group),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """The time of each node of a graph, on one thread.

    Attributes:
        name: Name of the graph.
        where: Device and backend.
        runs: Every run that was measured.
        nodes: Each node that does something, in order of execution.
        process: Number of the process.
        thread: Number of the thread that ran it, and its name.
    """

    name: str
    where: str
    runs: tuple[TimedRun, ...]
    nodes: tuple[NodeTime, ...]
    process: int
    thread: tuple[int, str]

    @property
    def seconds(self) -> float:
        """Median of the times of whole runs."""
        return statistics.median(run.end_ns - run.begin_ns for run in self.runs) / 1e9

    @property
    def in_nodes(self) -> float:
        """Sum of the medians of all nodes."""
        return sum(n.seconds for n in self.nodes)

    @property
    def between(self) -> float:
        """Median time of a run outside its nodes: copies of inputs and states, the loop."""
        rests = [
            run.end_ns - run.begin_ns - sum(s.end_ns - s.begin_ns for s in run.steps)
            for run in self.runs
        ]
        return statistics.median(rests) / 1e9

    def layers(self) -> tuple[LayerTime, ...]:
        """Return the time of each layer, in order of execution.

        Nodes of one name in the model are a layer; without names, those from one place are. It is
        called as its main node is.
        """
        groups: dict[str, list[NodeTime]] = {}
        for node_time in self.nodes:
            node = node_time.node
            key = node.name or node.origin.location or node_time.layer
            groups.setdefault(key, []).append(node_time)
        return tuple(_layer_time(group) for group in groups.values())

    def table(self, *, by_layer: bool = False) -> Table:
        """Return a row for each node, or for each layer."""
        title = f"{printable(self.name)} {self.where}: {len(self.runs)} runs"
        return self._layer_table(title) if by_layer else self._node_table(title)

    def _node_table(self, title: str) -> Table:
        columns = (
            Column("node", shortest=12),
            Column("op", priority=1),
            Column("origin", priority=5, shortest=16),
            Column("calls", priority=4),
            Column("median", "us", total=1e6 * self.in_nodes),
            Column("share", "%", right=True),
            Column(self._rate_unit(), priority=2, right=True),
            Column("of roofline", "%", priority=2, right=True, meaning=_OF_ROOFLINE),
        )
        rows = [
            (
                n.layer,
                n.node.op.name,
                n.node.origin.location,
                n.calls,
                1e6 * n.seconds,
                share_text(n.share, 1.0),
                n.gflops,
                None if n.of_bound is None else share_text(n.of_bound, 1.0),
            )
            for n in self.nodes
        ]
        known = any(n.bound_s is not None for n in self.nodes)
        column_count = len(columns) - (not known)
        cells = tuple(row[:column_count] for row in rows)
        return Table(title, columns[:column_count], cells, self._slowest(), total="all")

    def _rate_unit(self) -> str:
        """Return the unit of a node's rate: integer operations are not FLOP."""
        types = [v.type.dtype for n in self.nodes if n.gflops is not None for v in n.node.results]
        return "GOP/s" if types and all(one.is_integer for one in types) else "GFLOP/s"

    def _slowest(self) -> int | None:
        times = [n.seconds for n in self.nodes]
        return times.index(max(times)) if times else None

    def _layer_table(self, title: str) -> Table:
        columns = (
            Column("layer", shortest=12),
            Column("ops", priority=1, shortest=16),
            Column("median", "us", total=1e6 * self.in_nodes),
            Column("share", "%", right=True),
        )
        layers = self.layers()
        rows = [
            (v.layer, ", ".join(v.ops), 1e6 * v.seconds, share_text(v.share, 1.0)) for v in layers
        ]
        times = [v.seconds for v in layers]
        slowest = times.index(max(times)) if times else None
        return Table(title, columns, tuple(rows), slowest, total="all")

    def as_json(self) -> dict[str, Any]:
        """Return everything but the single runs as JSON values; times are in microseconds."""
        return {
            "graph": self.name,
            "where": self.where,
            "runs": len(self.runs),
            "us": 1e6 * self.seconds,
            "in_nodes_us": 1e6 * self.in_nodes,
            "between_us": 1e6 * self.between,
            "nodes": [n.as_json() for n in self.nodes],
            "layers": [
                {"layer": v.layer, "ops": list(v.ops), "us": 1e6 * v.seconds, "share": v.share}
                for v in self.layers()
            ],
        }

    def to_perfetto(self, path: str | Path) -> None:
        """Write every run as a trace, which ui.perfetto.dev and chrome://tracing show.

        :func:`rlx.runtime.observation.trace.write_trace` writes those of several threads.
        """
        write_trace(path, [self])

    def __repr__(self) -> str:
        slowest = max(self.nodes, key=lambda n: n.seconds, default=None)
        most = "" if slowest is None else (
            f"; most in {slowest.node.op.name} {slowest.layer!r}: {100 * slowest.share:.0f} %"
        )  # fmt: skip
        return f"<Profile of {self.name!r} {self.where}: {text_of(1e6 * self.seconds)} us{most}>"

    def __str__(self) -> str:
        return "\n".join(line.text for line in lay_out(self.table()).lines)

    def _repr_html_(self) -> str:
        return table_html(self.table())


_OF_ROOFLINE = "minimum time that the machine allows, as a share of the time"


def profile_of(
    name: str,
    where: str,
    runs: Sequence[TimedRun],
    *,
    process: int,
    thread: tuple[int, str],
    bounds: Roofline | None = None,
) -> Profile:
    """Return the profile of runs of one program.

    Args:
        name: Name of the graph.
        where: Device and backend.
        runs: At least one; all have the same nodes.
        process: Number of the process.
        thread: Number and name of the thread.
        bounds: The minimum time of each node.
    """
    times: dict[Node, list[int]] = {}
    for run in runs:
        for step in run.steps:
            times.setdefault(step.node, []).append(step.end_ns - step.begin_ns)
    medians = {node: statistics.median(t) / 1e9 for node, t in times.items()}
    whole = sum(medians.values()) or 1.0
    best = {} if bounds is None else {n.node: n.seconds for n in bounds.nodes}
    names = name_nodes(times)
    nodes = tuple(
        NodeTime(
            node=node,
            layer=names[node],
            calls=len(own),
            seconds=medians[node],
            minimum=min(own) / 1e9,
            share=medians[node] / whole,
            work=node_work(node),
            bound_s=best.get(node),
        )
        for node, own in times.items()
    )
    return Profile(name, where, tuple(runs), nodes, process, thread)
