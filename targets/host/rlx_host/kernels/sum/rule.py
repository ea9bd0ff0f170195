"""Sums and differences: in float64 where that is proven exact, else by tables of scaled values.

Tests: tests/targets/host/test_sum.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.q import QSub
from rlx_c.layer import Kernel
from rlx_host.kernels.channels import channel_rows, rounding_of
from rlx_host.kernels.loops import BLOCK, broadcast_loops
from rlx_host.layer import NativeLayer, Split

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rlx.ir import Array, Node
    from rlx.ops.q import QAdd
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import Pack

_VALUES: Final = np.arange(256, dtype=np.uint8).view(np.int8)
_FUNCTIONS: Final = {Rounding.DOUBLE: "sum_away", Rounding.SINGLE: "sum_up"}
"""C function that rounds the exact sum as each rounding of the op does, but for its inner ones."""
_NUDGES: Final = (0.0, *(sign * 2.0**-k for k in (40, 30, 24, 22, 20, 18, 16) for sign in (1, -1)))
"""Additions to 1/2 that are tried: halves must fall to the side of the op's fixed point."""


@dataclass(frozen=True, slots=True)
class FloatSum:
    """A sum as ``round(a * x + b * y + constant)``, which equals the op for every pair of values.

    Attributes:
        function: C function that rounds.
        factors: Factors of both operands.
        constant: Added before rounding.
        half: Added to round to the nearest.
    """

    function: str
    factors: tuple[float, float]
    constant: float
    half: float


def add(node: Node, instructions: InstructionSet) -> NativeLayer:
    """Return the layer of a sum or difference."""
    op = cast("QAdd", node.op)
    proven = float_sum(op) if instructions.group == 4 else None
    loops = broadcast_loops(node)
    units = loops[0].extent if loops[1:] else -(-loops[0].extent // BLOCK)
    split = Split.of(units, 8 * node.types[0].size // instructions.lanes)
    constants: dict[str, Hashable] = {
        "split": split is not None,
        "units": units,
        "block": BLOCK,
        "loops": loops,
        "zero_point": op.zero_point,
        "low": op.low,
        "high": op.high,
    }
    kind = op.name.removeprefix("q.")
    if proven is None:
        constants |= {"stride": instructions.lanes, "rounding": rounding_of(op.rescale)}
        kernel = Kernel.of(kind, "sum/kernel", constants)
        return NativeLayer(kernel, (0, 1), _tables(op, instructions.lanes), split=split)
    constants |= {
        "function": proven.function,
        "factors": tuple(factor.hex() for factor in proven.factors),
        "constant": proven.constant.hex(),
        "half": proven.half.hex(),
    }
    return NativeLayer(Kernel.of(kind, "sum/float64", constants), (0, 1), split=split)


def _tables(op: QAdd, lanes: int) -> tuple[Pack, ...]:
    """Return tables of both operands' scaled values, and of the factors of their sum."""
    sign = -1 if isinstance(op, QSub) else 1

    def first(operands: Sequence[Array]) -> Array:
        del operands
        return op.scaled_operands((_VALUES, _VALUES))[0].astype(np.int32)

    def second(operands: Sequence[Array]) -> Array:
        del operands
        return (sign * op.scaled_operands((_VALUES, _VALUES))[1]).astype(np.int32)

    def factors(operands: Sequence[Array]) -> Array:
        del operands
        return channel_rows(op.rescale, lanes)

    return first, second, factors


@lru_cache(256)
def float_sum(op: QAdd) -> FloatSum | None:
    """Return a sum in float64 that equals the op for all 65,536 pairs of values, or None.

    The op rounds both operands in fixed point first, so halves of the result may fall to either
    side; the form is tried with several additions to 1/2.
    """
    function = _FUNCTIONS.get(op.rescale.rounding)
    if function is None:
        return None
    x, y = _VALUES[:, np.newaxis], _VALUES[np.newaxis]
    expected = op.evaluate(x, y)[0]
    scale = 2.0**op.left_shift * op.rescale.real[0]
    sign = -1.0 if isinstance(op, QSub) else 1.0
    a, b = op.x_rescale.real[0] * scale, sign * op.y_rescale.real[0] * scale
    constant = -(a * op.x_zero_point + b * op.y_zero_point)
    for nudge in _NUDGES:
        form = FloatSum(function, (a, b), constant, 0.5 + nudge)
        # FMA rounds once where NumPy rounds twice: results near a step would be in doubt.
        if all(_equals(form, op, expected, slack) for slack in (-1e-11, 0.0, 1e-11)):
            return form
    return None


def _equals(form: FloatSum, op: QAdd, expected: Array, slack: float) -> bool:
    a, b = form.factors
    wide = _VALUES.astype(np.float64)
    sums = a * wide[:, np.newaxis] + (b * wide[np.newaxis] + form.constant) + slack
    if np.abs(sums).max() >= 2.0**30:
        return False
    if form.function == "sum_away":
        whole = np.trunc(sums + np.copysign(form.half, sums))
    else:
        whole = np.floor(sums + form.half)
    return np.array_equal(np.clip(whole + op.zero_point, op.low, op.high), expected)
