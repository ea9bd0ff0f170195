"""Blocks of few bits in GGUF files, decoded to float32.

A block has scales and the elements that they belong to.

Source: ``gguf.quants`` of the Python package gguf, whose bits these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.frontends.stored_forms import StorageForm, bits_of

if TYPE_CHECKING:
    from rlx.frontends.stored_forms import Bytes, Floats

_IQ4_NL: Final = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32
)
# Twice the numbers of E2M1, a float of 4 bits.
_E2M1: Final = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32)


def _half(data: Bytes) -> Floats:
    """Return a float16 in two bytes as float32[n, 1]."""
    return np.ascontiguousarray(data).view("<f2").astype(np.float32)


def _low_high(data: Bytes) -> Bytes:
    """Return the low halves of bytes, then the high ones."""
    return np.concatenate([data & 15, data >> 4], axis=1)


def _q4_0(data: Bytes) -> Floats:
    return _half(data[:, :2]) * (_low_high(data[:, 2:]).astype(np.float32) - np.float32(8))


def _q4_1(data: Bytes) -> Floats:
    scale, offset = _half(data[:, :2]), _half(data[:, 2:4])
    return scale * _low_high(data[:, 4:]).astype(np.float32) + offset


def _five(high: Bytes, low: Bytes) -> Floats:
    """Return integers whose fifth bits are stored separately."""
    return (_low_high(low) | (bits_of(high, 1) << 4)).astype(np.float32)


def _q5_0(data: Bytes) -> Floats:
    return _half(data[:, :2]) * (_five(data[:, 2:6], data[:, 6:]) - np.float32(16))


def _q5_1(data: Bytes) -> Floats:
    scale, offset = _half(data[:, :2]), _half(data[:, 2:4])
    return scale * _five(data[:, 4:8], data[:, 8:]) + offset


def _q8_0(data: Bytes) -> Floats:
    return _half(data[:, :2]) * data[:, 2:].view(np.int8).astype(np.float32)


def _iq4_nl(data: Bytes) -> Floats:
    numbers: Floats = _IQ4_NL[_low_high(data[:, 2:])]
    return _half(data[:, :2]) * numbers


def _mxfp4(data: Bytes) -> Floats:
    scale = np.ldexp(np.float32(1), data[:, :1].astype(np.int32) - 128)
    return scale.astype(np.float32) * _E2M1[_low_high(data[:, 1:])]


def _nvfp4(data: Bytes) -> Floats:
    """Return blocks of four scales, floats of 4 and 3 bits without a sign, for 16 elements each."""
    scales = data[:, :4] & 127
    exponent, mantissa = (scales >> 3).astype(np.int32), (scales & 7).astype(np.float32)
    normal = np.ldexp(np.float32(1) + mantissa / np.float32(8), exponent - 7)
    block_scales = np.where(exponent == 0, np.ldexp(mantissa, -9), normal)
    # Of the two values for NaN only the one without a sign counts as 0.
    block_scales = np.where(data[:, :4] == 127, 0, block_scales).astype(np.float32)
    numbers = _E2M1[_low_high(data[:, 4:].reshape(-1, 8))] / np.float32(2)
    values: Floats = (block_scales.reshape(-1, 1) * numbers).reshape(len(data), 64)
    return values


def _tq1_0(data: Bytes) -> Floats:
    """Return blocks of ternary elements, five to a byte except in the last bytes: base 3."""
    parts = []
    for start, stop, digits in ((0, 32, 5), (32, 48, 5), (48, 52, 4)):
        for power in range(digits):
            turned = (data[:, start:stop].astype(np.uint16) * 3**power) & 255
            parts.append((turned * 3) >> 8)
    numbers = np.concatenate(parts, axis=1).astype(np.float32) - np.float32(1)
    return _half(data[:, 52:]) * numbers


def _tq2_0(data: Bytes) -> Floats:
    """Return blocks of ternary elements in two bits each, of two groups of 32 bytes."""
    groups = data[:, :64].reshape(-1, 2, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    numbers = ((groups >> shifts) & 3).reshape(len(data), 256).astype(np.float32)
    return _half(data[:, 64:]) * (numbers - np.float32(1))


FORMS: Final = {
    2: StorageForm("Q4_0", 32, 18, _q4_0), 3: StorageForm("Q4_1", 32, 20, _q4_1),
    6: StorageForm("Q5_0", 32, 22, _q5_0), 7: StorageForm("Q5_1", 32, 24, _q5_1),
    8: StorageForm("Q8_0", 32, 34, _q8_0), 9: StorageForm("Q8_1", 32, 40),
    10: StorageForm("Q2_K", 256, 84), 11: StorageForm("Q3_K", 256, 110),
    12: StorageForm("Q4_K", 256, 144), 13: StorageForm("Q5_K", 256, 176),
    14: StorageForm("Q6_K", 256, 210), 15: StorageForm("Q8_K", 256, 292),
    20: StorageForm("IQ4_NL", 32, 18, _iq4_nl), 23: StorageForm("IQ4_XS", 256, 136),
    34: StorageForm("TQ1_0", 256, 54, _tq1_0), 35: StorageForm("TQ2_0", 256, 66, _tq2_0),
    39: StorageForm("MXFP4", 32, 17, _mxfp4), 40: StorageForm("NVFP4", 64, 36, _nvfp4),
    41: StorageForm("Q1_0", 128, 18),
}  # fmt: skip
"""Each type of blocks by its number in GGML."""
