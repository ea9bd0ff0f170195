"""Seeded damage to files: ten kinds, each the work of a broken disk, cable or tool."""

from __future__ import annotations

import numpy as np

INTERESTING = (0, 1, -1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, -0x80000000, 1 << 24)


def mutate(data: bytes, seed: int) -> bytes:
    """Return ``data`` with one to three damages chosen by ``seed``."""
    random = np.random.default_rng(seed)
    for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
        kind = KINDS[int(random.integers(len(KINDS)))]
        data = kind(data, random) if data else data
    return data


def _place(data: bytes, random: np.random.Generator) -> int:
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


KINDS = (
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
)
