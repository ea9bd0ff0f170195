"""A Thumb instruction as Python statements over its registers, and its effect on control flow.

Registers are the variables ``r0`` to ``r14``, flags ``fn``, ``fz``, ``fc``, ``fv``. A value is an
unsigned int of 32 bits (a flag: 0 or 1), or None where it may depend on the input.

Tests: tests/sim/bound/test_instructions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from rlx.support.errors import RlxError

if TYPE_CHECKING:
    from collections.abc import Iterable

SP: Final = 13
LR: Final = 14
PC: Final = 15

MASK: Final = 0xFFFFFFFF


class UnboundedError(RlxError):
    """Reason that no bound can be given, at an address of the program."""

    default_hint = "use the counts of your own inputs, or another core: --cpu cortex-m4"

    def __init__(self, message: str, address: int) -> None:
        super().__init__(message)
        self.address = address


class Flow(Enum):
    """Continuation after an instruction."""

    NEXT = auto()
    BRANCH = auto()
    CALL = auto()
    JUMP = auto()
    """To the address in the variable ``x``."""
    CALL_REGISTER = auto()
    """The same, as a call."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A decoded instruction.

    Attributes:
        address: Address of its first byte.
        size: 2 or 4 bytes.
        lines: Statements without the flags that it sets.
        flag_lines: Statements with the flags; None if it sets none.
        sets: Names of the flags that it sets.
        flow: Continuation.
        target: Address that a branch or call goes to.
        condition: Expression of a branch, 1, 0 or None; empty if it is always taken.
        it: Conditions of the instructions after it, for IT.
    """

    address: int
    size: int
    lines: tuple[str, ...] = ()
    flag_lines: tuple[str, ...] | None = None
    sets: frozenset[str] = frozenset()
    flow: Flow = Flow.NEXT
    target: int = 0
    condition: str = ""
    it: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        """Address of the instruction after it."""
        return self.address + self.size


NZ: Final = frozenset({"fn", "fz"})
NZC: Final = NZ | {"fc"}
NZCV: Final = NZC | {"fv"}

CONDITIONS: Final = (
    "fz", "inv(fz)", "fc", "inv(fc)", "fn", "inv(fn)", "fv", "inv(fv)",
    "both(fc, inv(fz))", "inv(both(fc, inv(fz)))", "same(fn, fv)", "inv(same(fn, fv))",
    "both(inv(fz), same(fn, fv))", "inv(both(inv(fz), same(fn, fv)))",
)  # fmt: skip
"""Expression of each condition; source: Armv7-M Architecture Reference Manual, A7.3."""


def known(expression: str, *operands: str) -> str:
    """Return an expression that is None if an operand is; operands may be constants."""
    names = [name for name in dict.fromkeys(operands) if not name[0].isdigit()]
    if not names:
        return expression
    return f"None if {' or '.join(f'{name} is None' for name in names)} else {expression}"


def shifted(kind: int, value: str, amount: int) -> str:
    """Return an operand that is shifted by a constant: LSL, LSR, ASR, ROR; without carry."""
    if kind == 0:
        return value if amount == 0 else known(f"{value} << {amount} & {MASK}", value)
    if kind == 3 and amount == 0:
        return known(f"fc << 31 | {value} >> 1", value, "fc")
    return known(f"shift_value({kind}, {value}, {amount or 32})", value)


def arithmetic(rd: int | None, first: str, second: str, carry: str, *, sets: bool) -> Lines:
    """Return ``rd = first + second + carry``; without ``rd`` only the flags."""
    plain = []
    if rd is not None:
        value = known(f"{first} + {second} + {carry} & {MASK}", first, second, carry)
        plain = [f"r{rd} = {value}"]
    if not sets:
        return Lines(tuple(plain))
    name = "x" if rd is None else f"r{rd}"
    operands = f"double_flags({first}" if first == second else f"add_flags({first}, {second}"
    call = f"{name}, fn, fz, fc, fv = {operands}, {carry})"
    return Lines(tuple(plain), (call,), NZCV)


def inverted(value: str) -> tuple[list[str], str]:
    """Return statements and the name of the one's complement of an operand."""
    if value[0].isdigit():
        return [], str(~int(value) & MASK)
    return [f"w = {known(f'{value} ^ {MASK}', value)}"], "w"


