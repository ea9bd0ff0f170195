"""Search for orders of execution by the maximum bytes alive at one step."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rlx.memory.sharing import is_placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rlx.ir import Node, Value
    from rlx.memory.lifetimes import InPlace, Scratch
    from rlx.memory.sharing import BufferSharing

MAX_STATES: Final = 20_000
"""Sets of nodes that a search visits: a count, so that results do not depend on the machine."""

MAX_SEARCHED_NODES: Final = 128
"""Nodes up to which a graph is searched with all of ``MAX_STATES``.

The networks of microcontrollers have fewer. In a larger graph a search either ends soon, since its
branches are few and short, or never: it gets ``STATES_PER_NODE``, so that planning takes time in
proportion to the graph.
"""

STATES_PER_NODE: Final = 4
"""Sets of nodes that a search of a large graph visits for each node."""


def state_limit(nodes: int) -> int:
    """Return the number of sets of nodes visited by a search of a graph."""
    return MAX_STATES if nodes <= MAX_SEARCHED_NODES else min(STATES_PER_NODE * nodes, MAX_STATES)


class _State(NamedTuple):
    """State after a set of nodes have run.

    Attributes:
        alive: Bytes of computed values that still have a user.
        ready: Indices of the nodes that can run next, in rising order.
    """

    alive: int
    ready: tuple[int, ...]


class _Buffer(NamedTuple):
    """A buffer that counts.

    Attributes:
        users: Nodes that read it, as a mask; the bit after the last node for an output in the
            arena.
        nbytes: Its size, rounded up.
    """

    users: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class _NodeMemory:
    """Memory that a node needs.

    Attributes:
        reads: Buffers of its operands.
        writes: Buffers of its results.
        written: Bytes of these.
        overwritable: For each operand that it may overwrite, the users of the operand's buffers.
        scratch: Bytes that it needs while it runs.
    """

    reads: tuple[_Buffer, ...]
    writes: tuple[_Buffer, ...]
    written: int
    overwritable: tuple[int, ...]
    scratch: int


class OrderSearch:
    """Search through all orders of a graph's nodes, as paths through sets of nodes that have run.

    The bytes alive depend on the set alone: on computed values that still have a user. A node that
    may work in place adds nothing if its operand has no other user left. A buffer that an output
    may reuse never counts, as if it were reused in any order; so the peaks here are lower bounds,
    and exact unless such a buffer has several users.

    A set of nodes is an integer whose bit ``i`` represents node ``i``: sets are keys of
    dictionaries, and are tested and joined for every edge of the search.

    Args:
        sharing: The graph, and the bytes that its values share.
        in_place: Operands that a node may overwrite.
        scratch: Bytes that a node needs while it runs.
        alignment: Sizes are rounded up to a multiple of this, in bytes.

    Attributes:
        visited: Sets of nodes that the last search has seen.
    """

    def __init__(
        self, sharing: BufferSharing, in_place: InPlace, scratch: Scratch, alignment: int = 1
    ) -> None:
        self.visited = 0
        self._nodes = list(sharing.graph.op_nodes)
        self._all = (1 << len(self._nodes)) - 1
        self._predecessors, self._successors = _dependencies(self._nodes)
        buffers = _CountedBuffers(sharing, in_place, self._nodes, alignment)
        self._memory = [buffers.memory_of(node, scratch) for node in self._nodes]
        self._start = _State(
            sum(b.nbytes for b in map(buffers.sized, buffers.inputs) if b.users),
            tuple(i for i, mask in enumerate(self._predecessors) if not mask),
        )

    def lowest_peak(self, limit: int | None = None) -> tuple[int, tuple[Node, ...]] | None:
        """Return the minimum peak of all orders in bytes, and an order with it.

        None if ``limit`` sets of nodes (:func:`state_limit` by default) are not enough to be sure.
        """
        limit = state_limit(len(self._nodes)) if limit is None else limit
        came_from: dict[int, tuple[int, int]] = {}
        states: dict[int, _State] = {}
        peaks = {0: 0}
        # Dijkstra's algorithm, with the largest bytes on a path in place of its length.
        waiting = [(0, 0, 0)]
        while waiting and len(peaks) <= limit:
            peak, _, finished = heapq.heappop(waiting)
            if finished == self._all:
                self.visited = len(peaks)
                return peak, self._path(came_from)
            if peak > peaks[finished]:
                continue
            state = states[finished] = self._arrive(finished, came_from, states)
            for i in state.ready:
                after = finished | 1 << i
                higher = max(peak, self._bytes_at(i, finished, state.alive))
                if higher < peaks.get(after, higher + 1):
                    peaks[after], came_from[after] = higher, (finished, i)
                    # Of equal peaks, nearly complete sets first, then the graph's own order.
                    heapq.heappush(waiting, (higher, -after.bit_count(), after))
        self.visited = len(peaks)
        return None

    def below(self, peak: int, limit: int = MAX_STATES) -> Iterator[tuple[Node, ...]]:
        """Yield orders whose peak is less than ``peak``, until ``limit`` steps were tried."""
        path: list[int] = []
        left = limit

        def descend(finished: int, state: _State) -> Iterator[tuple[Node, ...]]:
            nonlocal left
            if len(path) == len(self._nodes):
                yield tuple(self._nodes[i] for i in path)
            for i in state.ready:
                left -= 1
                if left < 0:
                    return
                if self._bytes_at(i, finished, state.alive) < peak:
                    path.append(i)
                    yield from descend(finished | 1 << i, self._after(i, finished, state))
                    path.pop()

        yield from descend(0, self._start)

    def _bytes_at(self, i: int, finished: int, alive: int) -> int:
        """Return the bytes while node ``i`` runs after ``finished``, which leave ``alive``."""
        memory, after = self._memory[i], finished | 1 << i
        for users in memory.overwritable:
            if users & after == users:
                return alive + memory.scratch
        return alive + memory.written + memory.scratch

    def _after(self, i: int, finished: int, state: _State) -> _State:
        """Return the state when node ``i`` has run after the nodes ``finished``."""
        memory, after = self._memory[i], finished | 1 << i
        alive = state.alive
        for users, nbytes in memory.writes:
            if users & after != users:
                alive += nbytes
        for users, nbytes in memory.reads:
            if users & after == users:
                alive -= nbytes
        ready = [k for k in state.ready if k != i]
        more = [
            k for k in self._successors[i] if self._predecessors[k] & after == self._predecessors[k]
        ]
        return _State(alive, tuple(sorted([*ready, *more]) if more else ready))

    def _arrive(
        self, finished: int, came_from: dict[int, tuple[int, int]], states: dict[int, _State]
    ) -> _State:
        """Return the state of a set of nodes by the one that it was reached from."""
        if not finished:
            return self._start
        before, i = came_from[finished]
        return self._after(i, before, states[before])

    def _path(self, came_from: dict[int, tuple[int, int]]) -> tuple[Node, ...]:
        finished, order = self._all, []
        while finished:
            finished, i = came_from[finished]
            order.append(self._nodes[i])
        return tuple(reversed(order))


class _CountedBuffers:
    """Buffers of the arena whose bytes depend on the order, and their users.

    Args:
        sharing: As for ``OrderSearch``.
        in_place: As for ``OrderSearch``.
        nodes: The nodes, whose indices are the bits of masks.
        alignment: As for ``OrderSearch``.
    """

    def __init__(
        self, sharing: BufferSharing, in_place: InPlace, nodes: Sequence[Node], alignment: int
    ) -> None:
        self._sharing = sharing
        self._in_place = in_place
        self._nodes = nodes
        self._alignment = alignment
        self._buffers_of = sharing.buffers()
        self._users = self._find_users()
        self._excluded = self._in_states()
        if not sharing.ports_inside:
            self._excluded |= self._outside_the_arena()
        self.inputs = self._arena_inputs()
        self._counted = {*self.inputs, *self._results()}

    def memory_of(self, node: Node, scratch: Scratch) -> _NodeMemory:
        """Return the memory that a node needs."""
        read = chain.from_iterable(self._buffers_of[o] for o in node.operands)
        reads = tuple(self.sized(b) for b in dict.fromkeys(read) if b in self._counted)
        writes = tuple(self.sized(v) for v in node.results if v in self._counted)
        return _NodeMemory(
            reads,
            writes,
            sum(buffer.nbytes for buffer in writes),
            self._overwritable(node),
            self._round(scratch(node)),
        )

    def sized(self, value: Value) -> _Buffer:
        """Return the buffer of a value that has one of its own."""
        return _Buffer(self._users.get(value, 0), self._round(self._sharing.nbytes(value)))

    def _round(self, nbytes: int) -> int:
        return -(-nbytes // self._alignment) * self._alignment

    def _find_users(self) -> dict[Value, int]:
        """Return the nodes that use each buffer, as a mask."""
        readers: dict[Value, list[int]] = {}
        for i, node in enumerate(self._nodes):
            for buffer in chain.from_iterable(self._buffers_of[o] for o in node.operands):
                readers.setdefault(buffer, []).append(i)
        if self._sharing.ports_inside:
            # Outputs stay alive: their reader never runs.
            outputs = self._sharing.graph.outputs
            for buffer in chain.from_iterable(self._buffers_of[v] for v in outputs):
                readers.setdefault(buffer, []).append(len(self._nodes))
        return {buffer: _mask(indices) for buffer, indices in readers.items()}

    def _in_states(self) -> set[Value]:
        """Return the buffers of states, and those that may be there."""
        values = (*self._sharing.states, *self._sharing.states_of(self._in_place))
        return set(chain.from_iterable(self._buffers_of[v] for v in values))

    def _outside_the_arena(self) -> set[Value]:
        """Return the buffers of the caller, and those that an output may reuse."""
        ports = (*self._sharing.graph.inputs, *self._sharing.graph.outputs)
        outside = set(chain.from_iterable(self._buffers_of[v] for v in ports))
        for node in reversed(self._nodes):
            if any(not outside.isdisjoint(self._buffers_of[v]) for v in node.results):
                overwritable = (node.operands[k] for k in self._in_place(node))
                outside.update(*(self._buffers_of[operand] for operand in overwritable))
        return outside

    def _arena_inputs(self) -> list[Value]:
        """Return the inputs that are in the arena before the first node runs."""
        if not self._sharing.ports_inside:
            return []
        return [v for v in self._sharing.graph.inputs if v not in self._sharing.states]

    def _results(self) -> Iterator[Value]:
        """Yield the results of nodes that have a buffer of their own in the arena."""
        for value in chain.from_iterable(node.results for node in self._nodes):
            if self._buffers_of[value] == (value,) and value not in self._excluded:
                yield value

    def _overwritable(self, node: Node) -> tuple[int, ...]:
        """Return the users of the buffers of each operand that the node may overwrite."""
        masks = []
        for buffers in (self._buffers_of[node.operands[k]] for k in self._in_place(node)):
            if all(is_placed(b) and b not in self._excluded for b in buffers):
                mask = 0
                for buffer in buffers:
                    mask |= self._users[buffer]
                masks.append(mask)
        return tuple(masks)


def _dependencies(nodes: Sequence[Node]) -> tuple[list[int], list[list[int]]]:
    """Return the predecessors of each node, as a mask, and its successors."""
    index = {node: i for i, node in enumerate(nodes)}
    predecessors: list[int] = []
    successors: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        sources = {index[o.node] for o in node.operands if o.node in index}
        for source in sources:
            successors[source].append(i)
        predecessors.append(_mask(sources))
    return predecessors, successors


def _mask(indices: Iterable[int]) -> int:
    mask = 0
    for index in indices:
        mask |= 1 << index
    return mask
