"""The joint choice of a kernel for every layer, under limits of flash and RAM.

Layers depend on each other: the layer with the most scratch memory sets the size of the arena,
flash is shared, and a kernel that several layers call is stored once. So several arena sizes are
tried, and for each the kernels of all layers are selected together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx_c.selection import Alternative, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from rlx_c.candidate import Candidate, CodeSizes


@dataclass(frozen=True, slots=True)
class Objective:
    """Instructions that a byte of memory must save.

    Attributes:
        flash: Instructions of an inference that each byte of flash must save.
        ram: Instructions that each byte of the arena must save.
        growth: Whether scratch memory may grow the arena without limit, as long as it pays.
    """

    flash: int
    ram: int
    growth: bool = False


OBJECTIVES: Final = {
    "balanced": Objective(flash=10, ram=8),
    "speed": Objective(flash=1, ram=1, growth=True),
    "size": Objective(flash=100_000, ram=8),
    "ram": Objective(flash=10, ram=1000),
}
"""Objectives by name."""

DEFAULT_OBJECTIVE: Final = "balanced"

ARENA_GROWTH_DIVISOR: Final = 8
"""Divisor of the arena without scratch memory: its quotient may be added for speed by default."""

MIN_ARENA_GROWTH: Final = 2048
"""Bytes that may always be added for speed by default."""


MAX_ARENA_SIZES: Final = 48
"""Arena sizes that are tried."""


@dataclass(frozen=True, slots=True)
class Need:
    """A layer for which a kernel has to be chosen.

    Attributes:
        candidates: Its kernels, at least one.
        end: Maps bytes of scratch memory to the arena size that has them free at this layer.
    """

    candidates: Sequence[Candidate]
    end: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Upper bounds on memory; None: no limit.

    Attributes:
        ram: Bytes of the arena.
        flash: Bytes of tables and of kernels' code.
    """

    ram: int | None = None
    flash: int | None = None


def choose(
    needs: Sequence[Need],
    arena: int,
    objective: Objective,
    limits: MemoryLimits,
    code_sizes: CodeSizes,
) -> tuple[Candidate, ...] | None:
    """Return the cheapest candidates found, one for each layer; None if the limits are too small.

    Args:
        needs: The layers.
        arena: Bytes of the arena without scratch memory.
        objective: Price of bytes in instructions.
        limits: Bounds that must not be exceeded.
        code_sizes: Bytes of machine code of a kernel.
    """
    ends = _ends(needs, arena)
    smallest = max([arena, *map(min, ends)])
    largest = largest_arena(needs, arena, objective, limits.ram)
    parts, layers = _options(needs, code_sizes)
    best: tuple[int, tuple[Candidate, ...]] | None = None
    for size in _sizes(smallest, largest, {end for row in ends for end in row}):
        fitting = [
            [option for option, end in zip(layer, row, strict=True) if end <= size]
            for layer, row in zip(layers, ends, strict=True)
        ]
        selection = Selection(fitting, parts, objective.flash, limits.flash)
        dear = objective.ram * size
        if best is not None and selection.bound() + dear >= best[0]:
            continue
        options = selection.solve()
        if options is not None and (best is None or selection.cost(options) + dear < best[0]):
            best = selection.cost(options) + dear, tuple(option.tag for option in options)
    return None if best is None else best[1]


def _sizes(smallest: int, largest: int, ends: set[int]) -> list[int]:
    """Return the arena sizes to try: the minimum, and each at which another kernel fits."""
    if smallest > largest:
        return []
    sizes = sorted({smallest, *(end for end in ends if smallest < end <= largest)})
    count = len(sizes)
    return (
        [sizes[i * (count - 1) // (MAX_ARENA_SIZES - 1)] for i in range(MAX_ARENA_SIZES)]
        if count > MAX_ARENA_SIZES
        else sizes
    )


def _ends(needs: Sequence[Need], arena: int) -> list[list[int]]:
    """Return the arena that each candidate of each layer needs."""
    return [[max(arena, need.end(c.scratch_bytes)) for c in need.candidates] for need in needs]


def largest_arena(needs: Sequence[Need], arena: int, objective: Objective, ram: int | None) -> int:
    """Return the largest arena that ``choose`` tries; arguments as there."""
    if ram is not None:
        return ram
    ends = _ends(needs, arena)
    smallest = max([arena, *map(min, ends)])
    unlimited = max([arena, *map(max, ends)])
    return (
        unlimited
        if objective.growth
        else smallest + max(smallest // ARENA_GROWTH_DIVISOR, MIN_ARENA_GROWTH)
    )


def _options(
    needs: Sequence[Need], code_sizes: CodeSizes
) -> tuple[dict[int, int], list[list[Alternative[Candidate, int]]]]:
    """Return the bytes of parts that several layers may use, and the candidates as options."""
    numbers: dict[Hashable, int] = {}
    uses = [
        [
            {numbers.setdefault(part, len(numbers)): n for part, n in c.parts(code_sizes).items()}
            for c in need.candidates
        ]
        for need in needs
    ]
    users = Counter(part for layer in uses for part in set().union(*layer))
    parts = {
        part: size
        for layer in uses for use in layer for part, size in use.items() if users[part] > 1
    }  # fmt: skip
    options = [
        [
            _option(c, c.flash_bytes(code_sizes), use, parts)
            for c, use in zip(need.candidates, layer, strict=True)
        ]
        for need, layer in zip(needs, uses, strict=True)
    ]
    return parts, options


def _option(
    candidate: Candidate, flash_bytes: int, uses: dict[int, int], parts: dict[int, int]
) -> Alternative[Candidate, int]:
    shared = frozenset(part for part in uses if part in parts)
    own = flash_bytes - sum(parts[part] for part in shared)
    return Alternative(candidate, candidate.instructions, own, shared)


def flash_bytes(candidates: Iterable[Candidate], code_sizes: CodeSizes) -> int:
    """Return the flash that chosen candidates use together; shared parts count once."""
    parts: dict[Hashable, int] = {}
    alone = 0
    for candidate in candidates:
        own = candidate.parts(code_sizes)
        parts |= own
        alone += candidate.flash_bytes(code_sizes) - sum(own.values())
    return alone + sum(parts.values())
