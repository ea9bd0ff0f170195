"""Functions of one code on all 256 codes, softmax on rows of two, clamps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ops.numerics import activations
from rlx.ops.numerics.exponential import exp_on_negative_values, softmax_by_table
from rlx.ops.numerics.fixed_point import saturating_rounding_doubling_high_multiply
from rlx.ops.q import QAveragePool2d, QClamp, QMaxPool2d, QSoftmax, QTable, Window
from scale_sweep.case import (
    CODES,
    Case,
    Draw,
    Precision,
    bounds,
    draw_end,
    draw_scale,
    draw_zero_point,
    edge,
    multiplier,
    near,
    rescale,
    unary,
    variants,
)

if TYPE_CHECKING:
    from rlx.ir import Array, Op

_POOL = {"strideH": 1, "strideW": 1, "filterHeight": 1, "filterWidth": 1, "padding": "VALID"}
_DRAWS = 4096


def leaky_relu(random: np.random.Generator) -> Case:
    """Return a leaky ReLU; one code, positive or negative, comes to a half."""
    x, zero_point = draw_scale(random), draw_zero_point(random)
    alpha = float(np.float32(random.choice([0.01, 0.1, 0.2, 0.3, random.uniform(0, 2)])))
    slope = alpha if random.integers(0, 2) else 1.0
    code, steps = int(random.integers(1, 256)), int(random.integers(1, 129))
    result = near(random, x * slope * code / edge(steps, steps / code))
    to = draw_zero_point(random)
    centred = CODES.astype(np.int64) - zero_point

    def make(p: Precision, _: Precision) -> Op:
        identity, leak = rescale(p(x) / p(result)), rescale(p(x) * p(alpha) / p(result))
        scaled = np.where(centred >= 0, identity.apply(centred), leak.apply(centred))
        return table(scaled + to, "leaky_relu")

    ops, right = variants(make, "NONE")
    build = unary("LEAKY_RELU", (x, zero_point), (result, to), alpha=alpha)
    return Case("LEAKY_RELU", (x, alpha, result), ops, (CODES,), build, right=right)


def hard_swish(random: np.random.Generator) -> Case:
    """Return a hard swish; of its multipliers only 16 bits are kept, so that few tell."""
    xs = np.exp(random.uniform(np.log(1e-3), 0, _DRAWS)).astype(np.float32)
    results = (xs * np.exp(random.uniform(-2, 2, _DRAWS))).astype(np.float32)
    apart = [_short(_swish_factors(p, xs, results)) for p in (np.float32, np.float64)]
    found = np.flatnonzero((apart[0] != apart[1]).any(axis=0))
    place = int(found[0]) if len(found) else 0
    x, result = float(xs[place]), float(results[place])
    zero_point, to = draw_zero_point(random), draw_zero_point(random)

    def make(precision: Precision, _: Precision) -> Op:
        pairs = [multiplier(float(f)) for f in _swish_factors(precision, x, result)]
        output, relu = ((min((m + (1 << 15)) >> 16, 2**15 - 1), shift) for m, shift in pairs)
        return table(activations.hard_swish_table(output, relu, zero_point, to), "hard_swish")

    ops, right = variants(make, "NONE")
    build = unary("HARD_SWISH", (x, zero_point), (result, to))
    return Case("HARD_SWISH", (x, result), ops, (CODES,), build, right=right)


def _swish_factors(precision: Precision, x: Any, result: Any) -> Any:
    """Return the factors towards the result and towards the gate's range."""
    fine = precision(x) / precision(128)
    return np.stack([fine / precision(result), fine / precision(3 / 32768)])


def _short(factors: Array) -> Array:
    """Return the 16 bits of each factor's multiplier."""
    return np.floor(np.frexp(factors.astype(np.float64))[0] * 2**15 + 0.5)


def sigmoid(random: np.random.Generator, operator: str) -> Case:
    """Return a logistic function or tanh: the factor is a power of two, every precision exact."""
    x, zero_point = draw_scale(random, 1e-5, 20), draw_zero_point(random)
    function, result = {
        "LOGISTIC": (activations.logistic_table, (1 / 256, -128)),
        "TANH": (activations.tanh_table, (1 / 128, 0)),
    }[operator]
    op = table(function(x, zero_point), operator.lower())
    build = unary(operator, (x, zero_point), result)
    return Case(operator, (x,), {"double": op}, (CODES,), build)