@dataclass(frozen=True, slots=True)
class Lines:
    """Statements of an instruction; fields as in :class:`Instruction`."""

    plain: tuple[str, ...]
    full: tuple[str, ...] | None = None
    sets: frozenset[str] = frozenset()

    def after(self, before: Iterable[str]) -> Lines:
        """Return the same after further statements."""
        first = tuple(before)
        full = None if self.full is None else first + self.full
        return Lines(first + self.plain, full, self.sets)

    def at(self, address: int, size: int) -> Instruction:
        """Return the instruction with these statements."""
        return Instruction(address, size, self.plain, self.full, self.sets)


_LOGIC: Final = {
    "and": "{a} & {b}", "orr": "{a} | {b}", "eor": "{a} ^ {b}", "bic": "{a} & ({b} ^ 4294967295)",
    "orn": "{a} | {b} ^ 4294967295", "mov": "{b}", "mvn": "{b} ^ 4294967295",
}  # fmt: skip


def logic(
    operation: str, rd: int | None, first: str, second: str, *, sets: bool, carry: str = ""
) -> Lines:
    """Return a bitwise operation; ``carry`` is the expression of the carry flag, if it is set."""
    operands = (second,) if operation in ("mov", "mvn") else (first, second)
    value = known(_LOGIC[operation].format(a=first, b=second), *operands)
    plain = () if rd is None else (f"r{rd} = {value}",)
    if not sets:
        return Lines(plain)
    name = "x" if rd is None else f"r{rd}"
    full = [f"{name} = {value}", f"fn, fz = nz({name})"]
    if carry:
        full.append(f"fc = {carry}")
    return Lines(plain, tuple(full), NZC if carry else NZ)


def load(rt: int, address: str, nbytes: int, *, signed: bool = False) -> list[str]:
    """Return statements that load a register from the address that a variable holds."""
    if nbytes == 4:
        word = f"G({address}) if not {address} & 3 else load(G, {address}, 4)"
        return [f"r{rt} = {known(word, address)}"]
    name = "load_signed" if signed else "load"
    return [f"r{rt} = {name}(G, {address}, {nbytes})"]


def store(value: str, address: str, nbytes: int, at: int) -> list[str]:
    """Return statements that store a value at the address that a variable holds."""
    return [f"store(M, {address}, {value}, {nbytes}, {at})"]


def offset(base: str, distance: int) -> str:
    """Return an address at a constant distance."""
    return known(f"{base} + {distance} & {MASK}", base) if distance else base


def load_multiple(base: int, registers: list[int], start: int, *, back: int | None) -> list[str]:
    """Return statements that load registers from ``base + start``; the base moves by ``back``."""
    lines = [f"a = {offset(f'r{base}', start)}"]
    if back is not None and base not in registers:
        lines.append(f"r{base} = {offset(f'r{base}', back)}")
    for index, register in enumerate(registers):
        lines += [f"b = {offset('a', 4 * index)}", *load(register, "b", 4)]
    # The branch is taken to x.
    return [line.replace("r15 =", "x =") for line in lines]


def store_multiple(
    base: int, registers: list[int], start: int, at: int, *, back: int | None
) -> list[str]:
    """Return statements that store registers from ``base + start``."""
    lines = [f"a = {offset(f'r{base}', start)}"]
    for index, register in enumerate(registers):
        lines += [f"b = {offset('a', 4 * index)}", *store(f"r{register}", "b", 4, at)]
    if back is not None:
        lines.append(f"r{base} = {offset(f'r{base}', back)}")
    return lines


def registers_of(bits: int) -> list[int]:
    """Return the registers of a list of bits."""
    return [register for register in range(16) if bits >> register & 1]


def unmodelled(address: int, first: int, second: int | None = None) -> UnboundedError:
    """Return the error for an instruction without a model here."""
    encoding = f"{first:04x}" if second is None else f"{first:04x} {second:04x}"
    return UnboundedError(f"instruction {encoding} is not modelled", address)
