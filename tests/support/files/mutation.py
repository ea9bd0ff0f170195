"""Seeded damage to files: kinds of it, each the work of a broken disk, cable or tool."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Kind: TypeAlias = Callable[[bytes, np.random.Generator], bytes]

INTERESTING = (0, 1, -1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, -0x80000000, 1 << 24)


NUMBERS = (
    b"0", b"-1", b"1", b"255", b"65536", b"2147483647", b"2147483648", b"4611686018427387904",
    b"1e308", b"1e999", b"-0.0", b"NaN", b"null", b"true", b'""', b"[]", b"{}", b"9" * 5000,
)  # fmt: skip
_TOKENS = re.compile(rb"\w+|\s+|.", re.DOTALL)


def mutate(data: bytes, seed: int, other: bytes = b"") -> bytes:
    """Return ``data`` with one to three damages chosen by ``seed``.

    Args:
        data: The content of a file.
        seed: Chooses kinds and places.
        other: The content of another file, parts of which may get into this one.
    """
    random = np.random.default_rng(seed)
    kinds = KINDS if not other else (*KINDS, lambda d, r: splice(d, other, r))
    return _damaged(data, kinds, random)


def mutate_text(data: bytes, seed: int) -> bytes:
    """Return text, such as JSON or a header, with one to three tokens damaged."""
    return _damaged(data, TEXT_KINDS, np.random.default_rng(seed))


def _damaged(data: bytes, kinds: tuple[Kind, ...], random: np.random.Generator) -> bytes:
    for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
        kind = kinds[int(random.integers(len(kinds)))]
        data = kind(data, random) if data else data
    return data


def _place(data: Sequence[object], random: np.random.Generator) -> int:
    return int(random.integers(len(data)))


def _span(data: bytes, random: np.random.Generator) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + int(random.integers(1, 65)))


def truncate(data: bytes, random: np.random.Generator) -> bytes:
    return data[: _place(data, random)]


def flip_bit(data: bytes, random: np.random.Generator) -> bytes:
    place = _place(data, random)
    return data[:place] + bytes([data[place] ^ (1 << int(random.integers(8)))]) + data[place + 1 :]


def change_byte(data: bytes, random: np.random.Generator) -> bytes:
    place = _place(data, random)
    return data[:place] + bytes([int(random.integers(256))]) + data[place + 1 :]


def change_int32(data: bytes, random: np.random.Generator) -> bytes:
    return _change_integer(data, random, 4)


def change_int64(data: bytes, random: np.random.Generator) -> bytes:
    return _change_integer(data, random, 8)


def _change_integer(data: bytes, random: np.random.Generator, width: int) -> bytes:
    place = _place(data, random) // width * width
    value = int(random.choice(INTERESTING))
    raw = value.to_bytes(width, "little", signed=value < 0)
    return (data[:place] + raw + data[place + width :])[: len(data)]


def delete(data: bytes, random: np.random.Generator) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def duplicate(data: bytes, random: np.random.Generator) -> bytes:
    start, end = _span(data, random)
    return data[:end] + data[start:end] + data[end:]


def insert(data: bytes, random: np.random.Generator) -> bytes:
    place = _place(data, random)
    return data[:place] + random.bytes(int(random.integers(1, 33))) + data[place:]


def change_header(data: bytes, random: np.random.Generator) -> bytes:
    place = int(random.integers(min(len(data), 64)))
    return data[:place] + bytes([int(random.integers(256))]) + data[place + 1 :]


def zero_fill(data: bytes, random: np.random.Generator) -> bytes:
    start, end = _span(data, random)
    return data[:start] + bytes(end - start) + data[end:]


def swap_blocks(data: bytes, random: np.random.Generator) -> bytes:
    """Exchange two blocks of up to 4096 bytes, as a disk does that loses its order."""
    length = min(int(random.choice([4, 16, 512, 4096])), len(data) // 2)
    first, second = sorted(int(k) for k in random.integers(0, len(data) - length + 1, 2))
    if second < first + length:
        return data
    blocks = data[first : first + length], data[second : second + length]
    return (
        data[:first] + blocks[1] + data[first + length : second] + blocks[0]
        + data[second + length :]
    )  # fmt: skip


def rot(data: bytes, random: np.random.Generator) -> bytes:
    """Flip one bit of every second byte of a range."""
    start, end = _span(data, random)
    flips = 1 << random.integers(0, 8, end - start)
    flips[random.random(end - start) > 0.5] = 0
    changed = np.frombuffer(data[start:end], np.uint8) ^ flips.astype(np.uint8)
    return data[:start] + changed.tobytes() + data[end:]


def append(data: bytes, random: np.random.Generator) -> bytes:
    """Append bytes: a transfer that was not cut where the file ends."""
    return data + random.bytes(int(random.integers(1, 4097)))


def shift(data: bytes, random: np.random.Generator) -> bytes:
    """Insert one to three bytes before a place and drop as many at the end."""
    place, count = _place(data, random), int(random.integers(1, 4))
    return (data[:place] + bytes(count) + data[place:])[: len(data)]


def splice(data: bytes, other: bytes, random: np.random.Generator) -> bytes:
    """Begin with one file and go on with another."""
    return data[: _place(data, random)] + other[_place(other, random) :]


def change_token(data: bytes, random: np.random.Generator) -> bytes:
    tokens = _TOKENS.findall(data)
    tokens[_place(tokens, random)] = NUMBERS[int(random.integers(len(NUMBERS)))]
    return b"".join(tokens)


def change_number(data: bytes, random: np.random.Generator) -> bytes:
    tokens = _TOKENS.findall(data)
    places = [k for k, token in enumerate(tokens) if token.isdigit()]
    if places:
        tokens[places[_place(places, random)]] = NUMBERS[int(random.integers(len(NUMBERS)))]
    return b"".join(tokens)


def delete_token(data: bytes, random: np.random.Generator) -> bytes:
    tokens = _TOKENS.findall(data)
    del tokens[_place(tokens, random)]
    return b"".join(tokens)


def duplicate_token(data: bytes, random: np.random.Generator) -> bytes:
    tokens = _TOKENS.findall(data)
    place = _place(tokens, random)
    count = int(random.choice([2, 2, 2, 100, 10_000]))
    return b"".join([*tokens[:place], tokens[place] * count, *tokens[place + 1 :]])


def exchange_tokens(data: bytes, random: np.random.Generator) -> bytes:
    tokens = _TOKENS.findall(data)
    first, second = _place(tokens, random), _place(tokens, random)
    tokens[first], tokens[second] = tokens[second], tokens[first]
    return b"".join(tokens)


KINDS: tuple[Kind, ...] = (
    truncate,
    flip_bit,
    change_byte,
    change_int32,
    change_int64,
    delete,
    duplicate,
    insert,
    change_header,
    zero_fill,
    swap_blocks,
    rot,
    append,
    shift,
)

TEXT_KINDS: tuple[Kind, ...] = (
    change_token,
    change_number,
    change_number,
    delete_token,
    duplicate_token,
    exchange_tokens,
    flip_bit,
    change_byte,
    truncate,
)
