"""Blocks of a function in the order in which the machine runs states that wait at them.

The order decides which states are merged, and when: it makes a bound tighter and its computation
faster, and no order makes a bound wrong.

Tests: tests/sim/bound/test_machine.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rlx_sim.bound.instruction import Flow, UnboundedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rlx_sim.bound.code import Code
    from rlx_sim.bound.instruction import Instruction

    Key = tuple[int, ...]

EXIT: Final = -2
"""Return from the function, as a node."""


@dataclass(slots=True)
class Function:
    """The blocks of a function and the loops around them.

    Attributes:
        positions: Loops around each block, the outermost first: number of the loop, and position of
            the block (or of the loop in it that holds the block) within. Loop 0 is the function.
        sizes: Number of positions of each loop.
        merges: Blocks with several predecessors.
    """

    positions: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    merges: frozenset[int] = frozenset()

    def order(self, branch: int) -> dict[int, Key]:
        """Return a sort key of each block for the states that follow the branch of a block.

        The innermost loop around the branch comes first, from the branch around to the branch, then
        the rest of the loop around that, up to the function's end.
        """
        base = self.positions[branch]
        return {node: self._key(base, node) for node in self.positions} | {EXIT: (1,)}

    def _key(self, base: tuple[tuple[int, int], ...], node: int) -> Key:
        position = self.positions[node]
        level = 0
        while (
            level + 1 < min(len(base), len(position))
            and base[level + 1][0] == position[level + 1][0]
        ):
            level += 1
        loop, index = position[level]
        turned = (index - base[level][1] - 1) % self.sizes[loop]
        return (-level, turned, *(index for _, index in position[level + 1 :]))


def function_at(code: Code, entry: int) -> Function:
    """Return the blocks of the function at an address; ends blocks where others begin."""
    code.leaders |= _leaders(code, entry)
    following = _blocks(code, entry)
    counts: dict[int, int] = {}
    for successors in following.values():
        for node in successors:
            counts[node] = counts.get(node, 0) + 1
    function = Function(merges=frozenset(node for node, count in counts.items() if count > 1))
    _arrange(function, following, (entry,), set(following), ())
    return function


def _leaders(code: Code, entry: int) -> set[int]:
    """Return the addresses that follow a branch or call of a function."""
    visited: set[int] = set()
    waiting = [entry]
    while waiting:
        address = waiting.pop()
        if address in visited or address == EXIT:
            continue
        visited.add(address)
        waiting += _after(code, address)
    return {address for address in visited if not address & 1}


def _blocks(code: Code, entry: int) -> dict[int, tuple[int, ...]]:
    """Return the successors of each block."""
    following: dict[int, tuple[int, ...]] = {}
    waiting = [entry]
    while waiting:
        address = waiting.pop()
        if address not in following:
            following[address] = () if address == EXIT else _after(code, address)
            waiting += following[address]
    return following


def _after(code: Code, address: int) -> tuple[int, ...]:
    """Return the addresses that follow a block; that after a call is the return address."""
    try:
        instructions, conditions = code.block(address)
    except UnboundedError:
        return (EXIT,)
    return _successors(instructions[-1], conditions[-1])


def _successors(last: Instruction, condition: str) -> tuple[int, ...]:
    if last.flow in (Flow.NEXT, Flow.CALL, Flow.CALL_REGISTER):
        return (last.end,)
    target = last.target if last.flow is Flow.BRANCH else EXIT
    if last.flow is Flow.JUMP and condition:
        target = last.address + 1
    return (target, last.end) if last.condition or condition else (target,)


def _arrange(
    function: Function,
    following: Mapping[int, tuple[int, ...]],
    roots: Iterable[int],
    nodes: set[int],
    around: tuple[tuple[int, int], ...],
) -> None:
    """Set the positions of some blocks of a loop, and of the loops within.

    Source: Bourdoncle, Efficient chaotic iteration strategies with widenings, 1993.
    """
    loop = len(function.sizes)
    components = list(_components(following, roots, nodes))[::-1]
    # Position 0 is the loop's header.
    function.sizes.append(len(components) + 1)
    for index, component in enumerate(components, start=1):
        position = (*around, (loop, index))
        header = component[0]
        if len(component) == 1 and header not in following[header]:
            function.positions[header] = position
            continue
        function.positions[header] = (*position, (len(function.sizes), 0))
        rest = set(component[1:])
        _arrange(function, following, [x for x in following[header] if x in rest], rest, position)


def _components(
    following: Mapping[int, tuple[int, ...]], roots: Iterable[int], nodes: set[int]
) -> Iterator[list[int]]:
    """Yield the strongly connected components, each after those that it leads to.

    The first block of each is its first in depth-first order. Source: Tarjan, Depth-first search
    and linear graph algorithms, 1972.
    """
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    open_places: list[int] = []
    stack: list[tuple[int, Iterator[int]]] = []

    def enter(node: int) -> None:
        number[node] = lowest[node] = len(number)
        open_places.append(node)
        stack.append((node, iter(following[node])))

    for root in (*roots, *nodes):
        if root not in number:
            enter(root)
        while stack:
            node, rest = stack[-1]
            step = next((one for one in rest if one in nodes), None)
            if step is None:
                stack.pop()
                yield from _closed(node, number, lowest, open_places)
                for above, _ in stack[-1:]:
                    lowest[above] = min(lowest[above], lowest[node])
            elif step not in number:
                enter(step)
            else:
                reached = number[step] if step in open_places else number[node]
                lowest[node] = min(lowest[node], reached)


def _closed(
    node: int, number: Mapping[int, int], lowest: Mapping[int, int], open_places: list[int]
) -> Iterator[list[int]]:
    """Yield the component whose first block was left, and remove it from the open ones."""
    if lowest[node] == number[node]:
        start = open_places.index(node)
        yield open_places[start:]
        del open_places[start:]
