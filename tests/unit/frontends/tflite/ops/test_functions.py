"""Functions of one value as tables: on all 256 codes against TensorFlow Lite Micro and LiteRT."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ops.q import QTable
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, run_tflm
from support.messages import raises
from support.references.litert import run_litert
from support.references.tflite_compare import random_scale, random_zero_point

if TYPE_CHECKING:
    from collections.abc import Iterator

CODES = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
Quant = tuple[float, int]


def unary(code: str, x: Quant, y: Quant, **options: object) -> bytes:
    model = TfliteBuilder()
    given = model.tensor((1, 256), scale=x[0], zero_point=x[1])
    made = model.tensor((1, 256), scale=y[0], zero_point=y[1])
    model.operator(code, [given], [made], **options)
    return model.build([given], [made])


def table_of(data: bytes) -> np.ndarray:
    (node,) = tflite.load(data).graph.op_nodes
    assert isinstance(node.op, QTable)
    return np.array([node.op.table])


def quants(count: int, seed: int, point: int | None = None) -> Iterator[tuple[Quant, Quant]]:
    """Yield scales and zero points; every fourth pair of scales is equal."""
    random = np.random.default_rng(seed)
    for index in range(count):
        x = random_scale(random, 1e-4, 1)
        y = x if index % 4 == 0 else random_scale(random, x / 20, x * 20)
        x_point = random_zero_point(random) if point is None else point
        yield (x, x_point), (y, random_zero_point(random))


@pytest.mark.parametrize("code", ["ABS", "ELU"])
def test_equals_tflm(code: str) -> None:
    for x, y in quants(120, 0):
        data = unary(code, x, y)
        np.testing.assert_array_equal(table_of(data), run_tflm(data, CODES)[0])


def test_magnitudes_at_rounding_halves_equal_tflm() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        scale, code, steps = random_scale(random), random.integers(1, 256), random.integers(1, 128)
        half = np.float32(scale * code / (steps - 0.5)).view(np.int32) + random.integers(-2, 3)
        data = unary("ABS", (scale, -128), (float(np.int32(half).view(np.float32)), -128))
        np.testing.assert_array_equal(table_of(data), run_tflm(data, CODES)[0])


def test_reciprocal_roots_equal_tflm() -> None:
    for x, _ in quants(120, 2, -128):
        typical = 1 / np.sqrt(x[0])
        for y, point in ((typical / 200, -128), (typical / 20, 3), (typical, 127)):
            data = unary("RSQRT", x, (float(np.float32(y)), point))
            np.testing.assert_array_equal(table_of(data), run_tflm(data, CODES)[0])


@pytest.mark.parametrize("zero_point", [-100, 0, 127])
def test_reciprocal_roots_of_negative_values_are_those_of_zero(zero_point: int) -> None:
    data = unary("RSQRT", (0.02, zero_point), (0.05, -7))
    codes = np.maximum(CODES, np.int8(zero_point))
    (wanted,) = run_tflm(data, codes)
    np.testing.assert_array_equal(table_of(data)[0][codes.astype(int) + 128], wanted)
    assert set(table_of(data)[0, : zero_point + 128]) <= {127}


@pytest.mark.parametrize("factor", [2.0**-11, 2.0**29])
def test_extreme_reciprocal_roots_equal_tflm(factor: float) -> None:
    data = unary("RSQRT", (1.0, -128), (1 / factor, -128))
    np.testing.assert_array_equal(table_of(data), run_tflm(data, CODES)[0])


@pytest.mark.parametrize(("scale", "to"), [(1.0, 2.0**-31), (1.0, 4096.0), (1e-45, 1e-45)])
def test_reciprocal_roots_beyond_the_fixed_point_are_refused(scale: float, to: float) -> None:
    with raises(UnsupportedOpError):
        tflite.load(unary("RSQRT", (scale, -128), (to, -128)))


@pytest.mark.parametrize("scale", [1e-10, 1e30])
def test_ratios_beyond_the_fixed_point_are_refused(scale: float) -> None:
    with raises(UnsupportedOpError):
        tflite.load(unary("ABS", (0.1, 0), (scale, 0)))


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("EXP", {}),
        ("LOG", {}),
        ("GELU", {"approximate": False}),
        ("GELU", {"approximate": True}),
    ],
)
def test_equals_litert(code: str, options: dict[str, object]) -> None:
    for x, y in quants(60, 3):
        data = unary(code, x, y, **options)
        np.testing.assert_array_equal(table_of(data), run_litert(data, [CODES])[0][0])


def test_roots_equal_litert() -> None:
    for x, _ in quants(60, 4, -128):
        data = unary("SQRT", x, (float(np.float32(np.sqrt(x[0]) / 9)), -128))
        np.testing.assert_array_equal(table_of(data), run_litert(data, [CODES])[0][0])


def test_the_root_of_a_negative_value_is_zero() -> None:
    found = table_of(unary("SQRT", (0.5, 20), (0.1, -3)))
    assert (found[0, :149] == -3).all()
    assert (found[0, 149:] > -3).all()


def nearest(value: Fraction, zero_point: int) -> int:
    """Return the code next to a value, halves away from zero."""
    whole = int(abs(value) + Fraction(1, 2))
    return int(np.clip((whole if value >= 0 else -whole) + zero_point, -128, 127))


@pytest.mark.parametrize("code", ["NEG", "SQUARE"])
def test_has_the_nearest_values(code: str) -> None:
    """They lie within the rounding of float32 of the exact ones; halves are seldom that close."""
    for x, y in quants(40, 5):
        found = table_of(unary(code, x, y))[0]
        for value, result in zip(CODES[0].tolist(), found.tolist(), strict=True):
            real = Fraction(x[0]) * (value - x[1])
            exact = (-real if code == "NEG" else real * real) / Fraction(y[0])
            error = abs(exact) / 2**21
            assert nearest(exact - error, y[1]) <= result <= nearest(exact + error, y[1])


@pytest.mark.parametrize("code", ["EXP", "LOG", "GELU", "ELU", "SQRT", "SQUARE"])
@pytest.mark.parametrize("scale", [1e-45, 3e38])
@pytest.mark.parametrize("to", [1e-45, 3e38])
def test_scales_at_the_ends_of_float32(code: str, scale: float, to: float) -> None:
    found = table_of(unary(code, (scale, 0), (to, 5)))[0]
    assert found[128] == {"EXP": 127 if to < 1 else 5, "LOG": -128}.get(code, 5)
    if code != "LOG" and scale > 1:
        assert found[255] == 127
