"""Fourier transforms as products with constant matrices.

Tests: tests/unit/frontends/onnx/ops/test_versions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.create import check_size
from rlx.frontends.onnx.ops.index import numbers, one_integer
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops import real

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


@importer("DFT")
def import_dft(call: Call) -> Real:
    """``DFT`` along an axis; the last axis holds real and imaginary parts, or real ones only."""
    x = call.value(0)
    if call.version < 20:
        axis = call.integer("axis")
    else:
        axis = one_integer(call, 2) if call.has(2) else -2
    axis = call.axis(axis, x.ndim)
    if axis == x.ndim - 1:
        raise call.malformed("the axis is that of real and imaginary parts")
    (size,) = numbers(call, x.shape[axis : axis + 1])
    inverse, onesided = call.flag("inverse"), call.flag("onesided")
    default = 2 * (size - 1) if inverse and onesided else size
    length = one_integer(call, 1) if call.has(1) else default
    if not 0 < length <= call.scope.limits.dimension:
        raise call.malformed(f"the length is {length}")
    order = [a for a in range(x.ndim - 1) if a != axis]
    time_last = x.transpose(*order, x.ndim - 1, axis)
    if onesided and inverse:
        time_last = _cut_or_pad(time_last, size, length // 2 + 1)
        return _move_bins_to_axis(_signal_of_half_spectrum(call, time_last, length), axis)[..., :1]
    y = fourier(
        call, _cut_or_pad(time_last, size, length), length, inverse=inverse, onesided=onesided
    )
    return _move_bins_to_axis(y, axis)


def _cut_or_pad(x: Real, size: int, length: int) -> Real:
    """Return ``x`` cut, or filled up with zeros, to a length of its last axis."""
    whole = (slice(None),) * (x.ndim - 1)
    if length <= size:
        return x[(*whole, slice(0, length))]
    none = (0,) * (x.ndim - 1)
    return x.apply(real.RealPad(before=(*none, 0), after=(*none, length - size)))


def _move_bins_to_axis(y: Real, axis: int) -> Real:
    """Return [..., 2, n] with n at ``axis`` and the parts last."""
    order = list(range(y.ndim - 2))
    order.insert(axis, y.ndim - 1)
    return y.transpose(*order, y.ndim - 2)


def fourier(
    call: Call, x: Real, length: int, *, inverse: bool = False, onesided: bool = False
) -> Real:
    """Return the transform of [..., 1 or 2, length] as [..., 2, bins], computed in f64."""
    dtype = x.dtype
    x = x.cast(DType.F64)
    bins = length // 2 + 1 if onesided else length
    check_size(call, length, bins)
    # Reduced as integers first: the rounding error of an angle grows with it.
    turns = np.outer(np.arange(length), np.arange(bins)) % length * (2 * np.pi / length)
    scale = 1 / length if inverse else 1.0
    sign = 1.0 if inverse else -1.0
    cosine = call.constant(np.cos(turns) * scale)
    sine = call.constant(sign * np.sin(turns) * scale)
    whole = x[..., 0, :]
    row = whole.expand_dims(whole.ndim - 1)
    re, im = row @ cosine, row @ sine
    if x.shape[-2] == 2:
        other = x[..., 1, :]
        other = other.expand_dims(other.ndim - 1)
        re, im = re - other @ sine, im + other @ cosine
    return re.concat(im, axis=re.ndim - 2).cast(dtype)


def _signal_of_half_spectrum(call: Call, x: Real, length: int) -> Real:
    """Return the signal of half a spectrum, whose other half is its mirror image."""
    whole, bins = (slice(None),) * (x.ndim - 1), length // 2 + 1
    if x.shape[-2] != 2:
        raise call.malformed(f"half a spectrum needs imaginary parts, but it is {x.type}")
    half = x[(*whole, slice(0, bins))]
    # Bin 0 has no mirror image, nor has the middle one of an even length.
    rest = x[(*whole, slice(1, length - bins + 1))].apply(real.RealReverse(axes=(x.ndim - 1,)))
    sign = call.constant([[1.0], [-1.0]], x.dtype)
    return fourier(call, half.concat(rest * sign, axis=x.ndim - 1), length, inverse=True)


@importer("STFT")
def import_stft(call: Call) -> Real:
    """``STFT``: transforms of windows of a signal."""
    x, step = call.value(0), one_integer(call, 1)
    window = call.value(2) if call.has(2) else None
    if call.has(3):
        length = one_integer(call, 3)
    elif window is not None:
        (length,) = numbers(call, window.shape)
    else:
        raise call.malformed("has neither a window nor the length of a frame")
    if x.ndim == 2:
        x = x.expand_dims(2)
    _, size, parts = numbers(call, x.shape)
    if step < 1 or not 0 < length <= size:
        raise call.malformed(f"frames of {length} every {step} do not fit {x.type}")
    frames = (size - length) // step + 1
    check_size(call, frames, length)
    frame_indices = np.arange(frames)[:, None] * step + np.arange(length)[None, :]
    cut = x.transpose(0, 2, 1).gather(call.constant(frame_indices.astype(np.int64)), 2)
    cut = cut if window is None else cut * window
    onesided = bool(call.integer("onesided", 1)) and parts == 1
    y = fourier(call, cut.transpose(0, 2, 1, 3), length, onesided=onesided)
    return y.transpose(0, 1, 3, 2)
