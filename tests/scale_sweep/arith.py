"""Elementwise arithmetic on all pairs of codes, changes of scale, and means."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ops.q import QAdd, QMatmul, QMean, QMul, QRequantize, QSub
from scale_sweep.case import (
    CODES,
    Case,
    Draw,
    Precision,
    apart,
    bounds,
    draw_end,
    draw_scale,
    draw_zero_point,
    edge,
    near,
    rescale,
    unary,
    variants,
)
from support.files.tflite_builder import TfliteBuilder

if TYPE_CHECKING:
    from rlx.ir import Array, Op

_HEADROOM = 1 << 20
_COUNT = 4096
_ROWS = 4
_OPS = {"ADD": QAdd, "BATCH_MATMUL": QMatmul, "SUB": QSub, "MUL": QMul}
_PRODUCTS = ("BATCH_MATMUL", "MUL")


def binary(random: np.random.Generator, operator: str, *, activation: str = "NONE") -> Case:
    """Return a model of all 65,536 pairs of codes, half of the time without broadcasting."""
    x, y = draw_scale(random, 1e-2), draw_scale(random, 1e-2)
    zero_points = (draw_zero_point(random), draw_zero_point(random))
    pair = random.integers(-128, 128, 2).astype(np.int8)
    result, zero_point = _half(random, operator, (x, y), pair - np.array(zero_points))
    probe = None
    if activation == "NONE":
        probe = (pair[:1], pair[1:])
    else:
        result, zero_point = draw_end(random, activation)
        x = y = float(np.float32(result * random.uniform(1, 2)))
    factors = _product if operator in _PRODUCTS else _sum
    op = _OPS[operator]

    def make(precision: Precision, end: Precision) -> Op:
        return op(
            x_zero_point=zero_points[0],
            y_zero_point=zero_points[1],
            zero_point=zero_point,
            **factors(precision(x), precision(y), precision(result)),
            **bounds(end, activation, result, zero_point),
        )

    ops, right = variants(make, activation)
    operands: tuple[Array, ...] = (CODES.reshape(256, 1), CODES.reshape(1, 256))
    if random.integers(0, 8) == 0 and operator != "BATCH_MATMUL":
        operands = tuple(np.ascontiguousarray(a) for a in np.broadcast_arrays(*operands))

    def build() -> bytes:
        model = TfliteBuilder()
        given = [
            model.tensor(a.shape, scale=s, zero_point=z)
            for a, s, z in zip(operands, (x, y), zero_points, strict=True)
        ]
        made = model.tensor((256, 256), scale=result, zero_point=zero_point)
        options = {} if operator == "BATCH_MATMUL" else {"fusedActivationFunction": activation}
        model.operator(operator, given, [made], **options)
        return model.build(given, [made])

    return Case(operator, (x, y, result), ops, operands, build, 2, right, probe)


def _half(
    random: np.random.Generator, operator: str, scales: tuple[float, float], pair: Array
) -> tuple[float, int]:
    """Return scale and zero point of a result for which a pair of numbers comes to a half."""
    x, y = (float(n) * s for n, s in zip(pair, scales, strict=True))
    real = {"ADD": x + y, "SUB": x - y}.get(operator, x * y)
    steps = int(random.integers(1, 256))
    first = -128 if real > 0 else steps - 128
    zero_point = int(random.integers(first, first + 256 - steps))
    # The factor is what the codes' product is scaled by; sums have headroom, and no first rounding.
    factor = steps / abs(int(pair[0]) * int(pair[1]) or 1) if operator in _PRODUCTS else 1.0
    return near(random, max(abs(real), 1e-3) / edge(steps, factor)), zero_point


def _sum(x: Any, y: Any, result: Any) -> dict[str, Any]:
    twice = x.dtype.type(2) * max(x, y)
    to_result = twice / (x.dtype.type(_HEADROOM) * result)
    return {
        "x_rescale": rescale(x / twice),
        "y_rescale": rescale(y / twice),
        "rescale": rescale(to_result),
    }


def _product(x: Any, y: Any, result: Any) -> dict[str, Any]:
    return {"rescale": rescale(x * y / result)}


def requantize(random: np.random.Generator, operator: str) -> Case:
    """Return a change of scale of all 256 codes, one of which comes to a half."""
    x, zero_point = draw_scale(random), draw_zero_point(random)
    code, steps = int(random.integers(1, 256)), int(random.integers(1, 129))
    result, to = near(random, x * code / edge(steps, steps / code)), draw_zero_point(random)
    return requantize_of(operator, (x, zero_point), (result, to))


def requantize_of(operator: str, x: tuple[float, int], result: tuple[float, int]) -> Case:
    """Return a change from one scale and zero point to another."""

    def make(precision: Precision, _: Precision) -> Op:
        return QRequantize(
            x_zero_point=x[1],
            rescale=rescale(precision(x[0]) / precision(result[0])),
            zero_point=result[1],
            low=result[1] if operator == "RELU" else -128,
        )

    ops, right = variants(make, "NONE")
    return Case(operator, (x[0], result[0]), ops, (CODES,), unary(operator, x, result), right=right)


def mean(random: np.random.Generator) -> Case:
    """Return a mean over rows, whose sums are next to rounding halves."""
    x, zero_point = draw_scale(random), int(random.integers(-4, 5))
    result = float(np.float32(x * random.uniform(0.8, 1.5)))

    def make(precision: Precision, _: Precision) -> QMean:
        factor = rescale(precision(x) / precision(result)).divided(_COUNT)
        return QMean(axes=(1,), x_zero_point=zero_point, rescale=factor, zero_point=3)

    ops, right = variants(make, "NONE")
    halves = np.repeat(np.arange(-100, 100) + 0.5, 2) * _COUNT * result / x
    sums = apart(ops, halves[np.abs(halves) < 120 * _COUNT])[:_ROWS]
    return _of_sums("MEAN", sums, (x, zero_point), result, (ops, right))


def total(random: np.random.Generator) -> Case:
    """Return sums over rows that are next to rounding halves."""
    x, zero_point = draw_scale(random), int(random.integers(-4, 5))
    result = float(np.float32(x * _COUNT * random.uniform(0.8, 1.5)))

    def make(precision: Precision, _: Precision) -> QMean:
        factor = rescale(precision(x) / precision(result))
        return QMean(axes=(1,), x_zero_point=zero_point, rescale=factor, zero_point=3)

    ops, right = variants(make, "NONE")
    halves = np.repeat(np.arange(-100, 100) + 0.5, 2) * result / x
    sums = apart(ops, halves[np.abs(halves) < 120 * _COUNT])[:_ROWS]
    return _of_sums("SUM", sums, (x, zero_point), result, (ops, right))


def _of_sums(
    operator: str,
    sums: Array,
    x: tuple[float, int],
    result: float,
    variants: tuple[dict[str, Any], str],
) -> Case:
    """Return a reduction of rows that have given sums."""
    scale, zero_point = x
    full, more = np.divmod(sums + zero_point * _COUNT, _COUNT)
    operand = (full[:, None] + (np.arange(_COUNT) < more[:, None])).astype(np.int8)

    def build() -> bytes:
        model = TfliteBuilder()
        given = model.tensor(operand.shape, scale=scale, zero_point=zero_point)
        made = model.tensor((len(operand),), scale=result, zero_point=3)
        model.operator(operator, [given, model.constant(np.array([1], np.int32))], [made])
        return model.build([given], [made])

    ops, right = variants
    return Case(operator, (scale, result), ops, (operand,), build, right=right)


ARITHMETIC: dict[str, Draw] = {
    **{name: partial(binary, operator=name) for name in _OPS},
    **{name: partial(requantize, operator=name) for name in ("QUANTIZE", "RELU")},
    "MEAN": mean,
    "SUM": total,
}
