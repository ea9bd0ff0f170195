"""QONNX: networks trained with quantization, whose quantizers have any number of bits.

Source: the operator pages of QONNX (``docs/qonnx-custom-ops`` of fastmachinelearning/qonnx).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.quantize import within
from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType, QuantParams
from rlx.ops import real
from rlx.ops.real import RealDequantize, RealQuantize, Ties
from rlx.ops.real.cast import integer_range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.registry import Importer
    from rlx.frontends.onnx.ops.scope import Real

_DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general", "finn")
_MAX_BITS = 64
"""Bits of a quantizer."""


def qonnx_importer(*names: str) -> Callable[[Importer], Importer]:
    """Register a function for operators in each domain that QONNX had."""

    def register(function: Importer) -> Importer:
        for domain in _DOMAINS:
            importer(*names, domain=domain)(function)
        return function

    return register


def rounding(call: Call, default: str) -> Callable[[Real], Real]:
    """Return the rounding that the attribute ``rounding_mode`` states."""
    return _ROUNDING[_rounding(call, default)]


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
        raise call.malformed(f"rounding_mode is {mode!r}, expected one of {', '.join(_ROUNDING)}")
    return mode


def _bits(call: Call, index: int) -> float:
    """Return a number of bits, which files hold as a float; it need not be whole."""
    array = call.array(index)
    bits = float(array.reshape(-1)[0]) if array.size == 1 else np.nan
    if not 0 < bits <= _MAX_BITS:
        raise call.malformed(
            f"input {index} is {array.reshape(-1)[:4].tolist()}, expected one number of bits "
            f"above 0, up to {_MAX_BITS}"
        )
    return bits


def _limits(call: Call, bits: float) -> tuple[float, float]:
    """Return minimum and maximum of an integer of ``bits`` bits, before they are rounded."""
    narrow = float(call.integer("narrow", 0) != 0)
    if call.integer("signed", 1):
        return -(2.0 ** (bits - 1)) + narrow, 2.0 ** (bits - 1) - 1
    return 0.0, 2.0**bits - 1 - narrow


def _version(call: Call) -> int:
    """Return the version of the domain's operators that the file imports."""
    return call.scope.versions.get(call.node.domain, 1)


def _check(call: Call, count: int) -> None:
    """Refuse another number of inputs, and scales that are infinite or NaN."""
    if call.count != count:
        raise call.malformed(f"has {call.count} inputs, expected {count}")
    scale = call.known(1)
    if scale is not None and not np.isfinite(scale.astype(np.float64)).all():
        raise call.refuse(
            "expected finite scales, got an infinite scale or NaN",
            "use another quantizer: scaling weights by their largest magnitude does not work "
            "with 1 bit",
        )


@dataclass(frozen=True, slots=True)
class _Form:
    """A quantizer as ``real.quantize`` has it.

    Attributes:
        quant: Scales and zero points.
        dtype: Smallest element type that holds the integers.
        ties: Rounding.
        bounds: Smallest and largest integer.
    """

    quant: QuantParams
    dtype: DType
    ties: Ties
    bounds: tuple[int, int]


@qonnx_importer("Quant", "IntQuant")
def import_quant(call: Call) -> Real:
    """``Quant``: quantize and dequantize; arithmetic where ``real.quantize`` rounds otherwise."""
    _check(call, 4)
    x, mode, bits = call.value(0), _rounding(call, "ROUND"), _bits(call, 3)
    low, high = _limits(call, bits)
    if bits == 1 and call.integer("signed", 1):
        return _signs(call, x)
    # Wider integers have no element type in ``real.quantize``.
    form = _form(call, x, mode, (low, high)) if bits <= 32 else None
    if form is None:
        scale, point = call.value(1), call.value(2)
        steps = (x / scale + point).minimum(high).maximum(low)
        return (_ROUNDING[mode](steps) - point) * scale
    if form.bounds != integer_range(form.dtype):
        x = within(x, form.quant, form.bounds)
    quantized = x.apply(RealQuantize(quant=form.quant, dtype=form.dtype, ties=form.ties))
    return quantized.apply(RealDequantize(quant=form.quant))


def _signs(call: Call, x: Real) -> Real:
    """Return the 1-bit form, which has no 0: plus or minus the scale."""
    point = call.known(2)
    if point is not None and not point.any():
        return _bipolar(call, x)
    steps = x / call.value(1) + call.value(2)
    return (x.lift(1.0).where(steps >= 0.0, -1.0) - call.value(2)) * call.value(1)


