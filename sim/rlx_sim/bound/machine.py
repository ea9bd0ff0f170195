"""Abstract execution of a program: all inputs in one run, with the largest count.

Values that may depend on the input are unknown. A branch on a known condition goes one way; at one
on an unknown condition both sides run until they meet, and the state after that holds the values
that are equal on both sides and the larger count. Each state thus covers every execution for some
input, and its count is an upper bound on theirs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rlx_sim.bound.bits import joined
from rlx_sim.bound.code import COUNT, UNKNOWN, Code, Translation
from rlx_sim.bound.instruction import PC, SP, UnboundedError
from rlx_sim.bound.paths import EXIT, Function, function_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Block = Callable[[list[Any], Any, list[int]], int]

RETURN: Final = 0xFFFFFFF0
"""Return address of the function that is run."""

_MAX_VISITS: Final = 20_000
"""Times that a node is passed while states of other paths wait; endless loops exceed it."""


class Memory:
    """Words by address, and known bytes of unknown words; changes can be undone.

    Attributes:
        get: Returns the word at an address, or the byte at ``address + BYTES``; None if unknown.
        split: Addresses of words that may have known bytes.
    """

    def __init__(self, words: dict[int, int | None]) -> None:
        self.words = words
        self.get = words.get
        self.split: set[int] = set()
        self._logs: list[dict[int, int | None]] = []

    def __setitem__(self, address: int, value: int | None) -> None:
        if self._logs:
            self._logs[-1].setdefault(address, self.get(address))
        self.words[address] = value

    def begin(self) -> None:
        """Start a side of a branch."""
        self._logs.append({})

    def undo(self) -> dict[int, int | None]:
        """End a side: restore the words before it, and return those that it wrote."""
        log = self._logs.pop()
        written = {address: self.get(address) for address in log}
        self.words.update(log)
        return written

    def merged(
        self, first: Mapping[int, int | None], second: Mapping[int, int | None]
    ) -> dict[int, int | None]:
        """Return the words that are equal after both of two sides, the others unknown."""
        words: dict[int, int | None] = {}
        for address in {**first, **second}:
            before = self.get(address)
            value = first.get(address, before)
            words[address] = value if value == second.get(address, before) else None
        return words


@dataclass(slots=True)
class _State:
    """A state of the machine at a node where it waits for others.

    Attributes:
        registers: Registers, flags and count.
        calls: Return addresses.
        words: Words that were written since the branch.
    """

    registers: tuple[Any, ...]
    calls: tuple[int, ...]
    words: dict[int, int | None]


@dataclass(slots=True)
class _Region:
    """Unknown branches of a function whose sides are being run.

    Attributes:
        depth: Depth of calls of the function.
        exit: Its return address.
        order: Sort key of the nodes in it, by which states are run.
        merges: Places where states wait for others.
        waiting: State by node.
        visits: Number of states that came from each node.
    """

    depth: int
    exit: int
    order: Mapping[int, tuple[int, ...]]
    merges: frozenset[int]
    waiting: dict[int, _State] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)


class Machine:
    """A program in execution.

    Attributes:
        registers: R0 to R14, the flags, and the executed instructions.
        code: The program.
        varies: Whether the sides of an unknown branch took different counts.
    """

    def __init__(
        self, image: Mapping[int, bytes], *, hooks: Mapping[int, Block], partial: bool = False
    ) -> None:
        """Create it; ``partial`` keeps the known bits of values, which is slow."""
        self.code = Code(image, partial=partial)
        self._partial = partial
        self.registers: list[Any] = [*[None] * COUNT, 0]
        self._memory = Memory(_words(image))
        self._calls: list[int] = []
        self._hooks = hooks
        self._blocks: dict[int, Block] = {}
        self._translations: dict[int, Translation] = {}
        self._functions: dict[int, Function] = {}
        self._orders: dict[int, Mapping[int, tuple[int, ...]]] = {}
        self._regions: list[_Region] = []
        self.varies = False

    @property
    def in_side(self) -> bool:
        """Whether one side of an unknown branch is being run."""
        return bool(self._regions)

    def run(self, function: int, stack: int) -> None:
        """Run a function to its end.

        Raises:
            UnboundedError: The count of the code depends on values that are not known.
        """
        self.registers[SP], self.registers[14] = stack, RETURN | 1
        self.code.entries.add(function)
        self._calls.append(RETURN)
        self._run(function)

    def run_apart(self, function: int, stack: int) -> set[int]:
        """Run a function, and undo what it writes; return the addresses of that."""
        self._memory.begin()
        self.run(function, stack)
        return set(self._memory.undo())

    def call(self, block: int) -> int:
        """Execute the block at an address, hook or not, and return the next address."""
        return self._translated(block).run(self.registers, self._memory, self._calls)

    def _run(self, address: int) -> None:
        blocks, registers, memory, calls = self._blocks, self.registers, self._memory, self._calls
        while address != RETURN:
            run = blocks.get(address)
            if run is None:
                run = blocks[address] = self._hooks.get(address) or self._translated(address).run
            following = run(registers, memory, calls)
            if following == UNKNOWN:
                address = self._branch(address)
            elif self._regions:
                address = self._arrive(following)
            else:
                address = following

    def _translated(self, address: int) -> Translation:
        if address not in self._translations:
            self._translations[address] = self.code.translate(address)
        return self._translations[address]

    def _branch(self, start: int) -> int:
        """Continue after the unknown branch of a block: both sides wait, the next state runs."""
        block = self._translated(start)
        depth = len(self._calls)
        if not self._regions or self._regions[-1].depth != depth:
            function = self._function(start)
            # The block may have run into a loop whose start was not known when it was translated.
            base = max((x for x in self.code.leaders if start < x < block.end), default=start)
            self._orders.setdefault(base, function.order(base))
            region = _Region(depth, self._calls[-1], self._orders[base], function.merges)
            self._regions.append(region)
            self._memory.begin()
        state = self._pause()
        self._wait(block.then_start, state)
        self._wait(block.else_start, state)
        return self._resume()

    def _arrive(self, address: int) -> int:
        """Continue at an address; a state that others may come to waits for them."""
        region = self._regions[-1]
        depth = len(self._calls)
        node = address
        if depth < region.depth:
            if address != region.exit or depth != region.depth - 1:
                raise UnboundedError("the sides of a branch do not return alike", address)
            node = EXIT
        elif depth > region.depth or not (address in region.merges or address in region.waiting):
            return address
        order = region.order
        if node not in region.waiting and all(
            order.get(node, ()) < order.get(waiting_node, ()) for waiting_node in region.waiting
        ):
            self._visit(region, node)
            return address
        self._wait(node, self._pause())
        return self._resume()

    def _pause(self) -> _State:
        """Return the state of the machine, and undo what it wrote since the branch."""
        return _State(tuple(self.registers), tuple(self._calls), self._memory.undo())

    def _wait(self, node: int, state: _State) -> None:
        """Add a state to those that wait at a node."""
        waiting = self._regions[-1].waiting
        waiting[node] = self._merged(waiting[node], state) if node in waiting else state

    def _resume(self) -> int:
        """Run the first of the waiting states; return its address."""
        region = self._regions[-1]
        order = region.order
        node = min(region.waiting, key=lambda node: order.get(node, ()))
        state = region.waiting.pop(node)
        if region.waiting:
            self._visit(region, node)
            self._memory.begin()
        else:
            self._regions.pop()
        self.registers[:], self._calls[:] = state.registers, state.calls
        for address, value in state.words.items():
            self._memory[address] = value
        if node != EXIT:
            return node
        # The caller may be in a region of its own.
        return self._arrive(region.exit) if self._regions else region.exit

    def _visit(self, region: _Region, node: int) -> None:
        visits = region.visits[node] = region.visits.get(node, 0) + 1
        if visits > _MAX_VISITS:
            raise UnboundedError("a loop depends on the input", node)

    def _merged(self, first: _State, second: _State) -> _State:
        """Return a state that covers two."""
        if first.calls != second.calls:
            raise UnboundedError("the sides of a branch do not return alike", first.calls[-1])
        pairs = zip(first.registers, second.registers, strict=True)
        registers = [a if a == b else None for a, b in pairs]
        if self._partial:
            registers[:PC] = map(joined, first.registers[:PC], second.registers[:PC])
        counts = first.registers[COUNT], second.registers[COUNT]
        registers[COUNT] = max(counts)
        self.varies |= counts[0] != counts[1]
        words = self._memory.merged(first.words, second.words)
        return _State(tuple(registers), first.calls, words)

    def _function(self, start: int) -> Function:
        """Return the function around a block, and end blocks where others of it begin."""
        entry = max((entry for entry in self.code.entries if entry <= start), default=start)
        for first in (entry, start):
            if first not in self._functions:
                self._functions[first] = function_at(self.code, first)
                self._split()
            if start in self._functions[first].positions:
                break
        return self._functions[first]

    def _split(self) -> None:
        """Drop the blocks that run past the start of another."""
        leaders = sorted(self.code.leaders)
        for start, block in list(self._translations.items()):
            if bisect_left(leaders, block.end) > bisect_right(leaders, start):
                del self._translations[start]
                self._blocks.pop(start, None)


def _words(image: Mapping[int, bytes]) -> dict[int, int | None]:
    """Return the words of the segments of a program."""
    words: dict[int, int | None] = {}
    for start, content in image.items():
        first = -start % 4
        for at in range(first, len(content) - 3, 4):
            words[start + at] = int.from_bytes(content[at : at + 4], "little")
    return words
