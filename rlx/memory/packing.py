"""Offsets of buffers with known lifetimes: greedy packings, then an exact search.

This is dynamic storage allocation: the lifetimes are fixed, only offsets can be chosen.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.memory.lifetimes import peak_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.memory.lifetimes import Lifetime

MAX_PACKINGS: Final = 4000
"""Partial packings that the search visits: a count, so that no result depends on the machine."""

MAX_SEARCHED_BUFFERS: Final = 80
"""Buffers up to which the exact search is tried: of more it hardly ends before its limit."""

MAX_COMPARISONS: Final = 400_000
"""Comparisons of two buffers after which the improvement of a greedy packing ends.

Where one placing needs more of them, since very many buffers are alive together, buffers are placed
once, by size.
"""


def pack(
    buffers: Sequence[Lifetime], alignment: int, *, limit: int = MAX_PACKINGS
) -> tuple[list[int], int]:
    """Return an offset for each buffer and the total bytes of the smallest packing found.

    The result is never larger than that of placing by size. It is the optimum if the search ends
    before ``limit``, or if a packing reaches the maximum bytes alive at one step. There is no
    search for more than ``MAX_SEARCHED_BUFFERS``.

    Args:
        buffers: The buffers to place.
        alignment: Every offset becomes a multiple of this, in bytes.
        limit: Partial packings that the exact search may visit.
    """
    sizes = [-(-b.nbytes // alignment) * alignment for b in buffers]
    if len(buffers) > MAX_SEARCHED_BUFFERS and _pairs(buffers) > MAX_COMPARISONS // 2:
        return _by_size(buffers, sizes)
    overlaps = _overlapping(buffers)
    bound = peak_of(buffers, alignment)
    best = _greedy(buffers, sizes, overlaps, bound)
    if best[1] > bound and len(buffers) <= MAX_SEARCHED_BUFFERS:
        best = _PackingSearch(sizes, overlaps, _alive_together(buffers), best, limit).run()
    return best


def _pairs(buffers: Sequence[Lifetime]) -> int:
    """Return the number of pairs of buffers that are alive at the same time."""
    starts = sorted((b.first, b.last) for b in buffers)
    return sum(
        bisect_right(starts, last, lo=i, key=lambda start: start[0]) - i - 1
        for i, (_, last) in enumerate(starts)
    )


def _by_size(buffers: Sequence[Lifetime], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Place buffers, the largest first, each at the lowest offset free of those it overlaps."""
    order = sorted(range(len(buffers)), key=lambda i: -sizes[i])
    first = np.array([buffers[i].first for i in order], np.int64)
    last = np.array([buffers[i].last for i in order], np.int64)
    begins, ends = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    far = sum(sizes) * 2  # so that the gap after all buffers is large enough for any
    for k, i in enumerate(order):
        overlapping = np.flatnonzero((first[:k] <= last[k]) & (first[k] <= last[:k]))
        overlapping = overlapping[np.argsort(begins[overlapping], kind="stable")]
        free = np.maximum.accumulate(np.append(0, ends[overlapping]))
        gaps = np.append(begins[overlapping], far) - free
        begins[k] = free[np.argmax(gaps >= sizes[i])]
        ends[k] = begins[k] + sizes[i]
    offsets = [0] * len(order)
    for i, begin in zip(order, begins.tolist(), strict=True):
        offsets[i] = begin
    return offsets, int(ends.max(initial=0))


def _overlapping(buffers: Sequence[Lifetime]) -> list[list[int]]:
    """Return for each buffer the others that are alive at the same time, in order."""
    overlaps: list[list[int]] = [[] for _ in buffers]
    alive: list[int] = []
    for i in sorted(range(len(buffers)), key=lambda i: buffers[i].first):
        first = buffers[i].first
        alive = [j for j in alive if buffers[j].last >= first]
        for j in alive:
            overlaps[j].append(i)
        overlaps[i] += alive
        alive.append(i)
    return [sorted(neighbours) for neighbours in overlaps]


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
    # By size, by bytes times steps, by first step, by the bytes that it is alive with.
    starts: tuple[Callable[[int], Any], ...] = (
        lambda i: -sizes[i],
        lambda i: -sizes[i] * (buffers[i].last - buffers[i].first + 1),
        lambda i: (buffers[i].first, -sizes[i]),
        lambda i: (-sum(sizes[j] for j in overlaps[i]), -sizes[i]),
    )
    left = _placements(overlaps)
    by_size = sorted(indices, key=starts[0])
    best = _place(by_size, sizes, overlaps)
    for key in starts[1:left]:
        if best[1] == bound:
            return best
        placed = _place(sorted(indices, key=key), sizes, overlaps)
        best = min(best, placed, key=lambda placed: placed[1])
    # Each of them places all buffers twice.
    rounds = min(2 * len(buffers), (left - len(starts)) // 2)
    return _move_to_front(best, by_size, sizes, overlaps, bound, rounds)


def _placements(overlaps: Sequence[Sequence[int]]) -> int:
    """Return the limit on placements of all buffers: at least 1, and enough for few buffers."""
    if len(overlaps) <= MAX_SEARCHED_BUFFERS:
        # More than _greedy uses: four orders, and 2 * 80 rounds of two placements each.
        return 5 * MAX_SEARCHED_BUFFERS
    return max(MAX_COMPARISONS // (len(overlaps) + sum(map(len, overlaps))), 1)


def _move_to_front(
    best: tuple[list[int], int],
    order: list[int],
    sizes: Sequence[int],
    overlaps: Sequence[Sequence[int]],
    bound: int,
    rounds: int,
) -> tuple[list[int], int]:
    """Place the buffer with the highest end first, repeatedly."""
    for _ in range(rounds):
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
        neighbours = [j for j in overlaps[i] if offsets[j] >= 0]
        occupied = sorted((offsets[j], offsets[j] + sizes[j]) for j in neighbours)
        offset = 0
        for start, end in occupied:
            if offset + sizes[i] <= start:
                break
            offset = max(offset, end)
        offsets[i] = offset
    return offsets, max((o + s for o, s in zip(offsets, sizes, strict=True)), default=0)


class _PackingSearch:
    """Depth-first search for packings, lowest offset first, pruning branches that cannot be better.

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
        self._nbytes = np.array(sizes, np.int64)
        self._groups = np.zeros((len(alive), len(sizes)), np.bool_)
        for row, group in zip(self._groups, alive, strict=True):
            row[group] = True
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
            # By rising offset and index: each packing is reached in one order only.
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
        size = self._best[1]
        starts, waiting = np.maximum(lowest, last), np.array(offsets) < 0
        if np.any((starts + self._nbytes >= size) & waiting):
            return False
        # Buffers of a group are alive together: their sizes add up above the lowest start.
        rest = self._groups & waiting
        needed = rest @ self._nbytes
        begin = np.where(rest, starts, size).min(axis=1)
        return not np.any((begin + needed >= size) & (needed > 0))
