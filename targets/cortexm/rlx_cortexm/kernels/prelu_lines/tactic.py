"""PReLU in one product and one addition, if the rounding of both sides is that of a line.

``y = saturate((x * factor + offset) >> shift)``, with a factor and an offset for each channel below
the zero point, and one pair for all channels above. They are searched near the real factors; each
is tried for all values.

Tests: tests/targets/cortexm/test_prelu_lines.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.targets.operands import constant_operand
from rlx_c.candidate import Candidate
from rlx_c.layer import ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.kernels.channel_table.tactic import functions_of
from rlx_cortexm.pixels import loop_instructions, pixel_loops
from rlx_cortexm.scaling import INT32_BOUND
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Int64
    from rlx.ops.q import QPrelu

    Float64 = npt.NDArray[np.float64]

ELEMENT: Final = 7
"""Instructions for each element."""

SHIFTS: Final = (20, 18, 16)
"""Bits by which sums are shifted; the first for which all channels have a line is used."""

_NEARBY: Final = np.array([0, 1, -1, 2, -2, 4, -4])
"""Distances from the nearest factor that are tried."""

_FAR: Final = 1 << 40
"""Bound on sums that are not bounded."""

_MAX_OFFSET: Final = 1 << 30
"""Largest offset."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Lines whose rounded values are the given results.

    Attributes:
        factors: int64[C].
        offsets: int64[C].
    """

    factors: Int64
    offsets: Int64


def find_lines(x: Int64, results: Int64, real: Float64, shift: int) -> Lines | None:
    """Return a line for each channel, None if a channel has none.

    Args:
        x: int64[N], the values.
        results: int64[N, C], the results; those at the ends of int8 may come from any sum beyond.
        real: float64[C], the slope of each channel.
        shift: Bits by which a sum is shifted right.
    """
    low = np.where(results == -128, -_FAR, results << shift)
    high = np.where(results == 127, _FAR, ((results + 1) << shift) - 1)
    factors = np.rint(real * 2.0**shift).astype(np.int64) + _NEARBY[:, np.newaxis]
    products = x[:, np.newaxis, np.newaxis] * factors
    lowest = (low[:, np.newaxis] - products).max(axis=0, initial=-_FAR)
    highest = (high[:, np.newaxis] - products).min(axis=0, initial=_FAR)
    offsets = np.clip((lowest + highest) >> 1, -_MAX_OFFSET, _MAX_OFFSET)
    sums = np.abs(products + offsets).max(axis=0, initial=0)
    fits = (lowest <= offsets) & (offsets <= highest) & (sums < INT32_BOUND)
    fits &= np.abs(products).max(axis=0, initial=0) < INT32_BOUND
    if not fits.any(axis=0).all():
        return None
    first = fits.argmax(axis=0), np.arange(results.shape[1])
    return Lines(factors[first], offsets[first])


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the candidate, none if the rounding of a channel is not that of a line."""
    op = cast("QPrelu", node.op)
    slopes = constant_operand(node, 1, "slopes").astype(np.int64) - op.y_zero_point
    tables = functions_of(node).tables.T.astype(np.int64)
    x = np.arange(-128, 128, dtype=np.int64)
    below, factor = x < op.x_zero_point, np.array(op.rescale.real)
    for shift in SHIFTS:
        upper = find_lines(x[~below], tables[~below, :1], factor, shift)
        real = np.asarray(slopes * op.slope_rescale.real[0], np.float64)
        results = np.broadcast_to(tables, (256, len(slopes)))[below]
        lower = find_lines(x[below], results, real, shift)
        if upper is not None and lower is not None:
            return (Candidate.of(_lower(node, upper, lower, shift), "prelu lines"),)
    return ()


def _lower(node: Node, upper: Lines, lower: Lines, shift: int) -> LoweredLayer:
    """Return the layer."""
    op, type_ = cast("QPrelu", node.op), node.types[0]
    loops = pixel_loops(type_)
    constants = {
        "zero_point": op.x_zero_point,
        "shift": shift,
        "above": (int(upper.factors[0]), int(upper.offsets[0])),
        **loops,
    }
    kernel = Kernel.of("prelu", "prelu_lines/kernel", constants, (f"saturate_{shift}",))
    lines = np.stack([lower.factors, lower.offsets], axis=1)
    note = "factor and offset of each channel below the zero point"
    return LoweredLayer(
        kernel,
        operands=node.operands[:1],
        tables=(ConstantTable("lines", "int32_t", lines.reshape(-1), note),),
        instructions=type_.size * ELEMENT + loop_instructions(loops),
    )


PRELU_LINES: Final = Tactic(
    candidates,
    "`prelu lines`: a product and a sum for each element, on one of two lines.",
    portable=1.3,
    baseline=2,
)