def _form(call: Call, x: Real, mode: str, limits: tuple[float, float]) -> _Form | None:
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
    ties = _ties(mode, points, limits)
    if ties is None:
        return None
    # Limits of fractional bit widths are rounded like the values limited to them.
    low, high = map(int, ties.round(np.array(limits)))
    if not _keeps_bounds(scales, (low, high), ties):
        return None
    for dtype in (DType.I2, DType.I4, DType.I8, DType.U8, DType.I16, DType.I32):
        lowest, highest = integer_range(dtype)
        in_range = (lowest <= points) & (points <= highest)
        if lowest <= low and high <= highest and in_range.all():
            values = tuple(map(float, scales)), tuple(int(p) for p in points)
            quant = QuantParams(*values, axis if scales.size > 1 else None)
            return _Form(quant, dtype, ties, (low, high))
    return None


def _ties(mode: str, points: npt.NDArray[np.float64], limits: tuple[float, float]) -> Ties | None:
    """Return the rounding of ties in ``real.quantize`` for a mode; None if there is none."""
    odd = points % 2
    if not np.isin(odd, (0, 1)).all() or (odd != odd[0]).any():
        return None
    if mode in ("ROUND", "HALF_EVEN"):
        return Ties.ODD if odd[0] else Ties.EVEN
    if points.any():
        return None
    # Without negative integers, away from zero is up and toward it is down.
    return _DIRECTED.get(mode) or (_DIRECTED_UP.get(mode) if limits[0] >= 0 else None)


_DIRECTED: Mapping[str, Ties] = {
    "FLOOR": Ties.FLOOR,
    "CEIL": Ties.CEIL,
    "HALF_UP": Ties.AWAY,
    "HALF_DOWN": Ties.TOWARD,
}

_DIRECTED_UP: Mapping[str, Ties] = {
    "UP": Ties.CEIL,
    "DOWN": Ties.FLOOR,
    "ROUND_TO_ZERO": Ties.FLOOR,
}


def _keeps_bounds(scales: npt.NDArray[np.float64], bounds: tuple[int, int], ties: Ties) -> bool:
    """Return whether the numbers of the bounds are divided into the bounds again in float32."""
    if ties not in (Ties.FLOOR, Ties.CEIL):
        return True
    steps, ends = scales.astype(np.float32)[:, np.newaxis], np.array(bounds, np.float32)
    return bool((ends * steps / steps == ends).all())


def _axis(scale: npt.NDArray[np.generic], x: Real) -> int | None:
    """Return the axis of scales in as many dimensions as ``x``; 0 for one scale, None else."""
    wide = [a for a, size in enumerate(scale.shape) if size != 1]
    if not wide:
        return 0
    return wide[0] if len(wide) == 1 and scale.ndim == x.ndim else None


@qonnx_importer("BipolarQuant")
def import_bipolar_quant(call: Call) -> Real:
    """``BipolarQuant``: plus or minus the scale."""
    _check(call, 2)
    return _bipolar(call, call.value(0))


def _bipolar(call: Call, x: Real) -> Real:
    """Return plus or minus a scale; one scale is that of a quantizer, for constants of 2 bits."""
    scale = call.known(1)
    if scale is None or scale.size != 1 or not float(scale.reshape(-1)[0]) > 0:
        return x.lift(1.0).where(x >= 0.0, -1.0) * call.value(1)
    step = float(scale.reshape(-1)[0])
    quant = QuantParams.per_tensor(step)
    signs = x.lift(step).where(x >= 0.0, -step)
    dtype = DType.I8 if x.array is None else DType.I2
    quantized = signs.apply(RealQuantize(quant=quant, dtype=dtype, ties=Ties.EVEN))
    return quantized.apply(RealDequantize(quant=quant))


@qonnx_importer("Trunc")
def import_trunc(call: Call) -> Real:
    """``Trunc``: low bits dropped; from version 2 of the domain on to a scale of its own."""
    first = _version(call) < 2
    if call.count != (5 if first else 6):
        raise call.malformed(
            f"has {call.count} inputs; that of version {_version(call)} takes {5 if first else 6}",
            hint=f"import {call.node.domain} in version {2 if first else 1}, or export it again",
        )
    x, scale, point = (call.value(i) for i in range(3))
    rounded, mode = _half_even(x / scale + point), _rounding(call, "FLOOR")
    if first:
        factor = 2.0 ** (_bits(call, 3) - _bits(call, 4))
        return (_ROUNDING[mode](rounded / factor) - point) * scale
    before, after = (call.array(i).astype(np.float64) for i in (1, 4))
    with np.errstate(all="ignore"):
        powers = 2.0 ** np.round(np.log2(after / before))
    if not np.isfinite(powers).all():
        raise call.malformed("has scales that are not above 0")
    factors = call.constant(powers, DType.F32)
    low, high = _limits(call, _bits(call, 5))
    steps = (rounded / factors).minimum(high).maximum(low)
    return (_ROUNDING[mode](steps) - point / factors) * call.value(4)
