"""Elementwise ops that become one region.

Tests: tests/unit/passes/fusion/test_blocks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir.lookup import OWN_DIALECTS
from rlx.ops.fused import FusedElementwise
from rlx.ops.fused.reading import is_elementwise, number_of
from rlx.passes.fusion.options import Pattern
from rlx.passes.fusion.report import MissReason
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from rlx.ir import Node, Value
    from rlx.passes.fusion.matching import Matching


def fuse_elementwise(matching: Matching) -> None:
    """f(g(x), y), elementwise -> one region.

    A region grows from its last op towards its operands: over values of its shape that nothing
    outside reads. So it is a chain, or a net where a value is read several times within.
    """
    for node in reversed(list(matching.graph.op_nodes)):
        if _can_join(matching, node):
            nodes = _grow(matching, node)
            if len(nodes) > 1 and matching.allowed(Pattern.ELEMENTWISE, FusedElementwise, node):
                detail = f"{counted(len(nodes), 'step')}"
                result = node.results[0]
                matching.group(Pattern.ELEMENTWISE, FusedElementwise, nodes, [result],
                               detail=detail)  # fmt: skip


def _can_join(matching: Matching, node: Node) -> bool:
    """Return whether a node can be part of a region."""
    return is_elementwise(node) and node not in matching.groups and node not in matching.weights


def _grow(matching: Matching, last: Node) -> list[Node]:
    """Return the nodes of the region that ends at ``last``, the last one first."""
    nodes, region = [last], {last}
    operands = set(_tensors(last))
    waiting = {o.node for o in operands}
    while waiting:
        # The node nearest to the end first: all its readers are decided.
        node = max(waiting, key=lambda n: n.index)
        waiting.remove(node)
        if not _belongs(matching, node, last, region):
            continue
        more = (operands - {node.results[0]}) | set(_tensors(node))
        if not _within_limits(matching, len(nodes) + 1, len(more), last):
            continue
        nodes.append(node)
        region.add(node)
        operands = more
        waiting.update(o.node for o in _tensors(node) if o.node not in region)
    return nodes


def _tensors(node: Node) -> list[Value]:
    """Return the operands of a node that are not numbers."""
    return [o for o in node.operands if number_of(o) is None]


def _belongs(matching: Matching, node: Node, last: Node, region: set[Node]) -> bool:
    """Return whether a node becomes part of the region that ends at ``last``; note a miss."""
    if not _can_join(matching, node):
        _note_foreign(matching, node, last)
        return False
    value, pattern = node.results[0], Pattern.ELEMENTWISE
    if matching.readers.closed([value], region) is not None:
        matching.miss_inner(pattern, value)
        return False
    if value.type.shape != last.types[0].shape:
        text = f"{matching.notes[node]} is {value.type}, which is broadcast to {last.types[0]}"
        matching.miss(pattern, node, MissReason.SHAPE, text)
        return False
    return True


def _note_foreign(matching: Matching, node: Node, last: Node) -> None:
    """Write down that an elementwise op of another package parts a region."""
    if (
        node.op.traits.elementwise
        and node.op.dialect not in OWN_DIALECTS
        and node not in matching.weights
    ):
        notes = matching.notes
        text = f"{notes[node]} is not an op of rlx: {notes[last]} starts a new region"
        matching.miss(Pattern.ELEMENTWISE, node, MissReason.FOREIGN, text)


def _within_limits(matching: Matching, steps: int, operands: int, last: Node) -> bool:
    """Return whether a region may have its number of steps and operands; else it is a miss."""
    options = matching.options
    for count, most, what in (
        (steps, options.max_steps, "steps"),
        (operands, options.max_operands, "operands"),
    ):
        if count > most:
            text = f"the region would have more than {most} {what}"
            matching.miss(Pattern.ELEMENTWISE, last, MissReason.LIMIT, text)
            return False
    return True
