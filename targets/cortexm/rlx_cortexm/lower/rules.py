"""The table of rules: how each integer op becomes C."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from rlx.errors import UnsupportedOpError
from rlx.ir import Refusal, RuleTable, once_per_node
from rlx.target import Lowering
from rlx_c.candidate import Candidate
from rlx_cortexm import costs
from rlx_cortexm.core import DEFAULT_CORE, Core
from rlx_cortexm.operands import unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from rlx.ir import Node, Op
    from rlx_c.layer import Kernel, Layer

Rule: TypeAlias = "Callable[[Node], Layer | tuple[Candidate, ...]]"
"""Makes the layer of a node, or names several ways; raises UnsupportedOpError where that cannot be
done exactly."""

RULES: RuleTable[Rule] = RuleTable("cortexm")


Extension: TypeAlias = "Callable[[Node], tuple[Candidate, ...]]"
"""Names more ways to compute a node, on cores with an extension; none if no kernel fits it."""

VECTOR_RULES: dict[type[Op], Extension] = {}
"""Kernels for the vector extension MVE, by op."""


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
    found = RULES[type(node.op)](node)
    ways = found if isinstance(found, tuple) else (Candidate.of(found),)
    if core.vectors and type(node.op) in VECTOR_RULES:
        ways = (*VECTOR_RULES[type(node.op)](node), *ways)
    content = _content(node)
    return tuple(
        replace(
            way,
            lower=cache(way.lower),
            tables=(way.kernel.template, way.table_bytes, content) if way.table_bytes else None,
            instructions=_instructions(way, way.kernel, core),
        )
        if way.kernel is not None
        else way
        for way in ways
    )


def _instructions(way: Candidate, kernel: Kernel, core: Core) -> int:
    """Return what a way takes on a core."""
    return int(way.instructions * (1 if core.pairs else costs.PORTABLE.get(kernel.template, 1)))


def _content(node: Node) -> tuple[Hashable, ...]:
    """Return what the tables of a node depend on: its constants, its attributes but the window."""
    op = node.op
    attributes = (v for name, v in op.attributes().items() if name != "window")
    return (*(o for o in node.operands if o.constant is not None), type(op), *attributes)