def softmax(random: np.random.Generator) -> Case:
    """Return a softmax whose factor lies where a probability goes to the next code."""
    zero_point, scale = draw_zero_point(random), draw_scale(random, 2e-2, 0.5)
    difference = -max(1, int(random.uniform(0.1, 4) / scale))
    flip = _flip(difference, scale * 2.0**26)
    betas = random.uniform(0.1, 2, _DRAWS).astype(np.float32)
    xs = (flip / 2**26 / betas).astype(np.float32)
    above = [_product(p, betas, xs) >= flip for p in (np.float32, np.float64)]
    found = np.flatnonzero(above[0] != above[1])
    place = int(found[0]) if len(found) else 0
    beta, x = float(betas[place]), float(xs[place])
    ops, right = variants(lambda p, _: _softmax(float(_product(p, beta, x))), "NONE")
    rows = np.stack([np.full(256, 127, np.int8), CODES], axis=1)
    build = unary("SOFTMAX", (x, zero_point), (1 / 256, -128), rows, beta=beta)
    return Case("SOFTMAX", (beta, x), ops, (rows,), build, right=right)


def _product(precision: Precision, beta: Any, x: Any) -> Any:
    """Return the factor that brings differences of codes to Q5.26."""
    return np.float64(precision(beta) * precision(x)) * 2.0**26


def _flip(difference: int, low: float) -> float:
    """Return the factor, in [low, 2 low] if there is one, at which a pair's probability changes."""
    high = 2 * low
    for _ in range(4):
        factors = np.linspace(low, high, 255)
        codes = _probabilities(difference, factors)
        place = max(int(np.argmax(codes != codes[0])), 1)
        low, high = factors[place - 1], factors[place]
    return float(high)


def _probabilities(difference: int, factors: Array) -> Array:
    """Return the softmax of a code that lies below the other one of a pair, for each factor."""
    fraction, shift = np.frexp(factors)
    number = np.floor(fraction * 2.0**31 + 0.5).astype(np.int64)
    scaled = saturating_rounding_doubling_high_multiply(np.int64(difference) << shift, number)
    # The table's last entry is for equal codes, the others for one factor each.
    table = exp_on_negative_values(np.append(scaled, 0))
    pairs = np.stack([np.full(255, 127), np.arange(-128, 127)], axis=1)
    return softmax_by_table(pairs, table)[:, 1]


def _softmax(real: float) -> QSoftmax:
    """Return the op for a factor."""
    number, shift = multiplier(min(real, 2.0**31 - 1))
    return QSoftmax(multiplier=number, left_shift=shift, diff_min=-((31 << 26) >> shift))


def clamp(random: np.random.Generator, operator: str, *, activation: str) -> Case:
    """Return a pool of single codes, or a ReLU6 of its own: all codes are clamped."""
    scale, zero_point = draw_end(random, activation)
    operand = CODES if operator == "RELU6" else CODES.reshape(1, 1, 1, 256)
    options = {} if operator == "RELU6" else {**_POOL, "fusedActivationFunction": activation}

    def make(_: Precision, end: Precision) -> Op:
        ends = bounds(end, activation, scale, zero_point)
        if operator == "RELU6":
            return QClamp(**ends)
        pool = QMaxPool2d if operator == "MAX_POOL_2D" else QAveragePool2d
        return pool(window=Window((1, 1)), **ends)

    ops, right = variants(make, activation)
    codes = (scale, zero_point)
    build = unary(operator, codes, codes, operand, **options)
    return Case(operator, (scale,), ops, (operand,), build, right=right)


def table(values: Any, function: str) -> QTable:
    """Return the op for the 256 results of a function."""
    return QTable(table=tuple(int(v) for v in np.clip(values, -128, 127)), function=function)


TABLES: dict[str, Draw] = {
    "LEAKY_RELU": leaky_relu,
    "HARD_SWISH": hard_swish,
    "SOFTMAX": softmax,
    **{name: partial(sigmoid, operator=name) for name in ("LOGISTIC", "TANH")},
}
