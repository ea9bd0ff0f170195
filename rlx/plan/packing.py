"""Offsets of buffers with known lifetimes: greedy packings, then an exact search.

This is dynamic storage allocation: the lifetimes are fixed, only offsets can be chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.plan.lifetimes import Lifetime

SEARCH_LIMIT: Final = 4000
"""Partial packings that the search visits: a count, so that no result depends on the machine."""


def pack(
    buffers: Sequence[Lifetime], alignment: int, *, limit: int = SEARCH_LIMIT
) -> tuple[list[int], int]:
    """Return an offset for each buffer and the total bytes of the smallest packing found.

    The result is never larger than that of placing by size. It is the optimum if the search ends
    before ``limit``, or if a packing reaches the maximum bytes alive at one step.

    Args:
        buffers: The buffers to place.
        alignment: Every offset becomes a multiple of this, in bytes.
        limit: Partial packings that the exact search may visit.
    """
    sizes = [-(-b.nbytes // alignment) * alignment for b in buffers]
    overlaps = _overlapping(buffers)
    alive = _alive_together(buffers)
    bound = max((sum(sizes[i] for i in group) for group in alive), default=0)
    best = _greedy(buffers, sizes, overlaps, bound)
    if best[1] > bound:
        best = _PackingSearch(sizes, overlaps, alive, best, limit).run()
    return best


def _overlapping(buffers: Sequence[Lifetime]) -> list[list[int]]:
    """Return for each buffer the others that are alive at the same time, in order."""
    first = np.array([b.first for b in buffers], np.int64)
    last = np.array([b.last for b in buffers], np.int64)
    overlaps = []
    for i in range(len(buffers)):
        together = (first <= last[i]) & (first[i] <= last)
        together[i] = False
        overlaps.append(np.flatnonzero(together).tolist())
    return overlaps


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
    overlaps: Sequence[Sequence[int]],
    bound: int,
) -> tuple[list[int], int]:
    """Return the smallest packing of several orders; stop at one of ``bound`` bytes."""
    indices = range(len(buffers))
    starts = (
        sorted(indices, key=lambda i: -sizes[i]),
        sorted(indices, key=lambda i: -sizes[i] * (buffers[i].last - buffers[i].first + 1)),
        sorted(indices, key=lambda i: (buffers[i].first, -sizes[i])),
        sorted(indices, key=lambda i: (-sum(sizes[j] for j in overlaps[i]), -sizes[i])),
    )
    best = _place(starts[0], sizes, overlaps)
    for order in starts[1:]:
        if best[1] == bound:
            return best
        best = min(best, _place(order, sizes, overlaps), key=lambda placed: placed[1])
    return _move_to_front(best, list(starts[0]), sizes, overlaps, bound)


def _move_to_front(
    best: tuple[list[int], int],
    order: list[int],
    sizes: Sequence[int],
    overlaps: Sequence[Sequence[int]],
    bound: int,
) -> tuple[list[int], int]:
    """Repeatedly place the buffer with the highest end first."""
    for _ in range(2 * len(order)):
        if best[1] == bound:
            break
        offsets, _size = _place(order, sizes, overlaps)
        top = max(order, key=lambda i: offsets[i] + sizes[i], default=None)
        if top is None or order[0] == top:
            break
        order.remove(top)
        order.insert(0, top)
        candidate = _place(order, sizes, overlaps)
        if candidate[1] < best[1]:
            best = candidate
    return best


def _place(
    order: Sequence[int], sizes: Sequence[int], overlaps: Sequence[Sequence[int]]
) -> tuple[list[int], int]:
    """Place buffers in ``order``, each at the lowest offset free of those it overlaps."""
    offsets = [-1] * len(sizes)
    for i in order:
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in overlaps[i] if offsets[j] >= 0)
        offset = 0
        for start, end in taken:
            if offset + sizes[i] <= start:
                break
            offset = max(offset, end)
        offsets[i] = offset
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)


class _PackingSearch:
    """Depth-first search for packings, lowest offset first, pruning what cannot be better.

    In any packing every buffer can be moved down until it starts at 0 or at the end of one whose
    lifetime overlaps. By rising offset, each then starts exactly at the end of an earlier one: the
    search only has to choose an order.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        overlaps: Sequence[Sequence[int]],
        alive: Sequence[Sequence[int]],
        best: tuple[list[int], int],
        limit: int,
    ) -> None:
        self._sizes = sizes
        self._overlaps = overlaps
        self._alive = alive
        self._best = best
        self._left = limit
        self._bound = max(sum(sizes[i] for i in group) for group in alive)

    def run(self) -> tuple[list[int], int]:
        """Return the best packing found."""
        count = len(self._sizes)
        self._descend([-1] * count, [0] * count, (0, -1))
        return self._best

    def _descend(self, offsets: list[int], lowest: list[int], last: tuple[int, int]) -> None:
        """Place one more buffer in every way that may lead to a smaller packing.

        Args:
            offsets: Offsets of placed buffers; -1 for others.
            lowest: For each buffer, the lowest offset that is free of overlapping placed buffers.
            last: Offset and index of the last placed buffer.
        """
        waiting = [i for i, offset in enumerate(offsets) if offset < 0]
        if not waiting:
            size = max(o + s for o, s in zip(offsets, self._sizes, strict=True))
            self._best = (list(offsets), size)
            return
        for i in sorted(waiting, key=lambda i: (lowest[i], -self._sizes[i], i)):
            if (lowest[i], i) < last:
                continue
            self._left -= 1
            if self._left < 0 or self._best[1] == self._bound:
                return
            top = lowest[i] + self._sizes[i]
            if top >= self._best[1]:
                continue
            raised = list(lowest)
            for j in self._overlaps[i]:
                raised[j] = max(raised[j], top)
            placed = list(offsets)
            placed[i] = lowest[i]
            if self._promising(placed, raised, lowest[i]):
                self._descend(placed, raised, (lowest[i], i))

    def _promising(self, offsets: list[int], lowest: list[int], last: int) -> bool:
        """Return whether the remaining buffers may still end below the best packing."""
        for group in self._alive:
            rest = [i for i in group if offsets[i] < 0]
            if rest:
                start = max(last, min(lowest[i] for i in rest))
                if start + sum(self._sizes[i] for i in rest) >= self._best[1]:
                    return False
        return all(
            max(last, lowest[i]) + size < self._best[1]
            for i, size in enumerate(self._sizes)
            if offsets[i] < 0
        )
