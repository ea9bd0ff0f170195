"""Blocks of few bits: packed here number by number, and decoded again."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx.frontends.weights import WeightStore
from rlx.support.errors import FrontendError
from support.messages import raises

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RANDOM = np.random.default_rng(8)
Block = tuple[bytes, list[float]]


def half(value: float) -> bytes:
    return struct.pack("<e", value)


def number() -> float:
    """Return a number that float16 has, so that products below are exact."""
    return float(np.float16(RANDOM.integers(-40, 40) / 16))


def nibbles(numbers: list[int]) -> bytes:
    """Return bytes whose low halves are the first half of the numbers."""
    count = len(numbers) // 2
    return bytes(numbers[i] + 16 * numbers[count + i] for i in range(count))


def draw(count: int, below: int) -> list[int]:
    return [int(n) for n in RANDOM.integers(0, below, count)]


def q4_0() -> Block:
    scale, numbers = number(), draw(32, 16)
    return half(scale) + nibbles(numbers), [scale * (n - 8) for n in numbers]


def q4_1() -> Block:
    scale, offset, numbers = number(), number(), draw(32, 16)
    data = half(scale) + half(offset) + nibbles(numbers)
    return data, [scale * n + offset for n in numbers]


def fifth(numbers: list[int]) -> bytes:
    return sum((n >> 4) << i for i, n in enumerate(numbers)).to_bytes(4, "little")


def q5_0() -> Block:
    scale, numbers = number(), draw(32, 32)
    data = half(scale) + fifth(numbers) + nibbles([n & 15 for n in numbers])
    return data, [scale * (n - 16) for n in numbers]


def q5_1() -> Block:
    scale, offset, numbers = number(), number(), draw(32, 32)
    data = half(scale) + half(offset) + fifth(numbers) + nibbles([n & 15 for n in numbers])
    return data, [scale * n + offset for n in numbers]


def q8_0() -> Block:
    scale, numbers = number(), [n - 128 for n in draw(32, 256)]
    return half(scale) + struct.pack("32b", *numbers), [scale * n for n in numbers]


def iq4_nl() -> Block:
    levels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]
    scale, numbers = number(), draw(32, 16)
    return half(scale) + nibbles(numbers), [scale * levels[n] for n in numbers]


E2M1 = [s * n for s in (1, -1) for n in (0, 0.5, 1, 1.5, 2, 3, 4, 6)]


def mxfp4() -> Block:
    exponent, numbers = int(RANDOM.integers(90, 160)), draw(32, 16)
    values = [2.0 ** (exponent - 127) * E2M1[n] for n in numbers]
    return bytes([exponent]) + nibbles(numbers), values


def nvfp4() -> Block:
    # 0x38 is 1, 0x01 the smallest number, 0x7e the largest; 0x7f is not a number.
    scales = {0x38: 1.0, 0x39: 1.125, 0x01: 2.0**-9, 0x7E: 448.0, 0x7F: 0.0, 0xC0: 2.0}
    chosen = [list(scales)[i] for i in draw(4, len(scales))]
    runs = [draw(16, 16) for _ in range(4)]
    values = [scales[c] * E2M1[n] for c, run in zip(chosen, runs, strict=True) for n in run]
    return bytes(chosen) + b"".join(map(nibbles, runs)), values


def tq1_0() -> Block:
    """Digits to base 3 are stored as a fraction of 256, rounded up, the first one first."""
    scale, digits = number(), draw(256, 3)

    def packed(runs: list[list[int]]) -> bytes:
        found = []
        for column in zip(*runs, strict=True):
            total = 0
            for digit in (*column, *(0,) * (5 - len(column))):
                total = 3 * total + digit
            found.append(-(-total * 256 // 243))
        return bytes(found)

    long = [digits[32 * i : 32 * i + 32] for i in range(5)]
    short = [digits[160 + 16 * i : 176 + 16 * i] for i in range(5)]
    rest = [digits[240 + 4 * i : 244 + 4 * i] for i in range(4)]
    data = packed(long) + packed(short) + packed(rest) + half(scale)
    return data, [scale * (d - 1) for d in digits]


def tq2_0() -> Block:
    scale, digits = number(), draw(256, 3)
    data = bytes(
        sum(digits[128 * group + 32 * i + j] << 2 * i for i in range(4))
        for group in range(2)
        for j in range(32)
    )
    return data + half(scale), [scale * (d - 1) for d in digits]


MAKERS: dict[int, Callable[[], Block]] = {
    2: q4_0, 3: q4_1, 6: q5_0, 7: q5_1, 8: q8_0, 20: iq4_nl, 34: tq1_0, 35: tq2_0, 39: mxfp4,
    40: nvfp4,
}  # fmt: skip


def file_of(path: Path, kind: int, rows: int, columns: int, data: bytes) -> Path:
    """Write one tensor of blocks beside one of float32."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, 2, 0)
    plain = np.arange(8, dtype=np.float32)
    for name, dims, number_, place in ((b"w", (columns, rows), kind, 32), (b"v", (8,), 0, 0)):
        head += struct.pack("<Q", len(name)) + name
        head += struct.pack(f"<I{len(dims)}Q", len(dims), *dims) + struct.pack(
            "<IQ", number_, place
        )
    path.write_bytes(head + bytes(-len(head) % 32) + plain.tobytes() + data)
    return path


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: MAKERS[kind].__name__)
def test_blocks_are_decoded_when_they_are_read(tmp_path: Path, kind: int) -> None:
    blocks = [MAKERS[kind]() for _ in range(6)]
    width = len(blocks[0][1])
    path = file_of(tmp_path / "w.gguf", kind, 2, 3 * width, b"".join(data for data, _ in blocks))
    store = WeightStore.open(path)
    wanted = np.array([v for _, values in blocks for v in values], np.float32)
    assert store["w"].dtype == np.float32
    np.testing.assert_array_equal(store["w"], wanted.reshape(2, 3 * width))
    assert store.entries[1].nbytes == wanted.nbytes


def test_blocks_that_are_not_decoded_are_refused_when_they_are_asked_for(tmp_path: Path) -> None:
    path = file_of(tmp_path / "w.gguf", 12, 1, 256, bytes(144))
    store = WeightStore.open(path)
    np.testing.assert_array_equal(store["v"], np.arange(8))
    with raises(FrontendError):
        store["w"]


def test_blocks_behind_the_end_of_the_file_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path / "w.gguf", 2, 1, 64, bytes(35))
    with raises(FrontendError):
        WeightStore.open(path)
