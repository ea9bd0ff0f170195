"""Operators of TFLite found by their tables, for functions of one quantized value.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ops.numerics import activations

if TYPE_CHECKING:
    from rlx.ir import QuantParams

_MAX_ERROR: Final = 0.75
"""Maximum distance of a value from the product that it is rounded from: two roundings."""

_CANDIDATES: Final = 257
"""Slopes that are tried between the ends that the values allow."""


@dataclass(frozen=True, slots=True)
class TableOperator:
    """An operator that computes a table.

    Attributes:
        name: The operator.
        version: First version of the operator that has int8.
        options: Fields of its table of options.
    """

    name: str
    version: int
    options: dict[str, Any] = field(default_factory=dict)


def named_function(
    table: tuple[int, ...], x: QuantParams | None, result: QuantParams | None
) -> TableOperator | None:
    """Return the operator whose 256 values between two scales are ``table``, None if none has.

    Args:
        table: Values of the result, that of -128 first.
        x: Scale and zero point of the operand.
        result: Scale and zero point of the result.
    """
    if x is None or result is None:
        return None
    scale, zero_point = x.scale[0], x.zero_point[0]
    to_scale, to_zero_point = result.scale[0], result.zero_point[0]
    # The range in which the frontend reads these operators back.
    in_range = 2.0**-27 <= scale < 2.0**30
    for name, function, quant in (
        ("LOGISTIC", activations.logistic_table, (1 / 256, -128)),
        ("TANH", activations.tanh_table, (1 / 128, 0)),
    ):
        fits = (to_scale, to_zero_point) == quant and in_range
        if fits and function(scale, zero_point) == table:
            return TableOperator(name, 2)
    return _hard_swish(table, x, result) or _leaky_relu(table, x, result)


def _hard_swish(
    table: tuple[int, ...], x: QuantParams, result: QuantParams
) -> TableOperator | None:
    output, relu = activations.hard_swish_multipliers(x.scale[0], result.scale[0])
    if not (-15 <= output[1] <= 0 and -15 <= relu[1] <= 31):
        return None
    same = activations.hard_swish_table(output, relu, x.zero_point[0], result.zero_point[0])
    return TableOperator("HARD_SWISH", 1) if same == table else None


def _leaky_relu(
    table: tuple[int, ...], x: QuantParams, result: QuantParams
) -> TableOperator | None:
    """Return ``LEAKY_RELU`` with a slope that results in the table; one of several is chosen."""

    def values(slope: float) -> tuple[int, ...]:
        return activations.leaky_relu_table(
            x.scale[0], x.zero_point[0], slope, result.scale[0], result.zero_point[0]
        )

    negative = np.arange(-128, x.zero_point[0])
    below = np.array(table[: negative.size])
    # Saturated values bound no slope.
    free = (below > -128) & (below < 127)
    if values(0.0)[negative.size :] != table[negative.size :] or not free.any():
        return None
    inputs = (negative - x.zero_point[0])[free] * (x.scale[0] / result.scale[0])
    outputs = below[free] - result.zero_point[0]
    low = max(((outputs + _MAX_ERROR) / inputs).max(), 0.0)
    high = min(((outputs - _MAX_ERROR) / inputs).min(), 2.0**23 * result.scale[0] / x.scale[0])
    if low > high:
        return None
    for slope in np.linspace(low, high, _CANDIDATES, dtype=np.float32).tolist():
        if values(slope) == table:
            return TableOperator("LEAKY_RELU", 2, {"alpha": slope})
    return None
