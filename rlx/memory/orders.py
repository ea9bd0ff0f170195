"""Search for orders of execution by the maximum bytes alive at one step."""

from __future__ import annotations

import heapq
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rlx.memory.sharing import is_placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rlx.ir import Node, Value
    from rlx.memory.lifetimes import InPlace, Scratch
    from rlx.memory.sharing import Sharing

STATE_LIMIT: Final = 20_000
"""Sets of nodes that a search visits: a count, so that results do not depend on the machine."""

SEARCHED_NODES: Final = 128
"""Nodes up to which a graph is searched with all of ``STATE_LIMIT``.

The networks of microcontrollers have fewer. In a larger graph a search either ends soon, since its
branches are few and short, or never: it gets ``STATES_PER_NODE``, so that planning takes time in
proportion to the graph.
"""

STATES_PER_NODE: Final = 4
"""Sets of nodes that a search of a large graph visits for each node."""


def state_limit(nodes: int) -> int:
    """Return the number of sets of nodes visited by a search of a graph of so many nodes."""
    return STATE_LIMIT if nodes <= SEARCHED_NODES else min(STATES_PER_NODE * nodes, STATE_LIMIT)


class _State(NamedTuple):
    """State after a set of nodes have run.

    Attributes:
        alive: Bytes of computed values that still have a user.
        ready: Places of the nodes that can run next, in rising order.
    """

    alive: int
    ready: tuple[int, ...]


