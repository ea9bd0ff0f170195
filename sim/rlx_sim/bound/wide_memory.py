"""Thumb instructions of 32 bits that load and store, and the table branch.

Tests: tests/sim/bound/test_instructions.py
"""

from __future__ import annotations

from rlx_sim.bound.instruction import (
    MASK,
    PC,
    Flow,
    Instruction,
    known,
    load,
    load_multiple,
    offset,
    registers_of,
    store,
    store_multiple,
    unmodelled,
)


def multiple(address: int, first: int, second: int) -> Instruction:
    """LDM, STM, PUSH, POP."""
    rn, registers = first & 15, registers_of(second)
    below = first >> 7 & 3
    if below not in (1, 2):
        raise unmodelled(address, first, second)
    space = 4 * len(registers)
    start, back = (-space, -space) if below == 2 else (0, space)
    written = back if first >> 5 & 1 else None
    if first >> 4 & 1:
        lines = load_multiple(rn, registers, start, back=written)
        flow = Flow.JUMP if PC in registers else Flow.NEXT
        return Instruction(address, 4, tuple(lines), flow=flow)
    return Instruction(
        address, 4, tuple(store_multiple(rn, registers, start, address, back=written))
    )


def table_branch(address: int, first: int, second: int) -> Instruction:
    """TBB, TBH."""
    if second & 0xE0 or not first & 0x10:
        raise unmodelled(address, first, second)
    wide, rm = second >> 4 & 1, f"r{second & 15}"
    base = str(address + 4) if first & 15 == PC else f"r{first & 15}"
    lines = (
        f"a = {known(f'{base} + ({rm} << {wide}) & {MASK}', base, rm)}",
        f"x = load(G, a, {1 + wide})",
        f"x = {known(f'{address + 4} + 2 * x | 1', 'x')}",
    )
    return Instruction(address, 4, lines, flow=Flow.JUMP)


def double(address: int, first: int, second: int) -> Instruction:
    """LDRD, STRD; exclusive accesses have no model."""
    rn, low, high = first & 15, second >> 12, second >> 8 & 15
    before, written = first >> 8 & 1, first >> 5 & 1
    if not before and not written:
        raise unmodelled(address, first, second)
    base = str(address + 4 & ~3) if rn == PC else f"r{rn}"
    distance = 4 * (second & 255) * (1 if first >> 7 & 1 else -1)
    lines = [f"a = {_moved(base, distance) if before else base}", f"b = {offset('a', 4)}"]
    if first >> 4 & 1:
        after = [*load(low, "a", 4), *load(high, "b", 4)]
    else:
        after = [*store(f"r{low}", "a", 4, address), *store(f"r{high}", "b", 4, address)]
    if written:
        lines.append(f"c = {_moved(base, distance)}")
        after.append(f"r{rn} = c")
    return Instruction(address, 4, tuple(lines + after))


def _moved(base: str, distance: int) -> str:
    return str(int(base) + distance) if base[0].isdigit() else offset(base, distance)


def single(address: int, first: int, second: int) -> Instruction:
    """LDR, STR and their short forms."""
    size, loads = first >> 5 & 3, bool(first >> 4 & 1)
    rn, rt = first & 15, second >> 12
    signed = bool(first >> 8 & 1)
    if size == 3 or (not loads and (rn == PC or signed)) or (size == 2 and signed):
        raise unmodelled(address, first, second)
    before, after = _address(address, first, second)
    if loads and rt == PC:
        if size == 2:
            lines = (*before, "x = load(G, a, 4)", *after)
            return Instruction(address, 4, lines, flow=Flow.JUMP)
        return Instruction(address, 4)  # PLD
    if loads:
        body = load(rt, "a", 1 << size, signed=signed)
    else:
        body = store(f"r{rt}", "a", 1 << size, address)
    return Instruction(address, 4, (*before, *body, *after))


def _address(address: int, first: int, second: int) -> tuple[list[str], list[str]]:
    """Return the statements that compute the address, and those that write it back."""
    rn, base = first & 15, f"r{first & 15}"
    sign = 1 if first >> 7 & 1 else -1
    if rn == PC:
        return [f"a = {(address + 4 & ~3) + sign * (second & 4095)}"], []
    if first >> 7 & 1:
        return [f"a = {offset(base, second & 4095)}"], []
    if second & 0x0FC0 == 0:
        rm, shift = f"r{second & 15}", second >> 4 & 3
        return [f"a = {known(f'{base} + ({rm} << {shift}) & {MASK}', base, rm)}"], []
    if not second & 0x800:
        raise unmodelled(address, first, second)
    distance = (second & 255) * (1 if second >> 9 & 1 else -1)
    before, written = second >> 10 & 1, second >> 8 & 1
    lines = [f"a = {offset(base, distance) if before else base}"]
    if not written:
        return lines, []
    return [*lines, f"c = {offset(base, distance)}"], [f"{base} = c"]


def float_memory(address: int, first: int, second: int) -> Instruction:
    """VLDR, VSTR, VLDM, VSTM and moves of two registers; registers of floats are unknown."""
    rn, before, up, written = first & 15, first >> 8 & 1, first >> 7 & 1, first >> 5 & 1
    if first & 0xFFE0 == 0xEC40:  # VMOV of two registers
        lines = (f"r{second >> 12} = None", f"r{rn} = None") if first & 0x10 else ()
        return Instruction(address, 4, lines)
    if not before and not up:
        raise unmodelled(address, first, second)
    base = str(address + 4 & ~3) if rn == PC else f"r{rn}"
    distance = 4 * (second & 255) * (1 if up else -1)
    many = bool(written or not before)
    words = second & 255 if many else (second >> 8 & 1) + 1
    start = distance if before else 0
    body = [f"a = {_moved(base, start)}"]
    if not first & 0x10:
        for index in range(words):
            body += [f"b = {offset('a', 4 * index)}", *store("None", "b", 4, address)]
    if written:
        body.append(f"{base} = {offset(base, distance)}")
    return Instruction(address, 4, tuple(body))
