"""Basic blocks of a program as Python functions.

Tests: tests/sim/bound/test_instructions.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx_sim.bound import bits, narrow, values, wide
from rlx_sim.bound.instruction import (
    CONDITIONS,
    NZCV,
    Flow,
    Instruction,
    UnboundedError,
    unmodelled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Block = Callable[[list[Any], Any, list[int]], int]

UNKNOWN: Final = -1
"""Result of a block whose branch depends on the input."""

COUNT: Final = 19
"""Index of the executed instructions in the list of registers; flags are before it."""

_FLAGS: Final = {"fn": 15, "fz": 16, "fc": 17, "fv": 18}
_NAME: Final = re.compile(r"\b(r1[0-4]|r\d|f[nzcv])\b")
_ASSIGNED: Final = re.compile(r"^\s*((?:\w+(?:, | = ))*\w+) = ", re.MULTILINE)
_MAX_LOOKAHEAD: Final = 40
"""Instructions that are searched for a reader of flags."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A basic block.

    Attributes:
        run: Executes it on registers, memory and list of return addresses; returns the address of
            the next block, or :data:`UNKNOWN`.
        end: Address after its last instruction.
        then_start: Next block if the condition of its branch holds.
        else_start: Next block otherwise.
    """

    run: Block
    end: int
    then_start: int
    else_start: int


class Code:
    """The instructions of a program.

    Attributes:
        image: Bytes of the program by address of its segments.
        leaders: Addresses at which blocks end because another begins.
        entries: Addresses that are called.
    """

    def __init__(self, image: Mapping[int, bytes], *, partial: bool = False) -> None:
        """Create it; ``partial`` keeps the known bits of values (:mod:`rlx_sim.bound.bits`)."""
        self.image = image
        self.leaders: set[int] = set()
        self.entries: set[int] = set()
        self._decoded: dict[tuple[int, bool], Instruction] = {}
        self._names = {name: getattr(values, name) for name in dir(values) if name.islower()}
        self._names |= {"leave": leave, "jump": jump}
        if partial:
            self._names = bits.functions(self._names)
        self._partial = partial

    def instruction(self, address: int, *, in_it: bool = False) -> Instruction:
        """Return the instruction at an address.

        Raises:
            UnboundedError: It has no model, or there is none.
        """
        key = (address, in_it)
        if key not in self._decoded:
            first = self._half(address)
            if first >> 11 < 29:
                instruction = narrow.decode(address, first, in_it=in_it)
            else:
                instruction = wide.decode(address, first, self._half(address + 2))
            # No variable holds the program counter: encodings with it here are not valid.
            if any("r15" in line for line in (*instruction.lines, *(instruction.flag_lines or ()))):
                raise unmodelled(address, first)
            self._decoded[key] = instruction
        return self._decoded[key]

    def block(self, start: int) -> tuple[list[Instruction], list[str]]:
        """Return the instructions from an address to the next branch, and their conditions.

        An odd address is that of a conditional jump whose condition holds.
        """
        if start & 1:
            return [self.instruction(start - 1, in_it=True)], [""]
        instructions: list[Instruction] = []
        conditions: list[str] = []
        waiting: tuple[int, ...] = ()
        address = start
        while True:
            instruction = self.instruction(address, in_it=bool(waiting))
            instructions.append(instruction)
            conditions.append(CONDITIONS[waiting[0]] if waiting else "")
            waiting = instruction.it or waiting[1:]
            address = instruction.end
            if instruction.flow is not Flow.NEXT or (address in self.leaders and not waiting):
                return instructions, conditions

    def translate(self, start: int) -> Translation:
        """Return the block at an address."""
        instructions, conditions = self.block(start)
        last = instructions[-1]
        ending = _ending(last, conditions[-1])
        if last.flow is Flow.CALL:
            self.entries.add(last.target)
        body = [*self._body(instructions, conditions), *ending.lines]
        length = 0 if start & 1 else len(instructions)
        loops = last.flow is Flow.BRANCH and last.target == start and bool(ending.condition)
        source = _function(body, ending, length, loops=loops)
        space: dict[str, Any] = dict(self._names)
        exec(compile(source, f"block {start:#x}", "exec"), space)  # text of this module
        then_start, else_start = (
            int(to) if to.isdigit() else 0 for to in (ending.then_start, ending.else_start)
        )
        return Translation(space["block"], last.end, then_start, else_start)

    def _half(self, address: int) -> int:
        for start, content in self.image.items():
            if start <= address <= start + len(content) - 2:
                return int.from_bytes(content[address - start : address - start + 2], "little")
        raise UnboundedError("no code here", address)

    def _body(self, instructions: Sequence[Instruction], conditions: Sequence[str]) -> list[str]:
        """Return the statements, without flags that no later instruction reads."""
        live = set(NZCV) if self._flags_live(instructions[-1], conditions[-1]) else set()
        bodies: list[list[str]] = []
        for instruction, condition in zip(
            reversed(instructions), reversed(conditions), strict=True
        ):
            lines = instruction.lines
            if instruction.sets & live or (self._partial and instruction.flag_lines):
                assert instruction.flag_lines is not None
                lines = instruction.flag_lines
                live -= set() if condition else instruction.sets
            live |= _read_first(lines) | _flags_in(instruction.condition + condition)
            if instruction.flow is not Flow.NEXT and condition:
                lines = ()  # executed by the block at the odd address
            bodies.append(_guarded(lines, condition) if condition else list(lines))
        return [line for lines in reversed(bodies) for line in lines]

    def _flags_live(self, last: Instruction, condition: str) -> bool:
        """Whether a later block may read flags that this one leaves."""
        if last.flow is Flow.NEXT:
            return self._read_later(last.end)
        if last.flow is Flow.BRANCH:
            always = not (last.condition or condition)
            later = [last.target] if always else [last.target, last.end]
            return any(self._read_later(address) for address in later)
        return last.flow is Flow.JUMP or bool(condition)

    def _read_later(self, address: int) -> bool:
        for _ in range(_MAX_LOOKAHEAD):
            try:
                instruction = self.instruction(address)
            except UnboundedError:
                return True
            lines = instruction.flag_lines or instruction.lines
            if instruction.it or instruction.condition or _read_first(lines):
                return True
            if instruction.flow in (Flow.CALL, Flow.CALL_REGISTER):
                return False  # by the procedure call standard
            if instruction.sets == NZCV:
                return False
            if instruction.flow is Flow.JUMP:
                return True
            address = instruction.target if instruction.flow is Flow.BRANCH else instruction.end
        return True


def jump(target: int | None, at: int) -> int:
    """Return the address of a jump.

    Raises:
        UnboundedError: It depends on the input.
    """
    if target is None:
        raise UnboundedError("the target of a jump depends on the input", at)
    return target & ~1


def leave(calls: list[int], target: int | None, at: int) -> int:
    """Return the address of a jump, and remove it from the return addresses if it is the last."""
    address = jump(target, at)
    if calls and calls[-1] == address:
        calls.pop()
    return address


def _flags_in(text: str) -> set[str]:
    return {name for name in _NAME.findall(text) if name[0] == "f"}


def _read_first(lines: Sequence[str]) -> set[str]:
    """Return the flags that statements read before they set them."""
    read: set[str] = set()
    written: set[str] = set()
    for line in lines:
        match = _ASSIGNED.match(line)
        read |= _flags_in(line[match.end() :] if match else line) - written
        written |= _assigned(line)
    return read


def _guarded(lines: Sequence[str], condition: str) -> list[str]:
    """Return statements under a condition that may be unknown."""
    if not lines:
        return []
    names = sorted({name for line in lines for name in _assigned(line)})
    maybe = [line.replace("store(M", "store_maybe(M") for line in lines]
    before = [f"old_{name} = {name}" for name in names]
    after = [f"{name} = {name} if {name} == old_{name} else None" for name in names]
    return [
        f"k = {condition}",
        "if k:",
        *(f"  {line}" for line in lines),
        "elif k is None:",
        *(f"  {line}" for line in (*before, *maybe, *after)),
    ]


def _assigned(line: str) -> set[str]:
    """Return the registers and flags that a statement sets."""
    match = _ASSIGNED.match(line)
    return set(_NAME.findall(match[1])) if match else set()


@dataclass(frozen=True, slots=True)
class _Ending:
    """End of a block as text of Python.

    Attributes:
        then_start: Address of the next block if the condition holds, or always.
        else_start: Address of the next block otherwise.
        condition: Expression, empty if there is none.
        lines: Statements before it.
    """

    then_start: str
    else_start: str = ""
    condition: str = ""
    lines: tuple[str, ...] = ()


def _ending(last: Instruction, condition: str) -> _Ending:
    if last.flow is Flow.NEXT:
        return _Ending(str(last.end))
    if condition and last.flow is not Flow.BRANCH:
        return _Ending(str(last.address + 1), str(last.end), condition)
    if last.flow is Flow.BRANCH:
        return _Ending(str(last.target), str(last.end), last.condition or condition)
    if last.flow is Flow.JUMP:
        return _Ending(f"leave(K, x, {last.address})")
    lines = (f"r14 = {last.end | 1}", f"K.append({last.end})")
    then_start = str(last.target) if last.flow is Flow.CALL else f"jump(x, {last.address})"
    return _Ending(then_start, lines=lines)


def _function(body: list[str], ending: _Ending, length: int, *, loops: bool) -> str:
    """Return the source of a block; one that branches to itself is a loop."""
    names = sorted(set(_NAME.findall("\n".join((*body, ending.condition)))))
    written = sorted({name for line in body for name in _assigned(line)})
    test = [f"k = {ending.condition}"] if ending.condition else []
    save = [f"R[{_index(name)}] = {name}" for name in written]
    result = ending.then_start
    if loops:
        body = ["n = 0", "while True:", f"  n += {length}", *(f"  {x}" for x in (*body, *test))]
        body.append("  if not k: break")
        result = f"{UNKNOWN} if k is None else {ending.else_start}"
    else:
        body = [f"n = {length}", *body, *test]
        if test:
            result = (
                f"{UNKNOWN} if k is None else {ending.then_start} if k else {ending.else_start}"
            )
    load = [f"{name} = R[{_index(name)}]" for name in names]
    lines = ["G = M.get", *load, *body, *save, f"R[{COUNT}] += n", f"return {result}"]
    return "def block(R, M, K):\n" + "\n".join(f"  {line}" for line in lines)


def _index(name: str) -> int:
    return _FLAGS[name] if name[0] == "f" else int(name[1:])
