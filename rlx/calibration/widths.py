"""Widths of weights, layer by layer: which layers bear fewer bits, and how far to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.errors import DoesNotFitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Node

WIDTHS: Final = (8, 4, 2)
"""Widths that are tried, from the most bits to the fewest."""


@dataclass(frozen=True, slots=True)
class Move:
    """A layer that goes to fewer bits.

    Attributes:
        node: The layer.
        bits: Its width afterwards.
        cost: Growth of the error for each bit that is saved.
    """

    node: Node
    bits: int
    cost: float


def moves(errors: Mapping[Node, Mapping[int, float]], sizes: Mapping[Node, int]) -> list[Move]:
    """Return the moves from 8 bits everywhere to the fewest, the cheapest first.

    Of a layer that loses less by two moves together than by the first, both count as one.

    Args:
        errors: Error of each layer at each width.
        sizes: Number of weights of each layer.
    """
    found: list[Move] = []
    for node, table in errors.items():
        bits = max(table)
        while bits > min(table):
            options = [
                Move(node, b, (table[b] - table[bits]) / ((bits - b) * sizes[node]))
                for b in table
                if b < bits
            ]
            best = min(options, key=lambda move: (move.cost, move.bits))
            found.append(best)
            bits = best.bits
    order = {node: i for i, node in enumerate(errors)}
    return sorted(found, key=lambda move: (move.cost, order[move.node], -move.bits))


def after(nodes: Sequence[Node], path: Sequence[Move], count: int) -> dict[Node, int]:
    """Return the width of each layer after the first ``count`` moves."""
    widths = dict.fromkeys(nodes, WIDTHS[0])
    for move in path[:count]:
        widths[move.node] = min(widths[move.node], move.bits)
    return widths


def mean_bits(widths: Mapping[Node, int], sizes: Mapping[Node, int]) -> float:
    """Return the mean bits of a weight."""
    total = sum(sizes[node] for node in widths)
    return sum(bits * sizes[node] for node, bits in widths.items()) / max(total, 1)


def weight_bytes(widths: Mapping[Node, int], sizes: Mapping[Node, int]) -> int:
    """Return the bytes of all weights, packed."""
    return sum((bits * sizes[node] + 7) // 8 for node, bits in widths.items())


def fewest_moves(
    nodes: Sequence[Node],
    path: Sequence[Move],
    sizes: Mapping[Node, int],
    *,
    bits: float | None,
    flash: int | None,
) -> int:
    """Return how many moves it takes to reach mean bits and bytes.

    Raises:
        DoesNotFitError: The fewest bits everywhere are too many.
    """
    for count in range(len(path) + 1):
        widths = after(nodes, path, count)
        few = bits is None or mean_bits(widths, sizes) <= bits
        small = flash is None or weight_bytes(widths, sizes) <= flash
        if few and small:
            return count
    widths = after(nodes, path, len(path))
    raise DoesNotFitError(
        f"with the fewest bits everywhere the weights have {mean_bits(widths, sizes):.2f} bits on"
        f" average and {weight_bytes(widths, sizes):,} bytes",
        where="weights",
        hint="allow more with --bits or --flash",
    )


def with_rest_spent(
    widths: Mapping[Node, int],
    errors: Mapping[Node, Mapping[int, float]],
    sizes: Mapping[Node, int],
    *,
    bits: float | None,
    flash: int | None,
) -> dict[Node, int]:
    """Return ``widths`` with layers widened where mean bits and bytes still allow it.

    The layer that gains most by more bits comes first.
    """
    found = dict(widths)
    while True:
        options = [
            (errors[node][width] - errors[node][wider], node, wider)
            for node, width in found.items()
            for wider in errors[node]
            if wider > width
        ]
        for gain, node, wider in sorted(options, key=lambda option: -option[0]):
            tried = {**found, node: wider}
            few = bits is None or mean_bits(tried, sizes) <= bits
            if gain > 0 and few and (flash is None or weight_bytes(tried, sizes) <= flash):
                found = tried
                break
        else:
            return found


def most_moves(count: int, start: int, accept: Callable[[int], bool]) -> int:
    """Return the largest number of moves, at least ``start``, that ``accept`` takes.

    Binary search: what is lost grows with the moves, about.
    """
    low, high = start, count
    if low == high or accept(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if accept(middle):
            low = middle
        else:
            high = middle
    return low
