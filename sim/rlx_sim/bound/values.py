"""Functions of values that may be unknown (None), called by translated code.

Tests: tests/sim/bound/test_instructions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx_sim.bound.instruction import MASK, UnboundedError

if TYPE_CHECKING:
    from collections.abc import Callable

    Value = int | None
    Read = Callable[[int], Value]

_SIGN: Final = 0x80000000

BYTES: Final = 1 << 33
"""Distance from an address to that of its byte in a memory whose word there is unknown."""


def inv(flag: Value) -> Value:
    """Return the negation of a flag."""
    return None if flag is None else flag ^ 1


def both(first: Value, second: Value) -> Value:
    """Return the conjunction of two flags."""
    if first == 0 or second == 0:
        return 0
    return None if first is None or second is None else 1


def same(first: Value, second: Value) -> Value:
    """Return whether two flags are equal."""
    return None if first is None or second is None else int(first == second)


def xor(first: Value, second: Value) -> Value:
    """Return the exclusive disjunction of two flags."""
    return None if first is None or second is None else first ^ second


def signed(value: int) -> int:
    """Return the two's complement of 32 bits."""
    return (value ^ _SIGN) - _SIGN


def nz(value: Value) -> tuple[Value, Value]:
    """Return the flags N and Z of a result."""
    return (None, None) if value is None else (value >> 31, int(value == 0))


def add_flags(
    first: Value, second: Value, carry: Value
) -> tuple[Value, Value, Value, Value, Value]:
    """Return the sum of two operands and a carry, and the flags N, Z, C, V."""
    if first is None or second is None or carry is None:
        return None, None, None, None, None
    total = first + second + carry
    value = total & MASK
    overflow = ((first ^ value) & (second ^ value)) >> 31
    return value, value >> 31, int(value == 0), total >> 32, overflow


def double_flags(value: Value, carry: Value) -> tuple[Value, Value, Value, Value, Value]:
    """Return a value plus itself and a carry, and the flags N, Z, C, V."""
    return add_flags(value, value, carry)


def shift_value(kind: int, value: int, amount: int) -> int:
    """Return LSR, ASR or ROR by 1 to 32."""
    if kind == 1:
        return value >> amount
    if kind == 2:
        return signed(value) >> amount & MASK
    amount &= 31
    return (value >> amount | value << (32 - amount)) & MASK


def shift(kind: int, value: Value, amount: int, carry: Value) -> tuple[Value, Value]:
    """Return a value shifted by a constant, and the carry; ROR by 0 is RRX."""
    if kind == 3 and amount == 0:
        if value is None or carry is None:
            return None, None if value is None else value & 1
        return carry << 31 | value >> 1, value & 1
    if amount == 0:
        return value, carry
    if value is None:
        return None, None
    if kind == 0:
        return value << amount & MASK, value >> (32 - amount) & 1
    return shift_value(kind, value, amount), _last_bit(kind, value, amount)


def _last_bit(kind: int, value: int, amount: int) -> int:
    if kind == 2:
        return signed(value) >> (amount - 1) & 1
    return value >> ((amount - 1) & 31 if kind == 3 else amount - 1) & 1


def shift_by(kind: int, value: Value, amount: Value, carry: Value) -> tuple[Value, Value]:
    """Return a value shifted by a register, and the carry."""
    if amount is None:
        return (0, None) if value == 0 else (None, None)
    amount &= 255
    if amount == 0:
        return value, carry
    if kind < 2 and amount > 32:
        return 0, 0
    if value is None:
        return (0 if kind < 2 and amount == 32 else None), None
    return _shift_known(kind, value, amount)


def _shift_known(kind: int, value: int, amount: int) -> tuple[Value, Value]:
    if kind == 0:
        return value << amount & MASK, value << amount >> 32 & 1
    if kind == 3:
        return shift_value(3, value, amount), _last_bit(3, value, amount)
    amount = min(amount, 32)
    return shift_value(kind, value, amount), _last_bit(kind, value, amount)


def reverse(value: int) -> int:
    """REV."""
    return int.from_bytes(value.to_bytes(4, "little"), "big")


def reverse_halves(value: int) -> int:
    """REV16."""
    return (value >> 8 & 0xFF00FF) | (value & 0xFF00FF) << 8


def reverse_signed(value: int) -> int:
    """REVSH."""
    half = (value & 255) << 8 | value >> 8 & 255
    return (half ^ 0x8000) - 0x8000 & MASK


def reverse_bits(value: int) -> int:
    """RBIT."""
    return int(f"{value:032b}"[::-1], 2)


def leading_zeros(value: int) -> int:
    """CLZ."""
    return 32 - value.bit_length()


def divide(first: int, second: int) -> int:
    """UDIV."""
    return first // second if second else 0


def divide_signed(first: int, second: int) -> int:
    """SDIV."""
    if second == 0:
        return 0
    left, right = signed(first), signed(second)
    quotient = abs(left) // abs(right)
    return (quotient if (left < 0) == (right < 0) else -quotient) & MASK


def load(read: Read, address: Value, nbytes: int) -> Value:
    """Return the bytes at any address."""
    if address is None:
        return None
    start = address & 3
    word = read(address & ~3)
    if start + nbytes > 4 or word is None:
        return _load_bytes(read, address, nbytes)
    return word >> 8 * start & (1 << 8 * nbytes) - 1


def _load_bytes(read: Read, address: int, nbytes: int) -> Value:
    value = 0
    for index in range(nbytes):
        word_address = address + index & MASK
        word = read(word_address & ~3)
        byte = read(word_address + BYTES) if word is None else word >> 8 * (word_address & 3) & 255
        if byte is None:
            return None
        value |= byte << 8 * index
    return value


def load_signed(read: Read, address: Value, nbytes: int) -> Value:
    """Return the same, with its sign extended."""
    value = load(read, address, nbytes)
    sign = 1 << 8 * nbytes - 1
    return None if value is None else (value ^ sign) - sign & MASK


def store(memory: Any, address: Value, value: Value, nbytes: int, at: int) -> None:  # noqa: ANN401
    """Store a value.

    Raises:
        UnboundedError: The address depends on the input.
    """
    if address is None:
        raise UnboundedError("the address of a store depends on the input", at)
    if nbytes == 4 and not address & 3:
        memory[address] = value
        if value is None and address in memory.split:
            for word_address in range(address + BYTES, address + BYTES + 4):
                memory[word_address] = None
        return
    for index in range(nbytes):
        _store_byte(memory, address + index, None if value is None else value >> 8 * index & 255)


def _store_byte(memory: Any, address: int, byte: Value) -> None:  # noqa: ANN401
    """Store a byte: into its word where that is known, else as a byte of its own."""
    word_address, shift = address & ~3, 8 * (address & 3)
    word = memory.get(word_address)
    if word is not None and byte is not None:
        memory[word_address] = word & ~(255 << shift) | byte << shift
        return
    if word is not None:
        memory[word_address] = None
        for index in range(4):
            memory[word_address + BYTES + index] = word >> 8 * index & 255
        memory.split.add(word_address)
    if byte is not None or word_address in memory.split:
        memory.split.add(word_address)
        memory[address + BYTES] = byte


def store_maybe(
    memory: Any,  # noqa: ANN401
    address: Value,
    value: Value,
    nbytes: int,
    at: int,
) -> None:
    """Store a value, or do not: the condition is unknown."""
    old = load(memory.get, address, nbytes)
    field = (1 << 8 * nbytes) - 1
    kept = value is not None and old == value & field
    store(memory, address, value if kept else None, nbytes, at)