class Orders:
    """All orders of a graph's nodes, as paths through sets of nodes that have run.

    The bytes alive depend on the set alone: on computed values that still have a user. A node that
    may work in place adds nothing if its operand has no other user left. A buffer that an output
    may reuse never counts, as if it were reused in any order; so the peaks here are lower bounds,
    and exact unless such a buffer has several users.

    Args:
        sharing: The graph, and what it says about bytes that values share.
        in_place: Operands that a node may overwrite.
        scratch: Bytes that a node needs while it runs.
        alignment: Sizes are rounded up to a multiple of this, in bytes.

    Attributes:
        visited: Sets of nodes that the last search has seen.
    """

    def __init__(
        self, sharing: Sharing, in_place: InPlace, scratch: Scratch, alignment: int = 1
    ) -> None:
        graph, inside = sharing.graph, sharing.ports_inside
        self.visited = 0
        self._nodes = list(graph.op_nodes)
        self._all = (1 << len(self._nodes)) - 1
        self._alignment = alignment
        self._nbytes = sharing.nbytes
        self._scratch = [self._round(scratch(n)) for n in self._nodes]
        index = {node: i for i, node in enumerate(self._nodes)}
        self._wanted, self._next = _dependencies(self._nodes, index)
        self._buffers_of = sharing.buffers()
        self._users = self._find_users(sharing)
        given = [v for v in graph.inputs if v not in sharing.states] if inside else []
        self._outside = self._in_states(sharing, in_place)
        if not inside:
            self._outside |= self._outside_the_arena(sharing, in_place)
        self._takes = [self._takers(node, in_place) for node in self._nodes]
        made = [
            [v for v in n.results if self._buffers_of[v] == (v,) and v not in self._outside]
            for n in self._nodes
        ]
        self._made = [[self._sized(v) for v in values] for values in made]
        self._adds = [sum(size for _, size in values) for values in self._made]
        counted = {*given, *chain.from_iterable(made)}
        self._reads = [self._read_by(node, counted) for node in self._nodes]
        self._start = _State(
            sum(size for users, size in map(self._sized, given) if users),
            tuple(i for i, wanted in enumerate(self._wanted) if not wanted),
        )

    def lowest_peak(self, limit: int | None = None) -> tuple[int, tuple[Node, ...]] | None:
        """Return the minimum peak of all orders in bytes, and an order with it.

        None if ``limit`` sets of nodes (:func:`state_limit` by default) are not enough to be sure.
        """
        limit = state_limit(len(self._nodes)) if limit is None else limit
        came_from: dict[int, tuple[int, int]] = {}
        states: dict[int, _State] = {}
        peaks = {0: 0}
        waiting = [(0, 0, 0)]
        while waiting and len(peaks) <= limit:
            peak, _, done = heapq.heappop(waiting)
            if done == self._all:
                self.visited = len(peaks)
                return peak, self._path(came_from)
            if peak > peaks[done]:
                continue
            state = states[done] = self._arrive(done, came_from, states)
            for i in state.ready:
                after, higher = done | 1 << i, max(peak, self._bytes_at(i, done, state.alive))
                if higher < peaks.get(after, higher + 1):
                    peaks[after], came_from[after] = higher, (done, i)
                    # Of equal peaks, nearly complete sets first, then the graph's own order.
                    heapq.heappush(waiting, (higher, -after.bit_count(), after))
        self.visited = len(peaks)
        return None

    def below(self, peak: int, limit: int = STATE_LIMIT) -> Iterator[tuple[Node, ...]]:
        """Yield orders whose peak is less than ``peak``, until ``limit`` steps were tried."""
        path: list[int] = []
        left = limit

        def descend(done: int, state: _State) -> Iterator[tuple[Node, ...]]:
            nonlocal left
            if len(path) == len(self._nodes):
                yield tuple(self._nodes[i] for i in path)
            for i in state.ready:
                left -= 1
                if left < 0:
                    return
                if self._bytes_at(i, done, state.alive) < peak:
                    path.append(i)
                    yield from descend(done | 1 << i, self._after(i, done, state))
                    path.pop()

        yield from descend(0, self._start)

    def _round(self, nbytes: int) -> int:
        return -(-nbytes // self._alignment) * self._alignment

    def _sized(self, buffer: Value) -> tuple[int, int]:
        """Return the nodes that use a buffer, as a mask, and its bytes."""
        return self._users.get(buffer, 0), self._round(self._nbytes(buffer))

    def _find_users(self, sharing: Sharing) -> dict[Value, int]:
        """Return the nodes that use each buffer, as a mask."""
        readers: dict[Value, list[int]] = {}
        for i, node in enumerate(self._nodes):
            for buffer in chain.from_iterable(self._buffers_of[o] for o in node.operands):
                readers.setdefault(buffer, []).append(i)
        if sharing.ports_inside:
            # Outputs stay alive: their reader never runs.
            for buffer in chain.from_iterable(self._buffers_of[v] for v in sharing.graph.outputs):
                readers.setdefault(buffer, []).append(len(self._nodes))
        return {buffer: _mask(places) for buffer, places in readers.items()}

    def _in_states(self, sharing: Sharing, in_place: InPlace) -> set[Value]:
        """Return the buffers of states, and those that may be there."""
        values = (*sharing.states, *sharing.homes(in_place))
        return set(chain.from_iterable(self._buffers_of[v] for v in values))

    def _outside_the_arena(self, sharing: Sharing, in_place: InPlace) -> set[Value]:
        """Return the buffers of the caller, and those that an output may reuse."""
        ports = (*sharing.graph.inputs, *sharing.graph.outputs)
        outside = set(chain.from_iterable(self._buffers_of[v] for v in ports))
        for node in reversed(self._nodes):
            if any(not outside.isdisjoint(self._buffers_of[v]) for v in node.results):
                outside.update(*(self._buffers_of[node.operands[k]] for k in in_place(node)))
        return outside

    def _takers(self, node: Node, in_place: InPlace) -> list[int]:
        """Return the users of the buffers of each operand that the node may overwrite."""
        found = [self._buffers_of[node.operands[k]] for k in in_place(node)]
        masks = []
        for buffers in found:
            if all(is_placed(b) and b not in self._outside for b in buffers):
                mask = 0
                for buffer in buffers:
                    mask |= self._users[buffer]
                masks.append(mask)
        return masks

    def _read_by(self, node: Node, counted: set[Value]) -> list[tuple[int, int]]:
        """Return users and bytes of the buffers that a node reads."""
        read = chain.from_iterable(self._buffers_of[o] for o in node.operands)
        return [self._sized(buffer) for buffer in dict.fromkeys(read) if buffer in counted]

    def _bytes_at(self, i: int, done: int, alive: int) -> int:
        """Return the bytes alive while node ``i`` runs after ``done``, which leave ``alive``."""
        after = done | 1 << i
        for users in self._takes[i]:
            if users & after == users:
                return alive + self._scratch[i]
        return alive + self._adds[i] + self._scratch[i]

    def _after(self, i: int, done: int, state: _State) -> _State:
        """Return the state when node ``i`` has run after the nodes ``done``."""
        after = done | 1 << i
        alive = state.alive
        for users, nbytes in self._made[i]:
            if users & after != users:
                alive += nbytes
        for users, nbytes in self._reads[i]:
            if users & after == users:
                alive -= nbytes
        ready = [k for k in state.ready if k != i]
        more = [k for k in self._next[i] if self._wanted[k] & after == self._wanted[k]]
        return _State(alive, tuple(sorted([*ready, *more]) if more else ready))

    def _arrive(
        self, done: int, came_from: dict[int, tuple[int, int]], states: dict[int, _State]
    ) -> _State:
        """Return the state of a set of nodes by the one that it was reached from."""
        if not done:
            return self._start
        before, i = came_from[done]
        return self._after(i, before, states[before])

    def _path(self, came_from: dict[int, tuple[int, int]]) -> tuple[Node, ...]:
        done, order = self._all, []
        while done:
            done, i = came_from[done]
            order.append(self._nodes[i])
        return tuple(reversed(order))


def _dependencies(
    nodes: Sequence[Node], index: dict[Node, int]
) -> tuple[list[int], list[list[int]]]:
    """Return for each node those that it waits for, as a mask, and those that wait for it."""
    wanted: list[int] = []
    waiting: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        sources = {index[o.node] for o in node.operands if o.node in index}
        for source in sources:
            waiting[source].append(i)
        wanted.append(_mask(sources))
    return wanted, waiting


def _mask(places: Iterable[int]) -> int:
    mask = 0
    for place in places:
        mask |= 1 << place
    return mask
