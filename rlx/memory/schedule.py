"""Orders of execution that keep few bytes alive.

Tests: tests/unit/memory/test_large.py
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from rlx.ir.graph import Source
from rlx.ir.module import Region
from rlx.memory.lifetimes import (
    elementwise_in_place,
    lifetimes_in,
    no_scratch,
    peak_of,
    scratch_lifetimes,
)
from rlx.memory.orders import OrderSearch
from rlx.memory.sharing import BufferSharing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Node
    from rlx.memory.lifetimes import InPlace, Scratch


def schedule(
    graph: Graph,
    in_place: InPlace = elementwise_in_place,
    scratch: Scratch = no_scratch,
    *,
    ports_inside: bool = False,
) -> tuple[Node, ...]:
    """Return the nodes that compute, in the order of the lowest peak found.

    Three orders are compared: the graph's own, a greedy one that leaves the fewest bytes alive
    after each step, and the best one if the graph is small enough to search them all. Of equal
    peaks the first in this list wins.
    """
    sharing = BufferSharing(graph, ports_inside=ports_inside)
    orders = candidates(graph, OrderSearch(sharing, in_place, scratch).lowest_peak())
    return min(orders, key=lambda order: _peak(sharing, order, in_place, scratch))


def candidates(graph: Graph, lowest: tuple[int, tuple[Node, ...]] | None) -> list[tuple[Node, ...]]:
    """Return the orders that :func:`schedule` compares, with the ``lowest`` of a search."""
    found = [tuple(graph.op_nodes), _fewest_bytes_first(graph)]
    return list(dict.fromkeys([*found, lowest[1]] if lowest else found))


def peak_bytes(
    graph: Graph,
    order: Sequence[Node],
    in_place: InPlace = elementwise_in_place,
    scratch: Scratch = no_scratch,
    *,
    ports_inside: bool = False,
) -> int:
    """Return the largest sum of arena bytes alive at one step: a lower bound on any arena."""
    return _peak(BufferSharing(graph, ports_inside=ports_inside), order, in_place, scratch)


def _peak(
    sharing: BufferSharing, order: Sequence[Node], in_place: InPlace, scratch: Scratch
) -> int:
    buffers = [*lifetimes_in(sharing, order, in_place), *scratch_lifetimes(order, scratch)]
    return peak_of([b for b in buffers if b.region is Region.ARENA and b.last >= 0])


def _fewest_bytes_first(graph: Graph) -> tuple[Node, ...]:
    """Return a topological order that always chooses the ready node with the best balance."""
    progress = _Progress(graph)
    ready = [progress.entry(node) for node, count in progress.waits.items() if not count]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)[-1]
        if node in progress.done:
            continue  # its balance had improved since it was entered here
        for changed in progress.run(node):
            heapq.heappush(ready, progress.entry(changed))
    return tuple(progress.done)


class _Progress:
    """Nodes that have run, one after the other.

    Attributes:
        done: Those nodes, in order.
        waits: For each node, how many nodes it still waits for.
    """

    def __init__(self, graph: Graph) -> None:
        self.done: dict[Node, None] = {}
        self.waits = {
            n: len({o.node for o in n.operands if not isinstance(o.node.op, Source)})
            for n in graph.op_nodes
        }
        self._readers = {v: tuple(dict.fromkeys(nodes)) for v, nodes in graph.users().items()}
        self._left = {value: len(nodes) for value, nodes in self._readers.items()}
        for value in graph.outputs:
            self._left[value] += 1  # by the caller, who never comes

    def entry(self, node: Node) -> tuple[int, int, Node]:
        """Return the bytes that ``node`` adds less those that it frees, its index, and the node."""
        freed = sum(
            o.type.nbytes
            for o in dict.fromkeys(node.operands)
            if o.constant is None and self._left[o] == 1
        )
        return sum(t.nbytes for t in node.types) - freed, node.index, node

    def run(self, node: Node) -> list[Node]:
        """Note that ``node`` has run; return the ready ones that it made so, or cheaper."""
        self.done[node] = None
        changed = {n: None for value in node.results for n in self._readers[value]}
        for reader in changed:
            self.waits[reader] -= 1
        for operand in dict.fromkeys(node.operands):
            self._left[operand] -= 1
            if self._left[operand] == 1:
                # Whoever still reads it frees it now.
                last = (n for n in self._readers[operand] if n not in self.done)
                changed.update(dict.fromkeys(last))
        return [n for n in changed if not self.waits[n]]
