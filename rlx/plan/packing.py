"""Offsets of buffers whose times are known: greedy tries, then an exact search for what is left.

This is dynamic storage allocation: boxes whose sides in time are fixed slide in memory only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.plan.lifetimes import Lifetime

SEARCH_LIMIT: Final = 4000
"""Partial packings that the search looks at: a count, so that results are the same anywhere."""


def pack(
    buffers: Sequence[Lifetime], alignment: int, *, limit: int = SEARCH_LIMIT
) -> tuple[list[int], int]:
    """Return an offset for each buffer and the bytes of them all, as small as found.

    The result is never larger than that of placing by size, and it is the optimum whenever the
    search ends before ``limit``, or when some try reaches the most bytes alive at one step.

    Args:
        buffers: What has to be placed.
        alignment: Every offset becomes a multiple of this, in bytes.
        limit: Partial packings that the exact search may look at.
    """
    sizes = [-(-b.nbytes // alignment) * alignment for b in buffers]
    meets = _meetings(buffers)
    alive = _alive_together(buffers)
    bound = max((sum(sizes[i] for i in group) for group in alive), default=0)
    best = _greedy(buffers, sizes, meets, bound)
    if best[1] > bound:
        best = _Search(sizes, meets, alive, best, limit).run()
    return best


def _meetings(buffers: Sequence[Lifetime]) -> list[list[int]]:
    """Return for each buffer which others are alive at the same time, in order."""
    first = np.array([b.first for b in buffers], np.int64)
    last = np.array([b.last for b in buffers], np.int64)
    meets = []
    for i in range(len(buffers)):
        together = (first <= last[i]) & (first[i] <= last)
        together[i] = False
        meets.append(np.flatnonzero(together).tolist())
    return meets


def _alive_together(buffers: Sequence[Lifetime]) -> list[list[int]]:
    """Return the largest sets of buffers alive at one step: each begins where some buffer does."""
    first = np.array([b.first for b in buffers], np.int64)
    last = np.array([b.last for b in buffers], np.int64)
    starts = sorted({b.first for b in buffers})
    groups = [np.flatnonzero((first <= s) & (s <= last)).tolist() for s in starts]
    return [g for n, g in enumerate(groups) if not _inside(g, groups[n + 1 : n + 2])]


def _inside(group: list[int], following: Sequence[list[int]]) -> bool:
    return any(set(group) <= set(other) for other in following)


def _greedy(
    buffers: Sequence[Lifetime],
    sizes: Sequence[int],
    meets: Sequence[Sequence[int]],
    bound: int,
) -> tuple[list[int], int]:
    """Return the best of several orders of placing: the first that takes ``bound`` bytes only."""
    indices = range(len(buffers))
    starts = (
        sorted(indices, key=lambda i: -sizes[i]),
        sorted(indices, key=lambda i: -sizes[i] * (buffers[i].last - buffers[i].first + 1)),
        sorted(indices, key=lambda i: (buffers[i].first, -sizes[i])),
        sorted(indices, key=lambda i: (-sum(sizes[j] for j in meets[i]), -sizes[i])),
    )
    best = _place(starts[0], sizes, meets)
    for order in starts[1:]:
        if best[1] == bound:
            return best
        best = min(best, _place(order, sizes, meets), key=lambda placed: placed[1])
    return _move_to_front(best, list(starts[0]), sizes, meets, bound)


def _move_to_front(
    best: tuple[list[int], int],
    order: list[int],
    sizes: Sequence[int],
    meets: Sequence[Sequence[int]],
    bound: int,
) -> tuple[list[int], int]:
    """Try to place first, again and again, the buffer that ends highest."""
    for _ in range(2 * len(order)):
        if best[1] == bound:
            break
        offsets, _size = _place(order, sizes, meets)
        top = max(order, key=lambda i: offsets[i] + sizes[i], default=None)
        if top is None or order[0] == top:
            break
        order.remove(top)
        order.insert(0, top)
        candidate = _place(order, sizes, meets)
        if candidate[1] < best[1]:
            best = candidate
    return best


def _place(
    order: Sequence[int], sizes: Sequence[int], meets: Sequence[Sequence[int]]
) -> tuple[list[int], int]:
    """Place buffers in ``order``, each at the lowest offset free of those that it meets."""
    offsets = [-1] * len(sizes)
    for i in order:
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in meets[i] if offsets[j] >= 0)
        offset = 0
        for start, end in taken:
            if offset + sizes[i] <= start:
                break
            offset = max(offset, end)
        offsets[i] = offset
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)


class _Search:
    """Depth first through packings, lowest offset first, cutting off what cannot be better.

    In any packing every buffer can be pushed down until it stands on the floor or on one that it
    meets. Taken by rising offset, each then lies exactly on top of those before it that it meets:
    the search needs to choose an order only.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        meets: Sequence[Sequence[int]],
        alive: Sequence[Sequence[int]],
        best: tuple[list[int], int],
        limit: int,
    ) -> None:
        self._sizes = sizes
        self._meets = meets
        self._alive = alive
        self._best = best
        self._left = limit
        self._bound = max(sum(sizes[i] for i in group) for group in alive)

    def run(self) -> tuple[list[int], int]:
        """Return the best packing found."""
        count = len(self._sizes)
        self._descend([-1] * count, [0] * count, (0, -1))
        return self._best

    def _descend(self, offsets: list[int], floors: list[int], last: tuple[int, int]) -> None:
        """Place one more buffer in every way that may lead to something better.

        Args:
            offsets: Of the buffers that stand; -1 for others.
            floors: Lowest offset of each that is free of those that stand.
            last: Offset and index of the one that was placed last.
        """
        waiting = [i for i, offset in enumerate(offsets) if offset < 0]
        if not waiting:
            size = max(o + s for o, s in zip(offsets, self._sizes, strict=True))
            self._best = (list(offsets), size)
            return
        for i in sorted(waiting, key=lambda i: (floors[i], -self._sizes[i], i)):
            if (floors[i], i) < last:
                continue
            self._left -= 1
            if self._left < 0 or self._best[1] == self._bound:
                return
            top = floors[i] + self._sizes[i]
            if top >= self._best[1]:
                continue
            raised = list(floors)
            for j in self._meets[i]:
                raised[j] = max(raised[j], top)
            placed = list(offsets)
            placed[i] = floors[i]
            if self._promising(placed, raised, floors[i]):
                self._descend(placed, raised, (floors[i], i))

    def _promising(self, offsets: list[int], floors: list[int], last: int) -> bool:
        """Whether what is not placed may still end below the best packing."""
        for group in self._alive:
            rest = [i for i in group if offsets[i] < 0]
            if rest:
                floor = max(last, min(floors[i] for i in rest))
                if floor + sum(self._sizes[i] for i in rest) >= self._best[1]:
                    return False
        return all(
            max(last, floors[i]) + size < self._best[1]
            for i, size in enumerate(self._sizes)
            if offsets[i] < 0
        )
