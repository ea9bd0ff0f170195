"""Division in software, on cores without an instruction for it.

The routines of GCC's library end their loop by a bit that they shift out together with the bits of
the quotient. They are executed apart from the rest, with values of which some bits are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx_sim.bound.code import COUNT
from rlx_sim.bound.instruction import SP, UnboundedError
from rlx_sim.bound.machine import Machine
from rlx_sim.bound.values import BYTES, store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Block = Callable[[list[Any], Any, list[int]], int]

ROUTINES: Final = (
    "__udivsi3", "__divsi3", "__aeabi_uidiv", "__aeabi_idiv", "__aeabi_uidivmod",
    "__aeabi_idivmod",
)  # fmt: skip
"""Names of the routines."""

_ARGUMENTS: Final = 2
_CLOBBERED: Final = (0, 1, 2, 3, 12, 15, 16, 17, 18)
"""Registers and flags that a function may change by Arm's procedure call standard."""


class Divisions:
    """The routines of a program, with the counts that were found.

    Attributes:
        varies: Whether a division took different counts on the sides of a branch.
    """

    def __init__(self, image: Mapping[int, bytes]) -> None:
        self._machine = Machine(image, hooks={}, partial=True)
        self._found: dict[tuple[Any, ...], tuple[int, frozenset[int]]] = {}

    @property
    def varies(self) -> bool:
        """Whether the count of a division depends on unknown operands."""
        return self._machine.varies

    def hook(self, entry: int, machine: Machine) -> Block:
        """Return the block that divides in place of the routine at an address of a machine."""

        def divide(registers: list[Any], memory: Any, calls: list[int]) -> int:  # noqa: ANN401
            if None not in registers[:_ARGUMENTS]:
                return machine.call(entry)
            count, written = self._executed(entry, registers)
            registers[COUNT] += count
            for index in _CLOBBERED:
                registers[index] = None
            for address in written:
                store(memory, address, None, 4, entry)
            return calls.pop()

        return divide

    def _executed(self, entry: int, outer: list[Any]) -> tuple[int, frozenset[int]]:
        """Return the largest count of a call, and the addresses of the words that it writes."""
        key = (entry, *outer[:_ARGUMENTS], outer[SP])
        if key not in self._found:
            inner = self._machine
            inner.registers[:] = [*outer[:_ARGUMENTS], *[None] * (COUNT - _ARGUMENTS), 0]
            written = inner.run_apart(entry, outer[SP])
            if inner.registers[SP] != outer[SP]:
                raise UnboundedError("a division moves the stack pointer", entry)
            words = frozenset(address % BYTES & ~3 for address in written)
            self._found[key] = inner.registers[COUNT], words
        return self._found[key]
