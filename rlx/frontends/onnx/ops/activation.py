"""Activations.

Tests: tests/unit/frontends/onnx/ops/test_layers.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.ops.call import OPEN_SHAPE
from rlx.frontends.onnx.ops.registry import importer
from rlx.frontends.refusal import UnsupportedError
from rlx.ir import DType
from rlx.ir.dims import product
from rlx.ops import nn, real

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


@importer("Relu")
def import_relu(call: Call) -> Real:
    """``Relu``, of integers too."""
    x = call.value(0)
    return x.relu() if x.dtype.is_float else x.maximum(0)


@importer("LeakyRelu")
def import_leaky_relu(call: Call) -> Real:
    """``LeakyRelu``."""
    return call.value(0).leaky_relu(call.number("alpha"))


@importer("PRelu")
def import_prelu(call: Call) -> Real:
    """``PRelu``; slopes broadcast to the input, in some old files along the channels."""
    x, slope = call.value(0), call.value(1)
    if not x.dtype.is_float:
        return x.where(x >= 0, x * slope)
    return x.prelu(slope)


@importer("Elu")
def import_elu(call: Call) -> Real:
    """``Elu``."""
    return call.value(0).elu(call.number("alpha"))


@importer("Selu")
def import_selu(call: Call) -> Real:
    """``Selu``."""
    return call.value(0).apply(nn.NnSelu(alpha=call.number("alpha"), scale=call.number("gamma")))


@importer("Celu")
def import_celu(call: Call) -> Real:
    """``Celu``: ``max(x, 0) + min(0, alpha * (e^(x / alpha) - 1))``."""
    x, alpha = call.value(0), call.number("alpha")
    return x.maximum(0.0) + ((x / alpha).expm1() * alpha).minimum(0.0)


@importer("Sigmoid")
def import_sigmoid(call: Call) -> Real:
    """``Sigmoid``."""
    return call.value(0).sigmoid()


@importer("HardSigmoid")
def import_hard_sigmoid(call: Call) -> Real:
    """``HardSigmoid``."""
    return call.value(0).hard_sigmoid(call.number("alpha"), call.number("beta"))


@importer("HardSwish")
def import_hard_swish(call: Call) -> Real:
    """``HardSwish``."""
    return call.value(0).hard_swish()


@importer("Mish")
def import_mish(call: Call) -> Real:
    """``Mish``."""
    return call.value(0).mish()


@importer("Gelu")
def import_gelu(call: Call) -> Real:
    """``Gelu``, exact or in its tanh form."""
    form = call.text("approximate")
    if form not in ("none", "tanh"):
        raise call.malformed(f"approximate is {form!r}, expected none or tanh")
    return call.value(0).gelu(approximate=form == "tanh")


@importer("Softplus")
def import_softplus(call: Call) -> Real:
    """``Softplus``."""
    return call.value(0).softplus()


@importer("Softsign")
def import_softsign(call: Call) -> Real:
    """``Softsign``."""
    return call.value(0).softsign()


@importer("Tanh")
def import_tanh(call: Call) -> Real:
    """``Tanh``."""
    return call.value(0).tanh()


@importer("ThresholdedRelu")
def import_thresholded_relu(call: Call) -> Real:
    """``ThresholdedRelu``: x above alpha, else 0."""
    x = call.value(0)
    return x.where(x > call.number("alpha"), 0.0)


@importer("Shrink")
def import_shrink(call: Call) -> Real:
    """``Shrink``: towards 0 by bias outside of lambd, else 0."""
    x, bias, limit = call.value(0), call.number("bias"), call.number("lambd")
    if not x.dtype.is_float:
        return _shrink_whole(x, bias, limit)
    return (x + bias).where(x < -limit, (x - bias).where(x > limit, 0.0))


def _shrink_whole(x: Real, bias: float, limit: float) -> Real:
    """Return integers shrunk in float32, as in the operator's definition."""
    y = x.cast(DType.F32)
    return (y + bias).where(y < -limit, (y - bias).where(y > limit, 0.0)).cast(x.dtype)


@importer("Swish")
def import_swish(call: Call) -> Real:
    """``Swish``: ``x * sigmoid(alpha * x)``."""
    x, alpha = call.value(0), call.number("alpha")
    return x.silu() if alpha == 1.0 else x * (x * alpha).sigmoid()


@importer("Clip")
def import_clip(call: Call) -> Real:
    """``Clip``; the bounds are inputs since version 11, before that attributes."""
    x = call.value(0)
    if call.version < 11:
        return _clamp(x, call.number("min", -math.inf), call.number("max", math.inf))
    low, high = (call.known(i) if call.has(i) else None for i in (1, 2))
    dynamic = any(call.has(i) and call.known(i) is None for i in (1, 2))
    if x.dtype.is_float and not dynamic:
        bounds = [None if b is None else float(b.reshape(-1)[0]) for b in (low, high)]
        return _clamp(x, -math.inf if bounds[0] is None else bounds[0],
                      math.inf if bounds[1] is None else bounds[1])  # fmt: skip
    for input_index, op in ((1, real.RealMaximum()), (2, real.RealMinimum())):
        if call.has(input_index):
            bound = call.value(input_index)
            x = x.apply(op, bound.reshape() if bound.ndim else bound)
    return x


def _clamp(x: Real, low: float, high: float) -> Real:
    """Return values within bounds; where these are crossed, ``high`` is the result."""
    if low > high:
        return x.maximum(low).minimum(high)
    if low == 0.0 and high == math.inf:
        return x.relu()
    # Bounds that no finite value crosses are ignored.
    # The largest float32, the default of the attributes before version 11.
    limit = 3.4028234663852886e38
    return x.clamp(low if low > -limit else None, high if high < limit else None)


@importer("Softmax", "LogSoftmax", "Hardmax")
def import_softmax(call: Call) -> Real:
    """``Softmax`` and its kin; before version 13 over all axes from ``axis`` on together."""
    x = call.value(0)
    axis = call.axis(call.integer("axis"), x.ndim)
    if call.version >= 13 or axis == x.ndim - 1:
        return _along(call.node.type, x, axis)
    front, back = product(x.shape[:axis]), product(x.shape[axis:])
    return _along(call.node.type, x.reshape(front, back), 1).reshape(*x.shape)


def _along(name: str, x: Real, axis: int) -> Real:
    if name == "Softmax":
        return x.softmax(axis)
    if name == "LogSoftmax":
        return x.log_softmax(axis)
    size = x.shape[axis]
    if not isinstance(size, int):
        raise UnsupportedError(f"the dimension {size} has no size", hint=OPEN_SHAPE)
    indices = np.arange(size, dtype=np.int32).reshape(size, *(1,) * (x.ndim - axis - 1))
    first = x.argmax(axis).expand_dims(axis)
    return first.equal(indices).cast(x.dtype)


@importer("Identity")
def import_identity(call: Call) -> Real:
    """``Identity``."""
    return call.value(0)


@importer("Dropout")
def import_dropout(call: Call) -> Sequence[Real | None]:
    """``Dropout`` in inference: nothing is dropped."""
    x, _ = call.value(0), call.attribute("ratio")
    if call.has(2) and call.array(2).any() and (
        not call.has(1) or float(call.array(1).reshape(-1)[0]) != 0.0
    ):  # fmt: skip
        raise call.refuse("drops elements at random (training_mode)", "export it for inference")
    mask = None
    if call.wants(1):
        dtype = DType.BOOL if call.version >= 10 else x.dtype
        mask = call.constant(1, dtype).broadcast_to(*x.shape)
    return [x, mask]
