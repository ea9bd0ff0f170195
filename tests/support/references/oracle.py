"""One-op models for TensorFlow Lite Micro, which tells what the integer ops must compute.

Each function builds the ``.tflite`` file of one operator from scales and zero points, runs it and
returns the result's codes. What the ops of ``rlx.ops.q`` take instead (multipliers and shifts) is
derived in the tests, from the reals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from support.files.tflite_builder import TfliteBuilder, run_tflm

if TYPE_CHECKING:
    from rlx.ir import Array


@dataclass(frozen=True)
class Quant:
    """Scale (a float32 number) and zero point of a tensor."""

    scale: float
    zero_point: int


def float32(low: float, high: float) -> st.SearchStrategy[float]:
    """Return a strategy of float32 numbers in [low, high], as Python floats."""
    return st.floats(low, high).map(lambda x: float(np.float32(x)))


def quants(low: float = 0.01, high: float = 1.0) -> st.SearchStrategy[Quant]:
    """Return a strategy of scales in [low, high] with any zero point, often an extreme one."""
    points = st.sampled_from((-128, 0, 127)) | st.integers(-128, 127)
    return st.builds(Quant, float32(low, high), points)


def codes(seed: int, shape: tuple[int, ...]) -> Array:
    """Return random int8 codes."""
    return np.random.default_rng(seed).integers(-128, 127, shape, np.int8, endpoint=True)


def clamp_of(activation: str, quant: Quant) -> dict[str, int]:
    """Return ``low`` and ``high`` of a fused activation, derived from its real bounds."""
    bounds = {
        "NONE": (None, None),
        "RELU": (0.0, None),
        "RELU6": (0.0, 6.0),
        "RELU_N1_TO_1": (-1.0, 1.0),
    }
    low, high = (
        end if real is None else _round_half_away(np.float32(real) / np.float32(quant.scale))
        + quant.zero_point
        for real, end in zip(bounds[activation], (-128, 127), strict=True)
    )  # fmt: skip
    return {"low": max(low, -128), "high": min(high, 127)}


ACTIVATIONS = st.sampled_from(("NONE", "RELU", "RELU6", "RELU_N1_TO_1"))


def _round_half_away(x: float) -> int:
    return int(np.sign(x) * np.floor(abs(float(x)) + 0.5))


def run_operator(
    code: str,
    inputs: list[tuple[Array, Quant | None]],
    output: tuple[tuple[int, ...], Quant | None],
    constants: list[tuple[Array, dict[str, Any]]] | None = None,
    *,
    dtype: str = "int8",
    **options: Any,
) -> Array:
    """Return an operator's result for ``inputs`` and ``constants`` (its operands in this order).

    Args:
        code: The operator's name in the schema.
        inputs: Values and quantization of its inputs.
        output: Shape and quantization of its result.
        constants: Values, and scale, zero point and axis, of its constant operands.
        dtype: Element type of its result.
        options: The operator's own options.
    """
    model = TfliteBuilder()
    given = [model.tensor(x.shape, str(x.dtype), **_fields(quant)) for x, quant in inputs]
    fixed = [model.constant(x, **fields) for x, fields in constants or []]
    shape, quant = output
    result = model.tensor(shape, dtype, **_fields(quant))
    model.operator(code, [*given, *fixed], [result], **options)
    (y,) = run_tflm(model.build(given, [result]), *(x for x, _ in inputs))
    return y.reshape(shape)


def _fields(quant: Quant | None) -> dict[str, Any]:
    return {} if quant is None else {"scale": quant.scale, "zero_point": quant.zero_point}
