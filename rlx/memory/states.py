"""States in memory: places where their next values are computed, and copies at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rlx.ir.module import Region, StateCopy
from rlx.memory.lifetimes import Lifetime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Value
    from rlx.memory.sharing import BufferSharing


@dataclass(frozen=True, slots=True)
class Move:
    """A next value that is copied to its state's buffer after the last step.

    Attributes:
        source: The next value.
        state: The state.
        waits: Memory of the arena where it waits until all next values are read, or None.
    """

    source: Value
    state: Value
    waits: Lifetime | None

    def copy(self, offsets: Mapping[int, int]) -> StateCopy:
        """Return the entry of the plan; ``offsets`` of memory of the arena by its identity."""
        through = None if self.waits is None else offsets[id(self.waits)]
        return StateCopy(self.source, self.state, through)


def state_moves(sharing: BufferSharing, buffers: Sequence[Lifetime], steps: int) -> list[Move]:
    """Return the copies after the last step, in an order in which they can be made.

    A next value in the buffer of a state is read before that buffer is overwritten. Where states
    get each other's values, one of these waits in the arena.
    """
    by_value = {value: buffer for buffer in buffers for value in buffer.values}
    pending: list[_Pending] = []
    for state, following in sharing.states.items():
        buffer = by_value.get(following)
        if buffer is not by_value[state]:
            in_state = buffer is not None and buffer.region is Region.STATE
            home = next(iter(buffer.values)) if buffer is not None and in_state else None
            pending.append(_Pending(following, state, home))
    moves: list[Move] = []
    waiting: set[Value] = set()
    # A copy may overwrite a state only when no pending copy reads that buffer any more.
    while pending:
        read = {p.home for p in pending if p.state not in waiting}
        entry = next((p for p in pending if p.state not in read), None)
        if entry is None:
            # They form a cycle: one of them is moved out of the way.
            waiting.add(next(p.state for p in pending if p.home and p.state not in waiting))
            continue
        pending.remove(entry)
        waits = entry.state in waiting
        area = Lifetime({}, Region.ARENA, sharing.nbytes(entry.state), steps, steps)
        moves.append(Move(entry.source, entry.state, area if waits else None))
    return moves


class _Pending(NamedTuple):
    """A next value to be copied, its state, and the state in whose buffer it is, if in any."""

    source: Value
    state: Value
    home: Value | None
