"""Turn a graph into ops that one target can lower, and report what happens to each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from rlx.errors import UnsupportedOpError
from rlx.ir import Constant, Graph, Input, Node, Param, RuleTable, Value, rebuild
from rlx.ops.q import QClamp, QRequantize, QTable
from rlx.passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Refusal

Claim: TypeAlias = "Callable[[Node], Refusal | None]"
"""A target's answer for a node: None if it can lower it, else why not."""

Rewrite: TypeAlias = "Callable[[Graph, Node, tuple[Value, ...]], Value]"

REWRITES: RuleTable[Rewrite] = RuleTable("legalize")
"""Other spellings, exact to the last bit, of ops that a target may lack."""


@REWRITES.rule(QClamp, QRequantize)
def as_table(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """Spell a function of one code as a table of its 256 values."""
    codes = np.arange(-128, 128).astype(np.int8)
    (values,) = node.op.evaluate(codes)
    table = QTable(table=tuple(int(v) for v in values), function=node.op.name)
    return new.apply(table, operands[0], quant=node.types[0].quant)


@dataclass(frozen=True, slots=True)
class OpDispatch:
    """What happens to the nodes of one op.

    Attributes:
        op: Name of the op.
        count: Number of nodes.
        path: ``native``, ``rewritten`` or ``unsupported``.
        reason: Why it is not native, else empty.
        nodes: Labels of the nodes.
    """

    op: str
    count: int
    path: str
    reason: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DispatchReport:
    """What happens to each op of a graph on its way to a target or backend.

    Attributes:
        graph: Name of the graph.
        owner: The target or backend.
        entries: What happens to each op.
    """

    graph: str
    owner: str
    entries: tuple[OpDispatch, ...]

    @property
    def ready(self) -> bool:
        """Whether every op is native or can be rewritten."""
        return all(e.path != "unsupported" for e in self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        return {
            "target": self.owner,
            "ready": self.ready,
            "ops": [
                {"op": e.op, "count": e.count, "path": e.path, "reason": e.reason}
                for e in self.entries
            ],
        }

    def require_ready(self) -> None:
        """Raise one UnsupportedOpError that names every op that cannot be lowered."""
        bad = [e for e in self.entries if e.path == "unsupported"]
        if bad:
            lines = [f"{e.op} ({', '.join(e.nodes)}): {e.reason}" for e in bad]
            raise UnsupportedOpError(
                f"{self.owner} cannot lower {len(bad)} kind(s) of op:\n    " + "\n    ".join(lines),
                where=f"graph {self.graph!r}",
                hint="change the model, or pick another target ('rlx targets' lists what each has)",
            )


def dispatch_report(graph: Graph, owner: str, claim: Claim) -> DispatchReport:
    """Return what ``legalize`` would do to each op of ``graph``; nothing is changed."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node in graph.op_nodes:
        refusal = claim(node)
        path = "native" if refusal is None else _other_path(node)
        reason = "" if refusal is None else refusal.reason
        groups.setdefault((node.op.name, path, reason), []).append(node.label)
    entries = (
        OpDispatch(op, len(nodes), path, reason, tuple(nodes))
        for (op, path, reason), nodes in sorted(groups.items())
    )
    return DispatchReport(graph.name, owner, tuple(entries))


def _other_path(node: Node) -> str:
    return "rewritten" if type(node.op) in REWRITES else "unsupported"


def _native(node: Node) -> Refusal | None:
    del node
    return None


@dataclass(frozen=True, slots=True)
class Legalize(Pass):
    """Rewrite what the target lacks into what it has; refuse what cannot be rewritten.

    Attributes:
        owner: Name of the target, for messages.
        claim: The target's answer for each node.
    """

    name: ClassVar[str] = "legalize"
    owner: str = "any target"
    claim: Claim = field(default=_native)

    def apply(self, graph: Graph) -> Graph:
        """Return the graph in ops that the target lowers; the same graph if it is.

        Raises:
            UnsupportedOpError: Some op is neither native nor has another spelling.
        """
        dispatch_report(graph, self.owner, self.claim).require_ready()
        if all(self.claim(node) is None for node in graph.op_nodes):
            return graph
        legal = rebuild(graph, self._visit, by=self.name)
        dispatch_report(legal, self.owner, self.claim).require_ready()
        return legal

    def _visit(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if isinstance(node.op, Input | Param | Constant) or self.claim(node) is None:
            return None
        return [REWRITES[type(node.op)](new, node, operands)]


def count_ops(graph: Graph) -> dict[str, int]:
    """Return how many nodes of each op the graph has, by name, sorted."""
    return dict(sorted(Counter(n.op.name for n in graph.op_nodes).items()))
