"""Report of fusion: fused patterns, and missed ones with the reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rlx.support.text.notebook import table_html
from rlx.support.text.tables import Column, Table, lay_out

if TYPE_CHECKING:
    from rlx.passes.fusion.options import Pattern


class MissReason(StrEnum):
    """Reason for which something that looks like a pattern is not fused."""

    SEVERAL_READERS = "several readers"
    OUTPUT = "output of the graph"
    BIAS_SHAPE = "bias of a wrong shape"
    ACTIVATION = "unsupported activation"
    WEIGHTS = "weights not constant"
    AXIS = "wrong axis"
    DTYPE = "element type"
    SHAPE = "wrong shape"
    ORDER = "wrong order"
    FOREIGN = "op of another package"
    LIMIT = "limit"
    NO_KERNEL = "backend has no kernel"
    POLICY = "switched off"


@dataclass(frozen=True, slots=True)
class NodeNote:
    """A node as a report names it.

    Attributes:
        op: Name of the op.
        label: Identifier in the graph that was fused, and name if it has one.
        origin: Origin of the node.
    """

    op: str
    label: str
    origin: str

    def __str__(self) -> str:
        return f"{self.op} ({self.label})"


@dataclass(frozen=True, slots=True)
class FusedPattern:
    """A pattern that was fused.

    Attributes:
        pattern: Its pattern.
        nodes: The nodes that are fused, in order.
        result: Name of the op that replaces them; several, if several nodes do.
        detail: Its special feature, such as the name of the activation; may be empty.
        exact: Whether the result is the same to the last bit. Weights that are folded or joined
            are summed in another way; nothing else is.
    """

    pattern: Pattern
    nodes: tuple[NodeNote, ...]
    result: str
    detail: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class MissedFusion:
    """A pattern that was not fused, or not as far as it might be.

    Attributes:
        pattern: Its pattern.
        node: Its last node.
        reason: Reason for which it was not fused.
        text: The same in a sentence.
    """

    pattern: Pattern
    node: NodeNote
    reason: MissReason
    text: str


@dataclass(frozen=True, slots=True)
class FusionReport:
    """Effect of fusion on a graph.

    Attributes:
        graph: Name of the graph.
        before: Number of ops before.
        after: Number of ops after.
        fused: Fused patterns, in the order of the graph; folded and joined weights first.
        missed: Patterns that were not fused, with the reasons.
    """

    graph: str
    before: int
    after: int
    fused: tuple[FusedPattern, ...] = ()
    missed: tuple[MissedFusion, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the fused graph is bit-identical."""
        return all(f.exact for f in self.fused)

    @property
    def counts(self) -> dict[str, int]:
        """Number of times that each pattern was fused, most frequent first."""
        return dict(Counter(str(f.pattern) for f in self.fused).most_common())

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        return asdict(self) | {"exact": self.exact, "counts": self.counts}

    def tables(self) -> tuple[Table, Table]:
        """Return the fused and the missed patterns as tables."""
        return self._fused_table(), self._missed_table()

    def _fused_table(self) -> Table:
        columns = (
            Column("pattern"),
            Column("result", shortest=16),
            Column("ops", right=True),
            Column("nodes", sentences=True, shortest=24),
            Column("detail", priority=1, shortest=12),
            Column("origin", priority=2, shortest=16),
        )
        rows = tuple(
            (
                str(f.pattern),
                f.result,
                len(f.nodes),
                _list_nodes(f.nodes),
                f.detail,
                _origin(f.nodes),
            )
            for f in self.fused
        )
        return Table("fused", columns, rows)

    def _missed_table(self) -> Table:
        columns = (
            Column("pattern"),
            Column("node", shortest=16),
            Column("reason"),
            Column("why", sentences=True, shortest=24),
            Column("origin", priority=1, shortest=16),
        )
        rows = tuple(
            (str(m.pattern), str(m.node), str(m.reason), m.text, m.node.origin) for m in self.missed
        )
        return Table("not fused", columns, rows)

    def summary(self) -> str:
        """Return the report in one line."""
        counts = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        return (
            f"{self.graph}: {self.before} ops become {self.after}"
            f" ({counts or 'nothing fused'}; {len(self.missed)} missed)"
        )

    def __str__(self) -> str:
        parts = [self.summary()]
        for table in self.tables():
            if table.rows:
                parts += ["", *(line.text for line in lay_out(table).lines)]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"<FusionReport {self.summary()}>"

    def _repr_html_(self) -> str:
        """Return the report as notebooks show it."""
        fused, missed = self.tables()
        return table_html(fused, [self.summary()]) + table_html(missed)


def _list_nodes(nodes: tuple[NodeNote, ...]) -> str:
    return ", ".join(map(str, nodes))


def _origin(nodes: tuple[NodeNote, ...]) -> str:
    """Return the origins of nodes, each once."""
    return "; ".join(dict.fromkeys(n.origin for n in nodes if n.origin))
