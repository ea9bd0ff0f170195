"""Widths of weights, layer by layer: losses and savings of each choice.

The losses of layers are assumed to add up. Of all choices of a width for each layer, those remain
that no other beats in both bits and error: the Pareto front.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.support.errors import DoesNotFitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Node

    Sizes = Mapping[Node, int]

WIDTHS: Final = (8, 4, 2)
"""Widths that are tried, from the most bits to the fewest."""

MAX_CHOICES: Final = 2048
"""Choices that are kept after each layer; where there are more, some between are left out."""


@dataclass(frozen=True, slots=True)
class WidthChoice:
    """A width for each layer.

    Attributes:
        widths: Bits of a weight of each layer.
        bits: Bits of all weights.
        error: Sum of the layers' errors.
    """

    widths: tuple[int, ...]
    bits: int
    error: float


def front(errors: Mapping[Node, Mapping[int, float]], sizes: Sizes) -> list[WidthChoice]:
    """Return the choices that no other beats in bits and error, the most bits first.

    Args:
        errors: Error of each layer at each width.
        sizes: Number of weights of each layer.
    """
    choices = [WidthChoice((), 0, 0.0)]
    for node, table in errors.items():
        size = sizes[node]
        wider = [
            WidthChoice((*c.widths, width), c.bits + width * size, c.error + error)
            for c in choices
            for width, error in table.items()
        ]
        choices = _thin_out(_pareto_front(wider))
    return choices


def _pareto_front(choices: list[WidthChoice]) -> list[WidthChoice]:
    """Return the best choices for their bits, the most bits first: errors grow along the list."""
    kept: list[WidthChoice] = []
    for choice in sorted(choices, key=lambda c: (c.bits, c.error, c.widths)):
        if not kept or choice.error < kept[-1].error:
            kept.append(choice)
    return kept[::-1]


def _thin_out(choices: list[WidthChoice]) -> list[WidthChoice]:
    if len(choices) <= MAX_CHOICES:
        return choices
    last = len(choices) - 1
    places = (round(i * last / (MAX_CHOICES - 1)) for i in range(MAX_CHOICES))
    return [choices[place] for place in places]


def hull(choices: Sequence[WidthChoice]) -> list[WidthChoice]:
    """Return the choices of a front at which more bits begin to gain less, its ends included."""
    found: list[WidthChoice] = []
    for choice in choices:
        while len(found) > 1 and _slope(found[-2], found[-1]) >= _slope(found[-1], choice):
            found.pop()
        found.append(choice)
    return found


def _slope(more: WidthChoice, fewer: WidthChoice) -> float:
    """Return the error for each bit that is saved."""
    return (fewer.error - more.error) / (more.bits - fewer.bits)


def mean_bits(widths: Mapping[Node, int], sizes: Sizes) -> float:
    """Return the mean bits of a weight."""
    total = sum(sizes[node] for node in widths)
    return sum(bits * sizes[node] for node, bits in widths.items()) / max(total, 1)


def weight_bytes(widths: Mapping[Node, int], sizes: Sizes) -> int:
    """Return the bytes of all weights, packed."""
    return sum((bits * sizes[node] + 7) // 8 for node, bits in widths.items())


def within(
    choices: Sequence[WidthChoice],
    nodes: Sequence[Node],
    sizes: Sizes,
    *,
    bits: float | None,
    flash: int | None,
) -> dict[Node, int]:
    """Return the widths with the smallest error within mean bits and bytes.

    Args:
        choices: A front.
        nodes: The layers, in the order of the choices' widths.
        sizes: Number of weights of each layer.
        bits: Mean bits of a weight; None for any.
        flash: Bytes of all weights, packed; None for any.

    Raises:
        DoesNotFitError: The fewest bits everywhere are too many.
    """
    widths: dict[Node, int] = {}
    for choice in choices:
        widths = dict(zip(nodes, choice.widths, strict=True))
        few = bits is None or mean_bits(widths, sizes) <= bits
        if few and (flash is None or weight_bytes(widths, sizes) <= flash):
            return widths
    raise DoesNotFitError(
        f"with the fewest bits everywhere the weights have {mean_bits(widths, sizes):.2f} bits on"
        f" average and {weight_bytes(widths, sizes):,} bytes",
        where="weights",
        hint="allow more with --bits or --flash",
    )


def last_accepted(count: int, accept: Callable[[int], bool]) -> int:
    """Return an index below ``count`` before the first that ``accept`` refuses; 0 if it is that.

    The loss grows with the index, about: steps from the start double until one is refused, and a
    binary search continues from there. A far index that is accepted by chance is never reached.
    """
    low, high, step = 0, 1, 1
    while high < count and accept(high):
        low, step = high, 2 * step
        high = min(low + step, count - 1) if low < count - 1 else count
    while high - low > 1:
        middle = (low + high) // 2
        if accept(middle):
            low = middle
        else:
            high = middle
    return low
