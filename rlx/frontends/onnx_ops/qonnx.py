"""QONNX: networks trained with quantization, whose quantizers have any number of bits.

Source: the operator pages of QONNX (``docs/qonnx-custom-ops`` of fastmachinelearning/qonnx).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx_ops.registry import importer
from rlx.ir import DType, QuantParams
from rlx.ops import real
from rlx.ops.real import RealDequantize, RealQuantize, Ties
from rlx.ops.real.cast import integer_range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.frontends.onnx_ops.call import Call
    from rlx.frontends.onnx_ops.registry import Importer
    from rlx.frontends.onnx_ops.scope import Real

_DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")
_MOST_BITS = 32


def _importer(*names: str) -> Callable[[Importer], Importer]:
    """Register a function for operators in each domain that QONNX had."""

    def register(function: Importer) -> Importer:
        for domain in _DOMAINS:
            importer(*names, domain=domain)(function)
        return function

    return register


def _half_even(x: Real) -> Real:
    return x.apply(real.RealRound())


def _ceil(x: Real) -> Real:
    return x.apply(real.RealCeil())


def _floor(x: Real) -> Real:
    return x.apply(real.RealFloor())


def _by_size(of: Callable[[Real], Real]) -> Callable[[Real], Real]:
    """Return a rounding of the absolute value, which keeps the sign."""
    return lambda x: of(abs(x)) * x.apply(real.RealSign())


_ROUNDING: Mapping[str, Callable[[Real], Real]] = {
    "ROUND": _half_even,
    "HALF_EVEN": _half_even,
    "CEIL": _ceil,
    "FLOOR": _floor,
    "UP": _by_size(_ceil),
    "DOWN": _by_size(_floor),
    "ROUND_TO_ZERO": _by_size(_floor),
    "HALF_UP": _by_size(lambda x: _floor(x + 0.5)),
    "HALF_DOWN": _by_size(lambda x: _ceil(x - 0.5)),
}


def _rounding(call: Call, default: str) -> str:
    mode = call.text("rounding_mode", default).upper()
    if mode not in _ROUNDING:
        raise call.malformed(f"rounding_mode is {mode!r}, want one of {', '.join(_ROUNDING)}")
    return mode


def _bits(call: Call, place: int) -> int:
    """Return a number of bits, which files hold as a float."""
    found = call.array(place)
    bits = float(found.reshape(-1)[0]) if found.size == 1 else np.nan
    if not (np.isfinite(bits) and bits == round(bits) and 1 <= bits <= _MOST_BITS):
        raise call.malformed(
            f"input {place} is {found.reshape(-1)[:4].tolist()}, want one number of bits from 1 "
            f"to {_MOST_BITS}"
        )
    return int(bits)


def _limits(call: Call, bits: int) -> tuple[int, int]:
    """Return the smallest and the largest integer of so many bits."""
    narrow = int(call.integer("narrow", 0) != 0)
    if call.integer("signed", 1):
        return -(1 << (bits - 1)) + narrow, (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1 - narrow


def _inputs(call: Call, *counts: int) -> None:
    if call.count not in counts:
        raise call.malformed(f"has {call.count} inputs, want {' or '.join(map(str, counts))}")


@dataclass(frozen=True, slots=True)
class _Form:
    """A quantizer as ``real.quantize`` has it.

    Attributes:
        quant: Scales and zero points.
        dtype: Smallest element type that holds the integers.
        ties: Where halves go.
    """

    quant: QuantParams
    dtype: DType
    ties: Ties


@_importer("Quant", "IntQuant")
def import_quant(call: Call) -> Real:
    """``Quant``: quantize and dequantize; arithmetic where ``real.quantize`` rounds otherwise."""
    _inputs(call, 4)
    x, mode = call.value(0), _rounding(call, "ROUND")
    low, high = _limits(call, _bits(call, 3))
    form = _form(call, x, low, high) if mode in ("ROUND", "HALF_EVEN") else None
    if form is None:
        scale, point = call.value(1), call.value(2)
        steps = (x / scale + point).minimum(float(high)).maximum(float(low))
        return (_ROUNDING[mode](steps) - point) * scale
    if (low, high) != integer_range(form.dtype):
        steps_of, zero = (call.array(i).astype(np.float32) for i in (1, 2))
        ends = [x.lift((end - zero) * steps_of) for end in (low, high)]
        x = x.maximum(ends[0]).minimum(ends[1])
    quantized = x.apply(RealQuantize(quant=form.quant, dtype=form.dtype, ties=form.ties))
    return quantized.apply(RealDequantize(quant=form.quant))


def _form(call: Call, x: Real, low: int, high: int) -> _Form | None:
    """Return a quantizer as ``real.quantize`` has it; None if that computes something else.

    That adds the zero point after rounding, and QONNX before: halves that QONNX rounds to even are
    odd without an odd zero point.
    """
    scale, point = call.known(1), call.known(2)
    if scale is None or point is None or x.dtype is not DType.F32:
        return None
    axis = _axis(scale, x)
    scales, points = scale.astype(np.float64).reshape(-1), point.astype(np.float64).reshape(-1)
    points = np.broadcast_to(points, scales.shape) if points.size == 1 else points
    sound = np.isfinite(scales) & (scales > 0)
    if axis is None or points.shape != scales.shape or not sound.all():
        return None
    odd = points % 2
    if not np.isin(odd, (0, 1)).all() or (odd != odd[0]).any():
        return None
    ties = Ties.ODD if odd[0] else Ties.EVEN
    for dtype in (DType.I2, DType.I4, DType.I8, DType.U8, DType.I16, DType.I32):
        lowest, highest = integer_range(dtype)
        inside = (lowest <= points) & (points <= highest)
        if lowest <= low and high <= highest and inside.all():
            values = tuple(map(float, scales)), tuple(int(p) for p in points)
            return _Form(QuantParams(*values, axis if scales.size > 1 else None), dtype, ties)
    return None


def _axis(scale: npt.NDArray[np.generic], x: Real) -> int | None:
    """Return the axis of scales in as many dimensions as ``x``; 0 for one scale, None else."""
    wide = [a for a, size in enumerate(scale.shape) if size != 1]
    if not wide:
        return 0
    return wide[0] if len(wide) == 1 and scale.ndim == x.ndim else None


@_importer("BipolarQuant")
def import_bipolar_quant(call: Call) -> Real:
    """``BipolarQuant``: plus or minus the scale."""
    _inputs(call, 2)
    x, scale = call.value(0), call.known(1)
    signs = x.lift(1.0).where(x >= 0.0, -1.0)
    if scale is not None and scale.size == 1 and float(scale.reshape(-1)[0]) > 0:
        quant = QuantParams.per_tensor(float(scale.reshape(-1)[0]))
        return signs.cast(DType.I8).apply(RealDequantize(quant=quant))
    return signs * call.value(1)


@_importer("Trunc")
def import_trunc(call: Call) -> Real:
    """``Trunc``: low bits dropped; with six inputs as version 2 of QONNX defines it."""
    _inputs(call, 5, 6)
    x, scale, point = (call.value(i) for i in range(3))
    rounded, mode = _half_even(x / scale + point), _rounding(call, "FLOOR")
    if call.count == 5:
        factor = 2.0 ** (_bits(call, 3) - _bits(call, 4))
        return (_ROUNDING[mode](rounded / factor) - point) * scale
    before, after = (call.array(i).astype(np.float64) for i in (1, 4))
    with np.errstate(all="ignore"):
        powers = 2.0 ** np.round(np.log2(after / before))
    if not np.isfinite(powers).all():
        raise call.malformed("has scales that are not above 0")
    factors = call.constant(powers, DType.F32)
    low, high = _limits(call, _bits(call, 5))
    steps = (rounded / factors).minimum(float(high)).maximum(float(low))
    return (_ROUNDING[mode](steps) - point / factors) * call.value(4)
