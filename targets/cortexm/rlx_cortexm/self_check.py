"""The check of an emitted network's constants: their CRC, and the code that computes it again."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POLYNOMIAL: Final = 0xEDB88320
"""Polynomial of IEEE CRC-32, lowest bit first."""

CODE_BYTES: Final = 316
"""Bytes of code and of the table of half bytes, as GCC -O2 makes them for a Cortex-M4."""

TABLE_BYTES: Final = 8
"""Bytes of address and size of each table."""


def crc_of(tables: Sequence[Mapping[str, Any]]) -> int:
    """Return the CRC-32 of all bytes of some tables, in order, as little-endian memory has them.

    Args:
        tables: As :func:`rlx_c.tables.tables_of` returns them.
    """
    crc = 0
    for table in tables:
        crc = zlib.crc32(table_bytes(table), crc)
    return crc


def table_bytes(table: Mapping[str, Any]) -> bytes:
    """Return the bytes of a table in little-endian memory."""
    bits = 32 if table["channel"] else int(str(table["type"]).strip("uint_"))
    data = np.asarray(table["data"]).astype(np.int64)
    return (data & ((1 << bits) - 1)).astype(f"<u{bits // 8}").tobytes()


def nibbles() -> tuple[int, ...]:
    """Return the CRC of each half of a byte."""
    entries = []
    for value in range(16):
        crc = value
        for _ in range(4):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
        entries.append(crc)
    return tuple(entries)


def check_bytes(tables: int) -> int:
    """Return the approximate bytes of flash for the check of ``tables`` tables."""
    return CODE_BYTES + TABLE_BYTES * tables
