"""Thumb instructions of 32 bits without memory access.

Source: Armv7-M Architecture Reference Manual, A5.3. Results of the DSP and floating-point
extensions are unknown: no address and no branch of emitted C depends on them, except on the input.

Tests: tests/sim/bound/test_instructions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_sim.bound import wide_memory
from rlx_sim.bound.instruction import (
    CONDITIONS,
    MASK,
    NZCV,
    PC,
    Flow,
    Instruction,
    Lines,
    arithmetic,
    inverted,
    known,
    logic,
    shifted,
    unmodelled,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def decode(address: int, first: int, second: int) -> Instruction:
    """Return an instruction of two half-words.

    Raises:
        UnboundedError: It has no model.
    """
    code = first << 16 | second
    for mask, value, function in _TABLE:
        if code & mask == value:
            return function(address, first, second)
    raise unmodelled(address, first, second)


def _operand(register: int, address: int) -> str:
    return str(address + 4 & ~3) if register == PC else f"r{register}"


def _shifted_register(address: int, first: int, second: int) -> Instruction:
    operation, sets, rn = first >> 5 & 15, bool(first >> 4 & 1), first & 15
    amount, kind = second >> 10 & 28 | second >> 6 & 3, second >> 4 & 3
    rd, rm = second >> 8 & 15, f"r{second & 15}"
    if operation == 6:  # PKHBT, PKHTB
        return Lines((f"r{rd} = None",)).at(address, 4)
    before = [f"y = {shifted(kind, rm, amount)}"]
    if not sets:
        return _processed(address, (first, second), operation, rn, rd, "y", sets=False).after(
            before
        ).at(address, 4)  # fmt: skip
    length = amount if kind in (0, 3) else amount or 32
    carry = f"y, x = shift({kind}, {rm}, {length}, fc)"
    lines = _processed(address, (first, second), operation, rn, rd, "y", sets=True, carry="x")
    assert lines.full is not None
    return Lines((*before, *lines.plain), (carry, *lines.full), lines.sets).at(address, 4)


def _modified_immediate(address: int, first: int, second: int) -> Instruction:
    operation, sets, rn = first >> 5 & 15, bool(first >> 4 & 1), first & 15
    bits = first << 1 & 2048 | second >> 4 & 1792 | second & 255
    value, carry = _expand(bits)
    lines = _processed(
        address, (first, second), operation, rn, second >> 8 & 15, str(value), sets=sets,
        carry=carry,
    )  # fmt: skip
    return lines.at(address, 4)


def _expand(bits: int) -> tuple[int, str]:
    """Return a modified constant and the expression of its carry, empty if it is unchanged."""
    byte = bits & 255
    if bits >> 10 == 0:
        return byte * (0x1, 0x10001, 0x1000100, 0x1010101)[bits >> 8 & 3], ""
    rotation, base = bits >> 7, byte | 128
    value = (base >> rotation | base << (32 - rotation)) & MASK
    return value, str(value >> 31)


_LOGIC: Final = {0: "and", 1: "bic", 2: "orr", 3: "orn", 4: "eor"}


def _processed(
    address: int, code: tuple[int, int], operation: int, rn: int, rd: int, operand: str,
    *, sets: bool, carry: str = "",
) -> Lines:  # fmt: skip
    """Return the statements of an operation of a register and an operand."""
    left, target = f"r{rn}", None if rd == PC and sets else rd
    if rd == PC and not sets:
        raise unmodelled(address, *code)
    if operation in _LOGIC:
        name = _LOGIC[operation]
        if rn == PC and operation in (2, 3):
            name = {2: "mov", 3: "mvn"}[operation]
        return logic(name, target, left, operand, sets=sets, carry=carry)
    return _sum(address, code, operation, target, left, operand, sets=sets)


def _sum(
    address: int, code: tuple[int, int], operation: int, target: int | None, left: str,
    operand: str, *, sets: bool,
) -> Lines:  # fmt: skip
    """ADD, ADC, SBC, SUB, RSB."""
    if operation == 8:
        return arithmetic(target, left, operand, "0", sets=sets)
    if operation == 10:
        return arithmetic(target, left, operand, "fc", sets=sets)
    if operation == 14:
        before, negated = inverted(left)
        return arithmetic(target, negated, operand, "1", sets=sets).after(before)
    before, negated = inverted(operand)
    if operation == 11:
        return arithmetic(target, left, negated, "fc", sets=sets).after(before)
    if operation == 13:
        return arithmetic(target, left, negated, "1", sets=sets).after(before)
    raise unmodelled(address, *code)


def _plain_immediate(address: int, first: int, second: int) -> Instruction:
    """ADDW, SUBW, MOVW, MOVT, bit fields, SSAT, USAT."""
    kind, rn, rd = first >> 4 & 31, first & 15, second >> 8 & 15
    value = first << 1 & 2048 | second >> 4 & 1792 | second & 255
    source = _operand(rn, address)
    if kind == 0:
        return arithmetic(rd, source, str(value), "0", sets=False).at(address, 4)
    if kind == 10:
        return arithmetic(rd, source, str(~value & MASK), "1", sets=False).at(address, 4)
    if kind in (4, 12):
        number = rn << 12 | value
        line = str(number) if kind == 4 else known(f"r{rd} & 65535 | {number << 16}", f"r{rd}")
        return Lines((f"r{rd} = {line}",)).at(address, 4)
    return _bit_field(address, first, second, kind)


def _bit_field(address: int, first: int, second: int, kind: int) -> Instruction:
    rn, rd = first & 15, second >> 8 & 15
    lowest, last = second >> 10 & 28 | second >> 6 & 3, second & 31
    source = f"r{rn}"
    if kind in (16, 18, 24, 26):  # SSAT, SSAT16, USAT, USAT16
        return Lines((f"r{rd} = None",)).at(address, 4)
    if kind == 22:  # BFI, BFC
        if last < lowest:
            raise unmodelled(address, first, second)
        field = (2 << (last - lowest)) - 1 << lowest
        bits = "0" if rn == PC else f"{source} << {lowest} & {field}"
        names = (f"r{rd}",) if rn == PC else (f"r{rd}", source)
        line = known(f"r{rd} & {~field & MASK} | {bits}", *names)
        return Lines((f"r{rd} = {line}",)).at(address, 4)
    sign, field = 1 << last, (2 << last) - 1
    if kind == 20:  # SBFX
        line = known(f"(({source} >> {lowest} & {field}) ^ {sign}) - {sign} & {MASK}", source)
    elif kind == 28:  # UBFX
        line = known(f"{source} >> {lowest} & {field}", source)
    else:
        raise unmodelled(address, first, second)
    return Lines((f"r{rd} = {line}",)).at(address, 4)


def _branch(address: int, first: int, second: int) -> Instruction:
    """B of a condition."""
    condition = first >> 6 & 15
    if condition >= len(CONDITIONS):
        return _miscellaneous(address, first, second)
    sign = first >> 10 & 1
    distance = (second & 0x800) << 8 | (second & 0x2000) << 5 | (first & 63) << 12
    distance |= (second & 0x7FF) << 1
    target = address + 4 + distance - (sign << 20)
    return Instruction(address, 4, flow=Flow.BRANCH, target=target, condition=CONDITIONS[condition])


def _far(address: int, first: int, second: int) -> Instruction:
    """B and BL with 24 bits."""
    sign = first >> 10 & 1
    high, low = (1 ^ (second >> shift & 1) ^ sign for shift in (13, 11))
    distance = high << 23 | low << 22 | (first & 1023) << 12 | (second & 2047) << 1
    target = address + 4 + distance - (sign << 24)
    flow = Flow.CALL if second >> 14 & 1 else Flow.BRANCH
    return Instruction(address, 4, flow=flow, target=target)


def _miscellaneous(address: int, first: int, second: int) -> Instruction:
    """MRS, MSR, barriers, hints."""
    if first in (0xF3AF, 0xF3BF):  # NOP and other hints; DSB, DMB, ISB, CLREX
        return Instruction(address, 4)
    if first & 0xFFFE == 0xF3EE:  # MRS
        return Lines((f"r{second >> 8 & 15} = None",)).at(address, 4)
    raise unmodelled(address, first, second)


def _extend(address: int, first: int, second: int) -> Instruction:
    """SXTB, UXTH and the like, and their sums with a register."""
    kind, rn, rd, rm = first >> 4 & 7, first & 15, second >> 8 & 15, f"r{second & 15}"
    if kind in (2, 3):  # of two half-words
        return Lines((f"r{rd} = None",)).at(address, 4)
    if kind > 5:
        raise unmodelled(address, first, second)
    rotated = "y"
    before = f"y = {shifted(3, rm, 8 * (second >> 4 & 3)) if second >> 4 & 3 else rm}"
    value = ("(({} & 65535) ^ 32768) - 32768", "({} & 65535)", "", "",
             "(({} & 255) ^ 128) - 128", "({} & 255)")[kind].format(rotated)  # fmt: skip
    if rn == PC:
        line = known(f"{value} & {MASK}", rotated)
    else:
        line = known(f"r{rn} + {value} & {MASK}", f"r{rn}", rotated)
    return Lines((before, f"r{rd} = {line}")).at(address, 4)


def _shift_register(address: int, first: int, second: int) -> Instruction:
    kind, sets, rn = first >> 5 & 3, first >> 4 & 1, f"r{first & 15}"
    rd, rm = second >> 8 & 15, f"r{second & 15}"
    plain = f"r{rd}, x = shift_by({kind}, {rn}, {rm}, None)"
    if not sets:
        return Lines((plain,)).at(address, 4)
    full = (f"r{rd}, fc = shift_by({kind}, {rn}, {rm}, fc)", f"fn, fz = nz(r{rd})")
    return Lines((plain,), full, frozenset({"fn", "fz", "fc"})).at(address, 4)


def _unknown_result(address: int, first: int, second: int) -> Instruction:
    del first
    return Lines((f"r{second >> 8 & 15} = None",)).at(address, 4)


def _single(address: int, first: int, second: int) -> Instruction:
    """REV, REV16, RBIT, REVSH, CLZ; results of saturation and selection are unknown."""
    rd, rm, group, kind = second >> 8 & 15, f"r{second & 15}", first >> 4 & 3, second >> 4 & 3
    name = ""
    if group == 1:
        name = ("reverse", "reverse_halves", "reverse_bits", "reverse_signed")[kind]
    elif group == 3 and kind == 0:
        name = "leading_zeros"
    line = known(f"{name}({rm})", rm) if name else "None"
    return Lines((f"r{rd} = {line}",)).at(address, 4)


def _multiply(address: int, first: int, second: int) -> Instruction:
    """MUL, MLA, MLS; products of half-words and of high words are unknown."""
    rn, rm, rd, ra = f"r{first & 15}", f"r{second & 15}", second >> 8 & 15, second >> 12
    kind = second >> 4 & 15
    if first >> 4 & 7 or kind > 1:
        return Lines((f"r{rd} = None",)).at(address, 4)
    if ra == PC:
        line = known(f"{rn} * {rm} & {MASK}", rn, rm)
    else:
        sign = "-" if kind else "+"
        line = known(f"r{ra} {sign} {rn} * {rm} & {MASK}", f"r{ra}", rn, rm)
    return Lines((f"r{rd} = {line}",)).at(address, 4)


def _long(address: int, first: int, second: int) -> Instruction:
    """Products of 64 bits, SDIV, UDIV."""
    rn, rm, low, high = f"r{first & 15}", f"r{second & 15}", second >> 12, second >> 8 & 15
    operation, kind = first >> 4 & 7, second >> 4 & 15
    if (operation, kind) in ((1, 15), (3, 15)):
        name = "divide_signed" if operation == 1 else "divide"
        return Lines((f"r{high} = {known(f'{name}({rn}, {rm})', rn, rm)}",)).at(address, 4)
    products = {(0, 0): "signed({0}) * signed({1})", (2, 0): "{0} * {1}",
                (4, 0): "signed({0}) * signed({1}) + ({3} << 32 | {2})",
                (6, 0): "{0} * {1} + ({3} << 32 | {2})"}  # fmt: skip
    if (operation, kind) not in products:
        return Lines((f"r{low} = None", f"r{high} = None")).at(address, 4)
    names = (rn, rm) if operation < 4 else (rn, rm, f"r{low}", f"r{high}")
    product = products[operation, kind].format(rn, rm, f"r{low}", f"r{high}")
    lines = (
        f"y = {known(product, *names)}",
        f"r{low} = {known(f'y & {MASK}', 'y')}",
        f"r{high} = {known(f'y >> 32 & {MASK}', 'y')}",
    )
    return Lines(lines).at(address, 4)


def _float(address: int, first: int, second: int) -> Instruction:
    """Floating point: what it moves to registers and flags is unknown."""
    if first & 0xFF00 != 0xEE00 or not second & 0x10 or not first & 0x10:
        return Instruction(address, 4)
    rt = second >> 12
    if rt != PC:
        return Lines((f"r{rt} = None",)).at(address, 4)
    lines = ("fn = fz = fc = fv = None",)
    return Lines((), lines, NZCV).at(address, 4)


_TABLE: Final[tuple[tuple[int, int, Callable[[int, int, int], Instruction]], ...]] = (
    (0xFE400000, 0xE8000000, wide_memory.multiple),
    (0xFFE0F000, 0xE8C0F000, wide_memory.table_branch),
    (0xFE400000, 0xE8400000, wide_memory.double),
    (0xFE008000, 0xEA000000, _shifted_register),
    (0xFA008000, 0xF0000000, _modified_immediate),
    (0xFA008000, 0xF2000000, _plain_immediate),
    (0xF800D000, 0xF0008000, _branch),
    (0xF8009000, 0xF0009000, _far),
    (0xFE000000, 0xF8000000, wide_memory.single),
    (0xFF80F0F0, 0xFA00F000, _shift_register),
    (0xFF80F0C0, 0xFA00F080, _extend),
    (0xFF80F080, 0xFA80F000, _unknown_result),
    (0xFFC0F0C0, 0xFA80F080, _single),
    (0xFF800000, 0xFB000000, _multiply),
    (0xFF800000, 0xFB800000, _long),
    (0xFE000E00, 0xEC000A00, wide_memory.float_memory),
    (0xFF000E00, 0xEE000A00, _float),
    (0xFF000E10, 0xFE000A00, _float),
)
