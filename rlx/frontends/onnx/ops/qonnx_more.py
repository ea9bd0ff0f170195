"""QONNX: thresholds, narrow floats, and standard layers on images with the channels last.

Source: QONNX' Python definitions (``qonnx/custom_op`` of fastmachinelearning/qonnx).

Tests: tests/unit/frontends/onnx/ops/test_qonnx.py
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.frontends.onnx.file import DOMAIN, package
from rlx.frontends.onnx.ops.on_quantized import seen_as
from rlx.frontends.onnx.ops.qonnx import qonnx_importer, rounding
from rlx.frontends.onnx.ops.registry import IMPORTERS, importer
from rlx.ir import DType
from rlx.ops import real
from rlx.ops.nn.layout import to_channels_first, to_channels_last

if TYPE_CHECKING:
    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real

_MAX_ADDED: Final = 64
"""Thresholds up to here are compared one by one: a unary function, so maybe a table."""

_LAYOUTS: Final = {2: "NC", 3: "NWC", 4: "NCHW"}


@qonnx_importer("MultiThreshold")
def import_multi_threshold(call: Call) -> Real:
    """``MultiThreshold``: the number of thresholds that an element reaches, scaled."""
    x, limits = call.value(0), call.array(1).astype(np.float32)
    layout = call.text("data_layout", "") or _LAYOUTS.get(x.ndim, "")
    axis = layout.index("C") if "C" in layout else 1
    if limits.ndim != 2 or not axis < x.ndim or len(limits) not in (1, x.shape[axis]):
        raise call.malformed(f"has thresholds {list(limits.shape)} for {x.type}")
    scale, bias = call.number("out_scale", 1.0), call.number("out_bias", 0.0)
    call.text("out_dtype", "")  # of the result, which is f32 all the same
    if len(limits) == 1 and 0 < limits.size <= _MAX_ADDED:
        reached = [(x >= float(t)).cast(DType.F32) for t in limits[0]]
        count = reduce(lambda a, b: a + b, reached)
    else:
        tail = (1,) * (x.ndim - axis - 1)
        spread = limits.reshape(len(limits), *tail, limits.shape[1])
        count = (x.expand_dims(x.ndim) >= x.lift(spread)).cast(DType.F32).sum(x.ndim)
    return count * scale + bias


@qonnx_importer("FloatQuant")
def import_float_quant(call: Call) -> Real:
    """``FloatQuant``: rounded to a float of few bits, subnormal numbers included."""
    if call.count != 6:
        raise call.malformed(f"has {call.count} inputs, expected 6")
    exponent, mantissa, bias, limit = (_number(call, i) for i in range(2, 6))
    lowest = 1.0 - bias - mantissa
    if not (lowest > -126 and 0 <= mantissa <= 23 and 0 < exponent <= 8):
        raise call.refuse(f"has {exponent:g} and {mantissa:g} bits and the bias {bias:g}")
    round_ = rounding(call, "ROUND")
    call.flag("has_subnormal")
    steps = call.value(0) / call.value(1)
    unit = _power(_exponent(steps) - int(mantissa), int(lowest))
    rounded = unit * round_(steps / unit)
    mantissas = 2.0 - 2.0**-mantissa
    largest = float(np.float32(min(mantissas * 2.0 ** (2.0**exponent - 1.0 - bias), limit)))
    saturated = rounded.minimum(largest).maximum(-largest)
    return _overflowed(call, saturated, rounded, largest) * call.value(1)


def _number(call: Call, index: int) -> float:
    array = call.array(index)
    if array.size != 1:
        raise call.malformed(f"input {index} has {array.size} numbers, expected one")
    return float(array.reshape(-1)[0])


def _exponent(x: Real) -> Real:
    """Return the exponent of each element, int32; that of 0 is -126."""
    bits = (abs(x) + 2.0**-126).apply(real.RealBitcast(dtype=DType.I32))
    return bits.apply(real.RealShiftRight(), bits.lift(23)) - 127


def _power(exponent: Real, lowest: int) -> Real:
    """Return 2 to an exponent, which is at least ``lowest``."""
    biased = exponent.maximum(lowest) + 127
    bits = biased.apply(real.RealShiftLeft(), biased.lift(23))
    return bits.apply(real.RealBitcast(dtype=DType.F32))


def _overflowed(call: Call, saturated: Real, rounded: Real, largest: float) -> Real:
    """Return floats with infinity or NaN for those that are too large, if enabled."""
    infinite, none = call.flag("has_inf"), call.flag("has_nan")
    if call.integer("saturation", 1):
        return saturated
    if not (infinite or none):
        raise call.malformed("neither saturates nor has infinity or NaN")
    ends = (np.inf, -np.inf) if infinite else (np.nan, np.nan)
    saturated = saturated.lift(ends[0]).where(rounded > largest, saturated)
    return saturated.lift(ends[1]).where(rounded < -largest, saturated)


@importer("Conv", "MaxPool", "BatchNormalization", domain="qonnx.custom_op.channels_last")
def import_channels_last(call: Call) -> Real:
    """Standard layers on images, and weights, with the channels last."""
    return _on_channels_last(call, call.node.type)


@qonnx_importer("MaxPoolNHWC")
def import_max_pool_nhwc(call: Call) -> Real:
    """``MaxPoolNHWC``: ``MaxPool`` of an image with the channels last."""
    return _on_channels_last(call, "MaxPool")


def _on_channels_last(call: Call, operator: str) -> Real:
    """Return a standard layer with the channels moved to the front, and back."""
    count = 2 if operator == "Conv" else 1
    turned = {call.node.inputs[i]: _first(call.value(i)) for i in range(min(count, call.count))}
    node = replace(call.node, domain=DOMAIN, type=operator)
    version = call.scope.versions.get(DOMAIN, 1)
    schema = package().defs.get_schema(operator, version, DOMAIN)
    inner = seen_as(replace(call, node=node, schema=schema), turned)
    results: Any = IMPORTERS[DOMAIN, operator](inner)
    y: Real = results[0] if isinstance(results, list | tuple) else results
    return y.transpose(*to_channels_last(y.ndim))


def _first(x: Real) -> Real:
    return x.transpose(*to_channels_first(x.ndim))
