"""What a backend does with each op of a graph: nothing falls back silently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import Graph, rebuild
from rlx.ops.nn import NnOp
from rlx.passes.legalize import DispatchReport, OpDispatch

if TYPE_CHECKING:
    from rlx.ir import Node, Value
    from rlx.runtime.backend import Backend

_MOST_ROUNDS = 16


def legalize(graph: Graph, backend: Backend) -> Graph:
    """Return ``graph`` with the model-level ops that ``backend`` refuses decomposed."""

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if not isinstance(node.op, NnOp) or backend.refusal(node) is None:
            return None
        return node.op.decompose(new, *operands)

    def refused(graph: Graph) -> bool:
        return any(isinstance(n.op, NnOp) and backend.refusal(n) for n in graph.op_nodes)

    for _ in range(_MOST_ROUNDS):
        if not refused(graph):
            return graph
        graph = rebuild(graph, visit, by="decompose")
    raise AssertionError("model-level ops still decompose")


def dispatch(graph: Graph, backend: Backend) -> DispatchReport:
    """Return what ``backend`` does with each op of ``graph``; nothing is compiled.

    A model-level op whose decomposition holds an unsupported op is unsupported, for that reason.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node in graph.op_nodes:
        reason = backend.refusal(node)
        path = "native" if reason is None else "unsupported"
        if reason is not None and isinstance(node.op, NnOp):
            missing = _missing(node, backend)
            path = "unsupported" if missing else "rewritten"
            reason = missing or reason
        groups.setdefault((node.op.name, path, reason or ""), []).append(node.label)
    return DispatchReport(
        graph.name,
        f"backend {backend.name}",
        tuple(
            OpDispatch(op, len(nodes), path, reason, tuple(nodes))
            for (op, path, reason), nodes in sorted(groups.items())
        ),
    )


def _missing(node: Node, backend: Backend) -> str | None:
    """Return why the decomposition of a model-level node cannot be run, or None if it can."""
    alone = Graph(node.op.name)
    alone.append(node.op, *(alone.input(str(i), o.type) for i, o in enumerate(node.operands)))
    for part in legalize(alone, backend).op_nodes:
        reason = backend.refusal(part)
        if reason is not None:
            return f"it comes down to {part.op.name}: {reason}"
    return None
