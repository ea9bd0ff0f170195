"""Ranges of activations that are known without samples.

Tests: tests/unit/passes/quantize/test_masks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import QuantParams
from rlx.ops.nn import NnSoftmax
from rlx.ops.real import RealSigmoid, RealTanh
from rlx.passes.quantize.functions import argument, evaluate_function
from rlx.passes.quantize.known import known
from rlx.passes.quantize.scheme import params_of, range_of

if TYPE_CHECKING:
    from rlx.ir import Op, Value

_SHARES: Final = QuantParams.per_tensor(1 / 256, -128)
_SIGNS: Final = QuantParams.per_tensor(1 / 128, 0)

_KNOWN: Final[dict[type[Op], QuantParams]] = {
    NnSoftmax: _SHARES,
    RealSigmoid: _SHARES,
    RealTanh: _SIGNS,
}
"""Parameters of TensorFlow Lite's converter: from 0 to 1, and from -1 to 1."""

_SAMPLE_COUNT: Final = 4096


def known_params(value: Value, *, symmetric: bool = False) -> QuantParams | None:
    """Return the parameters of an activation whose range is known, or of a function of one.

    Samples without a hit say nothing about the range of a score. None for any other value.

    Args:
        value: A value of a float graph.
        symmetric: Whether the zero point of all but a softmax is to be 0.
    """
    stated = _KNOWN.get(type(value.node.op))
    if stated is not None:
        free = symmetric and not isinstance(value.node.op, NnSoftmax)
        return _SIGNS if free else stated
    inner = _activation(value)
    if inner is None:
        return None
    numbers = np.linspace(*range_of(_KNOWN[type(inner.node.op)]), _SAMPLE_COUNT, dtype=np.float32)
    results = evaluate_function(value, inner, numbers)
    if not np.isfinite(results).all():
        return None
    return params_of(float(results.min()), float(results.max()), symmetric=symmetric)


def _activation(value: Value) -> Value | None:
    """Return the activation that a value is a function of, by one path and constants alone."""
    while argument(value.node) is not None:
        computed = [o for o in value.node.operands if known(o) is None]
        if len(computed) != 1:
            return None
        (value,) = computed
        if type(value.node.op) in _KNOWN:
            return value
    return None
