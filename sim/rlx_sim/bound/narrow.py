"""Thumb instructions of 16 bits. Source: Armv7-M Architecture Reference Manual, A5.2.

Tests: tests/sim/bound/test_instructions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_sim.bound.instruction import (
    CONDITIONS,
    LR,
    MASK,
    NZC,
    PC,
    SP,
    Flow,
    Instruction,
    Lines,
    arithmetic,
    inverted,
    known,
    load,
    load_multiple,
    logic,
    offset,
    registers_of,
    shifted,
    store,
    store_multiple,
    unmodelled,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def decode(address: int, code: int, *, in_it: bool) -> Instruction:
    """Return an instruction of 16 bits; inside of IT, arithmetic sets no flags.

    Raises:
        UnboundedError: It has no model.
    """
    for mask, value, function in _TABLE:
        if code & mask == value:
            return function(address, code, not in_it)
    raise unmodelled(address, code)


def _shift(address: int, code: int, sets: bool) -> Instruction:
    """LSL, LSR, ASR by a constant."""
    kind, amount, rm, rd = code >> 11 & 3, code >> 6 & 31, code >> 3 & 7, code & 7
    plain = f"r{rd} = {shifted(kind, f'r{rm}', amount)}"
    carry = (f"r{rd}, fc = shift({kind}, r{rm}, {amount if kind == 0 else amount or 32}, fc)",
             f"fn, fz = nz(r{rd})")  # fmt: skip
    return Lines((plain,), carry if sets else None, NZC if sets else frozenset()).at(address, 2)


def _add_three(address: int, code: int, sets: bool) -> Instruction:
    """ADD, SUB of three low registers or a constant of 3 bits."""
    rd, rn, other = code & 7, code >> 3 & 7, code >> 6 & 7
    second = str(other) if code >> 10 & 1 else f"r{other}"
    if code >> 9 & 1:
        before, second = inverted(second)
        return arithmetic(rd, f"r{rn}", second, "1", sets=sets).after(before).at(address, 2)
    return arithmetic(rd, f"r{rn}", second, "0", sets=sets).at(address, 2)


def _immediate(address: int, code: int, sets: bool) -> Instruction:
    """MOV, CMP, ADD, SUB of a constant of 8 bits."""
    kind, rd, value = code >> 11 & 3, code >> 8 & 7, code & 255
    if kind == 0:
        return logic("mov", rd, "", str(value), sets=sets).at(address, 2)
    if kind == 2:
        return arithmetic(rd, f"r{rd}", str(value), "0", sets=sets).at(address, 2)
    negated = str(~value & MASK)
    target = None if kind == 1 else rd
    return arithmetic(target, f"r{rd}", negated, "1", sets=sets or kind == 1).at(address, 2)


def _register(address: int, code: int, sets: bool) -> Instruction:
    """Operations of two low registers."""
    operation, rm, rd = code >> 6 & 15, code >> 3 & 7, code & 7
    first, second = f"r{rd}", f"r{rm}"
    names = {0: "and", 1: "eor", 12: "orr", 14: "bic", 15: "mvn"}
    if operation in names:
        return logic(names[operation], rd, first, second, sets=sets).at(address, 2)
    if operation == 8:  # TST
        return logic("and", None, first, second, sets=True).at(address, 2)
    if operation in (2, 3, 4, 7):
        return _shift_register(rd, first, second, {2: 0, 3: 1, 4: 2, 7: 3}[operation], sets).at(
            address, 2
        )
    if operation == 13:  # MUL
        value = known(f"{first} * {second} & {MASK}", first, second)
        full = (f"r{rd} = {value}", f"fn, fz = nz(r{rd})") if sets else None
        flags = frozenset({"fn", "fz"}) if sets else frozenset()
        return Lines((f"r{rd} = {value}",), full, flags).at(address, 2)
    return _sum(rd, first, second, operation, sets).at(address, 2)


def _shift_register(rd: int, first: str, second: str, kind: int, sets: bool) -> Lines:
    plain = f"r{rd}, x = shift_by({kind}, {first}, {second}, None)"
    full = f"r{rd}, fc = shift_by({kind}, {first}, {second}, fc)"
    if not sets:
        return Lines((plain,))
    return Lines((plain,), (full, f"fn, fz = nz(r{rd})"), NZC)


def _sum(rd: int, first: str, second: str, operation: int, sets: bool) -> Lines:
    """ADC, SBC, RSB, CMP, CMN."""
    if operation == 5:
        return arithmetic(rd, first, second, "fc", sets=sets)
    if operation == 11:
        return arithmetic(None, first, second, "0", sets=True)
    if operation == 9:
        before, negated = inverted(second)
        return arithmetic(rd, negated, "0", "1", sets=sets).after(before)
    before, negated = inverted(second)
    if operation == 6:
        return arithmetic(rd, first, negated, "fc", sets=sets).after(before)
    return arithmetic(None, first, negated, "1", sets=True).after(before)


def _high(address: int, code: int, sets: bool) -> Instruction:
    """ADD, CMP, MOV of any two registers."""
    del sets
    rd, rm = code >> 4 & 8 | code & 7, code >> 3 & 15
    first, second = (_read(register, address) for register in (rd, rm))
    kind = code >> 8 & 3
    if kind == 1:
        before, negated = inverted(second)
        return arithmetic(None, first, negated, "1", sets=True).after(before).at(address, 2)
    value = second if kind == 2 else known(f"{first} + {second} & {MASK}", first, second)
    if rd == PC:
        return Instruction(address, 2, (f"x = {value}",), flow=Flow.JUMP)
    if rd == SP:
        value = known(f"{value if kind == 2 else f'({first} + {second})'} & 4294967292",
                      *((second,) if kind == 2 else (first, second)))  # fmt: skip
    return Instruction(address, 2, (f"r{rd} = {value}",))


def _read(register: int, address: int) -> str:
    return str(address + 4) if register == PC else f"r{register}"


def _exchange(address: int, code: int, sets: bool) -> Instruction:
    """BX, BLX."""
    del sets
    rm = code >> 3 & 15
    lines = (f"x = {_read(rm, address)}",)
    flow = Flow.CALL_REGISTER if code >> 7 & 1 else Flow.JUMP
    return Instruction(address, 2, lines, flow=flow)


def _literal(address: int, code: int, sets: bool) -> Instruction:
    del sets
    place = (address + 4 & ~3) + 4 * (code & 255)
    return Instruction(address, 2, (f"a = {place}", *load(code >> 8 & 7, "a", 4)))


def _indexed(address: int, code: int, sets: bool) -> Instruction:
    """Loads and stores with a register as offset."""
    del sets
    kind, rm, rn, rt = code >> 9 & 7, code >> 6 & 7, code >> 3 & 7, code & 7
    first = f"a = {known(f'r{rn} + r{rm} & {MASK}', f'r{rn}', f'r{rm}')}"
    if kind < 3:
        return Instruction(address, 2, (first, *store(f"r{rt}", "a", (4, 2, 1)[kind], address)))
    nbytes, signed = ((1, True), (4, False), (2, False), (1, False), (2, True))[kind - 3]
    return Instruction(address, 2, (first, *load(rt, "a", nbytes, signed=signed)))


def _distance(address: int, code: int, sets: bool) -> Instruction:
    """Loads and stores with a constant of 5 bits as offset."""
    del sets
    nbytes = {3: 4, 4: 2}[code >> 13] if code >> 12 != 7 else 1
    rt, first = code & 7, f"a = {offset(f'r{code >> 3 & 7}', (code >> 6 & 31) * nbytes)}"
    if code >> 11 & 1:
        return Instruction(address, 2, (first, *load(rt, "a", nbytes)))
    return Instruction(address, 2, (first, *store(f"r{rt}", "a", nbytes, address)))


def _on_stack(address: int, code: int, sets: bool) -> Instruction:
    del sets
    rt, first = code >> 8 & 7, f"a = {offset('r13', 4 * (code & 255))}"
    if code >> 11 & 1:
        return Instruction(address, 2, (first, *load(rt, "a", 4)))
    return Instruction(address, 2, (first, *store(f"r{rt}", "a", 4, address)))


def _address(address: int, code: int, sets: bool) -> Instruction:
    """ADR, ADD of the stack pointer."""
    del sets
    rd, distance = code >> 8 & 7, 4 * (code & 255)
    value = offset("r13", distance) if code >> 11 & 1 else str((address + 4 & ~3) + distance)
    return Instruction(address, 2, (f"r{rd} = {value}",))


def _move_stack(address: int, code: int, sets: bool) -> Instruction:
    del sets
    distance = 4 * (code & 127)
    return Instruction(
        address, 2, (f"r13 = {offset('r13', -distance if code >> 7 & 1 else distance)}",)
    )


def _compare_branch(address: int, code: int, sets: bool) -> Instruction:
    """CBZ, CBNZ."""
    del sets
    rn = f"r{code & 7}"
    target = address + 4 + (code >> 3 & 64) + (code >> 2 & 62)
    condition = f"inv(nz({rn})[1])" if code >> 11 & 1 else f"nz({rn})[1]"
    return Instruction(address, 2, flow=Flow.BRANCH, target=target, condition=condition)


def _extend(address: int, code: int, sets: bool) -> Instruction:
    del sets
    kind, rm, rd = code >> 6 & 3, f"r{code >> 3 & 7}", code & 7
    expression = (
        "(({} & 65535) ^ 32768) - 32768 & 4294967295",
        "(({} & 255) ^ 128) - 128 & 4294967295",
        "{} & 65535",
        "{} & 255",
    )[kind]
    return Instruction(address, 2, (f"r{rd} = {known(expression.format(rm), rm)}",))


def _reverse(address: int, code: int, sets: bool) -> Instruction:
    """REV, REV16, REVSH."""
    del sets
    rm, rd = f"r{code >> 3 & 7}", code & 7
    name = {0: "reverse", 1: "reverse_halves", 3: "reverse_signed"}.get(code >> 6 & 3)
    if name is None:
        raise unmodelled(address, code)
    return Instruction(address, 2, (f"r{rd} = {known(f'{name}({rm})', rm)}",))


def _push(address: int, code: int, sets: bool) -> Instruction:
    del sets
    registers = registers_of(code & 255) + ([LR] if code >> 8 & 1 else [])
    space = -4 * len(registers)
    return Instruction(address, 2, tuple(store_multiple(SP, registers, space, address, back=space)))


def _pop(address: int, code: int, sets: bool) -> Instruction:
    del sets
    registers = registers_of(code & 255) + ([PC] if code >> 8 & 1 else [])
    lines = tuple(load_multiple(SP, registers, 0, back=4 * len(registers)))
    return Instruction(address, 2, lines, flow=Flow.JUMP if PC in registers else Flow.NEXT)


def _multiple(address: int, code: int, sets: bool) -> Instruction:
    """LDM, STM."""
    del sets
    rn, registers = code >> 8 & 7, registers_of(code & 255)
    back = 4 * len(registers)
    if code >> 11 & 1:
        return Instruction(address, 2, tuple(load_multiple(rn, registers, 0, back=back)))
    return Instruction(address, 2, tuple(store_multiple(rn, registers, 0, address, back=back)))


def _hint(address: int, code: int, sets: bool) -> Instruction:
    """IT, NOP and other hints."""
    del sets
    mask, condition = code & 15, code >> 4 & 15
    if mask == 0:
        return Instruction(address, 2)
    if condition >= len(CONDITIONS):
        raise unmodelled(address, code)
    count = 4 - (mask & -mask).bit_length() + 1
    later_conditions = (condition & 14 | mask >> (4 - index) & 1 for index in range(1, count))
    return Instruction(address, 2, it=(condition, *later_conditions))


def _branch(address: int, code: int, sets: bool) -> Instruction:
    del sets
    condition = code >> 8 & 15
    if condition >= len(CONDITIONS):  # UDF, SVC
        raise unmodelled(address, code)
    target = address + 4 + ((code & 255 ^ 128) - 128) * 2
    return Instruction(address, 2, flow=Flow.BRANCH, target=target, condition=CONDITIONS[condition])


def _jump(address: int, code: int, sets: bool) -> Instruction:
    del sets
    target = address + 4 + ((code & 2047 ^ 1024) - 1024) * 2
    return Instruction(address, 2, flow=Flow.BRANCH, target=target)


_TABLE: Final[tuple[tuple[int, int, Callable[[int, int, bool], Instruction]], ...]] = (
    (0xF800, 0x1800, _add_three),
    (0xE000, 0x0000, _shift),
    (0xE000, 0x2000, _immediate),
    (0xFC00, 0x4000, _register),
    (0xFF07, 0x4700, _exchange),
    (0xFF07, 0x4780, _exchange),
    (0xFF00, 0x4400, _high),
    (0xFF00, 0x4500, _high),
    (0xFF00, 0x4600, _high),
    (0xF800, 0x4800, _literal),
    (0xF000, 0x5000, _indexed),
    (0xF000, 0x6000, _distance),
    (0xF000, 0x7000, _distance),
    (0xF000, 0x8000, _distance),
    (0xF000, 0x9000, _on_stack),
    (0xF000, 0xA000, _address),
    (0xFF00, 0xB000, _move_stack),
    (0xF500, 0xB100, _compare_branch),
    (0xFF00, 0xB200, _extend),
    (0xFF00, 0xBA00, _reverse),
    (0xFE00, 0xB400, _push),
    (0xFE00, 0xBC00, _pop),
    (0xFF00, 0xBF00, _hint),
    (0xF000, 0xC000, _multiple),
    (0xF000, 0xD000, _branch),
    (0xF800, 0xE000, _jump),
)
