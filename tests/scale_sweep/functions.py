"""Functions of one code that TensorFlow Lite Micro computes by itself, on all 256 codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.numerics import functions
from rlx.ops.numerics.fixed_point import multiply_by_quantized_multiplier
from scale_sweep.case import (
    CODES,
    Case,
    Draw,
    Precision,
    draw_scale,
    draw_zero_point,
    edge,
    multiplier,
    near,
    rescale,
    unary,
    variants,
)
from scale_sweep.tables import table

if TYPE_CHECKING:
    from rlx.ir import Op


def magnitude(random: np.random.Generator) -> Case:
    """Return magnitudes, one of which comes to a half."""
    x, zero_point = draw_scale(random), draw_zero_point(random)
    code, steps = int(random.integers(1, 129)), int(random.integers(1, 129))
    result, to = near(random, x * code / edge(steps, steps / code)), draw_zero_point(random)
    magnitudes = np.abs(CODES.astype(np.int64) - zero_point)

    def make(p: Precision, _: Precision) -> Op:
        return table(rescale(p(x) / p(result)).apply(magnitudes) + to, "abs")

    ops, right = variants(make, "NONE")
    build = unary("ABS", (x, zero_point), (result, to))
    return Case("ABS", (x, result), ops, (CODES,), build, right=right)


def reciprocal_root(random: np.random.Generator) -> Case:
    """Return reciprocals of roots, one of which comes to a half."""
    x, to = draw_scale(random), draw_zero_point(random)
    code, steps = int(random.integers(1, 256)), int(random.integers(1, 129))
    roots = functions.inverse_roots()
    root = float(roots[code - 1])
    half = root / 2**functions.ROOT_BITS / edge(steps, steps / root)
    result = near(random, half / np.sqrt(x))

    def make(p: Precision, _: Precision) -> Op:
        number, shift = multiplier(1.0 / float(np.sqrt(p(x)) * p(result)))
        scaled = multiply_by_quantized_multiplier(roots, number, shift - functions.ROOT_BITS)
        return table([127, *(scaled + to)], "rsqrt")

    ops, right = variants(make, "NONE")
    build = unary("RSQRT", (x, -128), (result, to))
    return Case("RSQRT", (x, result), ops, (CODES,), build, right=right)


def exponential(random: np.random.Generator) -> Case:
    """Return an ELU, every step of which the reference computes in float32."""
    x, zero_point, to = draw_scale(random), draw_zero_point(random), draw_zero_point(random)
    result = float(np.float32(x * random.uniform(0.1, 4)))
    values = functions.real_table(functions.elu, x, zero_point, result, to)
    build = unary("ELU", (x, zero_point), (result, to))
    ops = {"float32": table(values, "elu")}
    return Case("ELU", (x, result), ops, (CODES,), build, right="float32")


FUNCTIONS: dict[str, Draw] = {"ABS": magnitude, "ELU": exponential, "RSQRT": reciprocal_root}
