"""PReLU on all pairs of values and slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ops.q import QPrelu
from scale_sweep.case import (
    CODES,
    Case,
    Draw,
    Precision,
    draw_scale,
    draw_zero_point,
    edge,
    near,
    rescale,
    variants,
)
from support.files.tflite_builder import TfliteBuilder

if TYPE_CHECKING:
    from rlx.ir import Op


def prelu(random: np.random.Generator) -> Case:
    """Return a PReLU; one value above zero, or one pair below, comes to a half."""
    x, slope = draw_scale(random), draw_scale(random)
    zero_points = draw_zero_point(random), draw_zero_point(random)
    value, steps = int(random.integers(1, 256)), int(random.integers(1, 129))
    factor, number = (x, value) if random.integers(0, 2) else (
        x * slope, value * int(random.integers(1, 256))
    )  # fmt: skip
    result = near(random, factor * number / edge(steps, steps / number))
    to = draw_zero_point(random)

    def make(p: Precision, _: Precision) -> Op:
        return QPrelu(
            x_zero_point=zero_points[0],
            y_zero_point=zero_points[1],
            rescale=rescale(p(x) / p(result)),
            slope_rescale=rescale(p(x) * p(slope) / p(result)),
            zero_point=to,
        )

    ops, right = variants(make, "NONE")
    operand = np.repeat(CODES, 256).reshape(256, 256)

    def build() -> bytes:
        model = TfliteBuilder()
        given = model.tensor(operand.shape, scale=x, zero_point=zero_points[0])
        slopes = model.constant(CODES, scale=slope, zero_point=zero_points[1])
        made = model.tensor(operand.shape, scale=result, zero_point=to)
        model.operator("PRELU", [given, slopes], [made])
        return model.build([given], [made])

    return Case("PRELU", (x, slope, result), ops, (operand, CODES), build, right=right)


COMPARE: dict[str, Draw] = {"PRELU": prelu}
