"""Initializers of constants: wrapped as ``textwrap`` does it, at any length."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from rlx_c import initializer
from rlx_c.initializer import MAX_COLUMNS, c_array


def expected(data: np.ndarray) -> str:
    if data.ndim == 1:
        text = ", ".join(str(int(v)) for v in data)
    else:
        text = ", ".join("{" + ", ".join(str(int(v)) for v in row) + "}" for row in data)
    return textwrap.fill(
        text, MAX_COLUMNS, initial_indent="  ", subsequent_indent="  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


@pytest.mark.parametrize("bits", [1, 4, 7, 15, 31])
@pytest.mark.parametrize("block", [1, 2, 13, 64, 1 << 16])
def test_numbers_are_wrapped(block: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initializer, "_BLOCK_NUMBERS", block)
    random = np.random.default_rng(bits)
    monkeypatch.setattr(initializer, "_MIN_ARRAY_WORDS", 32)
    for count in (*range(1, 60), 333):
        data = random.integers(-(2**bits), 2**bits, count)
        assert c_array(data) == expected(data)


@pytest.mark.parametrize("columns", [1, 2, 3, 5])
@pytest.mark.parametrize("block", [1, 13, 1 << 16])
def test_rows_stand_in_braces(block: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initializer, "_BLOCK_NUMBERS", block)
    random = np.random.default_rng(columns)
    for count in (1, 2, 3, 50, 101):
        data = random.integers(-(2**31), 2**31, (count, columns))
        assert c_array(data) == expected(data)


def test_element_types_do_not_matter() -> None:
    for dtype in (np.int8, np.int16, np.int32, np.uint8, np.int64):
        data = np.array([0, 1, 127, 5] * 30, dtype)
        assert c_array(data) == expected(data)
    assert c_array(np.array([-128, 127], np.int8)) == "  -128, 127"
