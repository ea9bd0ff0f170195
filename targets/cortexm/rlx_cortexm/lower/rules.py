"""The table of rules: by which tactics each integer op becomes C."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from rlx.ir import Refusal, RuleTable, once_per_node, target_hint
from rlx.support.errors import UnsupportedOpError
from rlx.targets import Lowering
from rlx.targets.operands import unsupported
from rlx_cortexm.core import DEFAULT_CORE, Core

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx_c.candidate import Candidate
    from rlx_cortexm.tactic import Tactic

RULES: RuleTable[tuple[Tactic, ...]] = RuleTable("cortexm", hint=target_hint("cortexm"))
"""For each op the tactics that may compute it, the plain one last."""


@dataclass(frozen=True, slots=True)
class Ways(Lowering):
    """The kernels that can compute a node on a core.

    Attributes:
        candidates: At least one, the plain one last.
    """

    candidates: tuple[Candidate, ...]


def candidates(node: Node, core: Core = DEFAULT_CORE) -> tuple[Candidate, ...]:
    """Return every way to compute a node on a core, the plain one last.

    Raises:
        UnsupportedOpError: There is none.
    """
    found = lowering(node, core)
    if isinstance(found, Refusal):
        raise unsupported(node, found.reason)
    return found.candidates


@once_per_node
def lowering(node: Node, core: Core) -> Ways | Refusal:
    """Return every way to compute a node on a core, or why there is none."""
    reason = RULES.reason(type(node.op))
    if reason is not None:
        return Refusal(reason)
    try:
        return Ways(_candidates(node, core))
    except UnsupportedOpError as e:
        return Refusal(e.message)


def _candidates(node: Node, core: Core) -> tuple[Candidate, ...]:
    tactics = [t for t in RULES[type(node.op)] if core.vectors or not t.vectors]
    content = _content(node)
    return tuple(
        _on(core, way, tactic, content) for tactic in tactics for way in tactic.candidates(node)
    )


def _on(core: Core, way: Candidate, tactic: Tactic, content: tuple[Hashable, ...]) -> Candidate:
    """Return a candidate with what it takes on a core, and a key of its tables."""
    if way.kernel is None:
        return way
    return replace(
        way,
        lower=cache(way.lower),
        summary=tactic.summary,
        tables=(way.kernel.template, way.table_bytes, content) if way.table_bytes else None,
        instructions=int(way.instructions * (1 if core.pairs else tactic.portable)),
    )


def _content(node: Node) -> tuple[Hashable, ...]:
    """Return what the tables of a node depend on: its constants, its attributes but the window."""
    op = node.op
    attributes = (v for name, v in op.attributes().items() if name != "window")
    return (*(o for o in node.operands if o.constant is not None), type(op), *attributes)
