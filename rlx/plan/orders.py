"""Search for orders of execution by the maximum bytes alive at one step."""

from __future__ import annotations

import heapq
from itertools import chain
from typing import TYPE_CHECKING, Final

from rlx.plan.lifetimes import joined, views

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Graph, Node, Value
    from rlx.plan.lifetimes import InPlace, Scratch

STATE_LIMIT: Final = 20_000
"""Sets of nodes that a search visits: a count, so that results do not depend on the machine."""


class Orders:
    """All orders of a graph's nodes, as paths through sets of nodes that have run.

    The bytes alive depend on the set alone: on computed values that still have a user. A node that
    may work in place adds nothing if its operand has no other user left. A buffer that an output
    may reuse never counts, as if it were reused in any order; so the peaks here are lower bounds,
    and exact unless such a buffer has several users.

    Args:
        graph: The graph, with static shapes.
        in_place: Which operands a node may overwrite.
        scratch: Bytes that a node needs while it runs.
        alignment: Sizes are rounded up to a multiple of this, in bytes.
        ports_inside: Inputs and outputs are in the arena.
    """

    def __init__(
        self,
        graph: Graph,
        in_place: InPlace,
        scratch: Scratch,
        alignment: int = 1,
        *,
        ports_inside: bool = False,
    ) -> None:
        self._nodes = list(graph.op_nodes)
        self._alignment = alignment
        self._scratch = [self._round(scratch(n)) for n in self._nodes]
        index = {node: i for i, node in enumerate(self._nodes)}
        self._wanted = [_mask(index, (o.node for o in n.operands)) for n in self._nodes]
        self._buffers_of = _shared_buffers(graph, alignment, ports_inside=ports_inside)
        self._users: dict[Value, int] = {}
        for i, node in enumerate(self._nodes):
            for buffer in chain.from_iterable(self._buffers_of[o] for o in node.operands):
                self._users[buffer] = self._users.get(buffer, 0) | 1 << i
        self._given = list(graph.inputs) if ports_inside else []
        if ports_inside:
            # Outputs stay alive: their reader never runs.
            for buffer in chain.from_iterable(self._buffers_of[v] for v in graph.outputs):
                self._users[buffer] = self._users.get(buffer, 0) | 1 << len(self._nodes)
        self._outside = set() if ports_inside else self._outside_the_arena(graph, in_place)
        self._takes = [self._takers(node, in_place) for node in self._nodes]
        self._made = [
            [v for v in n.results if self._buffers_of[v] == (v,) and v not in self._outside]
            for n in self._nodes
        ]

    def lowest_peak(self, limit: int = STATE_LIMIT) -> tuple[int, tuple[Node, ...]] | None:
        """Return the minimum peak of all orders in bytes, and an order with it.

        None if ``limit`` sets of nodes are not enough to be sure.
        """
        everything = (1 << len(self._nodes)) - 1
        came_from: dict[int, tuple[int, int]] = {}
        peaks = {0: 0}
        waiting = [(0, 0, 0)]
        while waiting and len(peaks) <= limit:
            peak, _, done = heapq.heappop(waiting)
            if done == everything:
                return peak, self._path(came_from)
            if peak > peaks[done]:
                continue
            for i in self._ready(done):
                after, higher = done | 1 << i, max(peak, self._bytes_at(i, done))
                if higher < peaks.get(after, higher + 1):
                    peaks[after], came_from[after] = higher, (done, i)
                    # Of equal peaks, nearly complete sets first, then the graph's own order.
                    heapq.heappush(waiting, (higher, -after.bit_count(), after))
        return None

    def below(self, peak: int, limit: int = STATE_LIMIT) -> Iterator[tuple[Node, ...]]:
        """Yield orders whose peak is less than ``peak``, until ``limit`` steps were tried."""
        path: list[int] = []
        left = limit

        def descend(done: int) -> Iterator[tuple[Node, ...]]:
            nonlocal left
            if len(path) == len(self._nodes):
                yield tuple(self._nodes[i] for i in path)
            for i in self._ready(done):
                left -= 1
                if left < 0:
                    return
                if self._bytes_at(i, done) < peak:
                    path.append(i)
                    yield from descend(done | 1 << i)
                    path.pop()

        yield from descend(0)

    def _round(self, nbytes: int) -> int:
        return -(-nbytes // self._alignment) * self._alignment

    def _outside_the_arena(self, graph: Graph, in_place: InPlace) -> set[Value]:
        """Return the buffers of the caller, and those that an output may reuse."""
        ports = (*graph.inputs, *graph.outputs)
        outside = set(chain.from_iterable(self._buffers_of[v] for v in ports))
        for node in reversed(self._nodes):
            if any(outside.intersection(self._buffers_of[v]) for v in node.results):
                outside.update(*(self._buffers_of[node.operands[k]] for k in in_place(node)))
        return outside

    def _takers(self, node: Node, in_place: InPlace) -> list[tuple[Value, ...]]:
        """Return the buffers of each operand that the node may overwrite."""
        found = [self._buffers_of[node.operands[k]] for k in in_place(node)]
        return [
            buffers
            for buffers in found
            if not any(b.constant is not None or b in self._outside for b in buffers)
        ]

    def _ready(self, done: int) -> list[int]:
        return [
            i for i, wanted in enumerate(self._wanted)
            if not done >> i & 1 and wanted & done == wanted
        ]  # fmt: skip

    def _bytes_at(self, i: int, done: int) -> int:
        """Return the bytes alive while node ``i`` runs after the nodes ``done``."""
        after = done | 1 << i
        made = (b for j, made in enumerate(self._made) if done >> j & 1 for b in made)
        alive = sum(
            self._round(buffer.type.nbytes)
            for buffer in chain(self._given, made)
            if self._users.get(buffer, 0) & ~done
        )
        taken = any(
            all(not self._users[buffer] & ~after for buffer in buffers)
            for buffers in self._takes[i]
        )
        added = 0 if taken else sum(self._round(v.type.nbytes) for v in self._made[i])
        return alive + added + self._scratch[i]

    def _path(self, came_from: dict[int, tuple[int, int]]) -> tuple[Node, ...]:
        done, order = (1 << len(self._nodes)) - 1, []
        while done:
            done, i = came_from[done]
            order.append(self._nodes[i])
        return tuple(reversed(order))


def _mask(index: dict[Node, int], nodes: Iterator[Node]) -> int:
    mask = 0
    for node in nodes:
        if node in index:
            mask |= 1 << index[node]
    return mask


def _shared_buffers(
    graph: Graph, alignment: int, *, ports_inside: bool
) -> dict[Value, tuple[Value, ...]]:
    """Return for each value those whose bytes it shares in any order, or itself."""
    shared: dict[Value, tuple[Value, ...]] = {}
    left = views(graph, ports_inside=ports_inside)
    wholes = {whole for whole, _ in joined(graph, alignment).values()}
    for node in graph.nodes:
        for value in node.results:
            if value in wholes:
                parts = (shared[operand] for operand in node.operands)
                shared[value] = tuple(dict.fromkeys(chain.from_iterable(parts)))
            elif value in left:
                shared[value] = shared[node.operands[0]]
            else:
                shared[value] = (value,)
    return shared
