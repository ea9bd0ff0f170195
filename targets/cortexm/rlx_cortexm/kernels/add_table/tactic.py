"""Sums and differences of values of different scales, with as few look-ups as possible.

A table holds each operand in the common scale, for all int8 values. An operand whose table would
grow by the same step from value to value (usually that of the coarser scale) is multiplied by that
step instead, and its constant is added to the other operand's table. Tables and steps are
pre-scaled as ``requantize_level`` needs them.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ops.q import QSub
from rlx_c.candidate import Candidate
from rlx_c.layer import CodeSize, ConstantTable, Kernel, LoweredLayer
from rlx_c.nest import broadcast_strides, nest, row_major, split_run
from rlx_cortexm.scaling import INT32_BOUND, fold_offset, level, output_constants, scaling
from rlx_cortexm.tactic import Tactic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Int64
    from rlx.ops.q import QAdd
    from rlx_cortexm.scaling import AccumulatorScaling

INT8 = np.arange(-128, 128).astype(np.int8)
"""Every int8 value, in the order of a table."""

UNROLLED = 4
"""Unroll factor of a loop, if a run is a multiple of it."""

SUM: Final = 5
"""Instructions for an element: both operands looked up, added, stored."""

SCALED: Final = 2
CLAMPED: Final = 3
NEGATIVE: Final = 4
SCALED_ANY: Final = 14
"""Instructions to scale a sum with one shift, for each end of its range that is clamped, if halves
of negative values need a correction; to scale it by another function."""

LOOP_UNROLLED: Final = 1.25
LOOP: Final = 4.5
RUN: Final = 8
LAYER: Final = 25
"""Instructions per element of an unrolled loop, of another loop, per run, per layer."""


@dataclass(frozen=True, slots=True, eq=False)
class TableSum:
    """A sum of two operands.

    Attributes:
        tables: Of each operand, for all int8 values; None where a step is enough.
        steps: Factor that a value is multiplied by instead.
        constant: Constant that is added.
    """

    tables: tuple[Int64 | None, Int64 | None]
    steps: tuple[int, int]
    constant: int

    @staticmethod
    def of(scaled: tuple[Int64, Int64]) -> TableSum:
        """Return the terms whose sum is that of two tables."""
        steps = [_step(values) for values in scaled]
        constant = sum(int(v[128]) for v, step in zip(scaled, steps, strict=True) if step)
        tables = [None if step else values for values, step in zip(scaled, steps, strict=True)]
        for place, values in enumerate(tables):
            if values is not None:
                tables[place], constant = values + constant, 0
        return TableSum((tables[0], tables[1]), (steps[0], steps[1]), constant)

    @property
    def bound(self) -> int:
        """Bound on the sum and all values that it is computed from."""
        parts = [
            128 * abs(step) if values is None else int(np.abs(values).max())
            for values, step in zip(self.tables, self.steps, strict=True)
        ]
        return sum(parts) + abs(self.constant)

    def larger(self, shift: int) -> TableSum:
        """Return the terms of a sum that is ``2^places`` times as large."""
        first, second = (None if t is None else t << shift for t in self.tables)
        steps = (self.steps[0] << shift, self.steps[1] << shift)
        return TableSum((first, second), steps, self.constant << shift)


def _step(values: Int64) -> int:
    """Return the growth of a table from value to value, or 0 if that differs."""
    steps = np.unique(np.diff(values))
    return int(steps[0]) if len(steps) == 1 else 0


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to add by tables, none if their sum could exceed int32."""
    op = cast("QAdd", node.op)
    x, y = op.scaled_operands((INT8, INT8))
    terms = TableSum.of((x, -y if isinstance(op, QSub) else y))
    if terms.bound >= INT32_BOUND:
        return ()
    bound = np.array([terms.bound], np.int64)
    sum_scaling = scaling(op.rescale, terms.bound)
    level_scaling = level(fold_offset(sum_scaling, bound, op.zero_point), bound, op.zero_point)
    if level_scaling.is_level:
        return (
            Candidate.of(
                _lower(node, terms.larger(level_scaling.shift[0]), level_scaling), "add table"
            ),
        )
    return (Candidate.of(_lower(node, terms, sum_scaling), "add table"),)


def _lower(node: Node, terms: TableSum, sum_scaling: AccumulatorScaling) -> LoweredLayer:
    """Return the layer."""
    op = cast("QAdd", node.op)
    shape = node.types[0].static_shape
    strides = (broadcast_strides(o.type.static_shape, shape) for o in node.operands)
    loops, run = split_run(nest(shape, *strides, row_major(shape)))
    constants: dict[str, Hashable] = {
        "loops": loops,
        "run": run,
        "unrolled": UNROLLED if run % UNROLLED == 0 else 1,
        "steps": terms.steps,
        "tabled": tuple(n for n, t in zip("xy", terms.tables, strict=True) if t is not None),
        "constant": terms.constant,
        "requantize": sum_scaling.function,
        "multiplier": sum_scaling.multiplier[0],
        "shift": sum_scaling.shift[0],
        **output_constants(op.low, op.high, op.zero_point),
    }
    tables = tuple(
        ConstantTable(
            f"{name}_scaled", "int32_t", values, f"operand {name} scaled, for -128 .. 127"
        )
        for name, values in zip("xy", terms.tables, strict=True)
        if values is not None
    )
    kind = "sub" if isinstance(op, QSub) else "add"
    return LoweredLayer(
        Kernel.of(kind, "add_table/kernel", constants, (sum_scaling.function,), CodeSize(0.7)),
        operands=node.operands,
        tables=tables,
        instructions=_instructions(node.types[0].size, run, len(tables), op, sum_scaling),
    )


def _instructions(size: int, run: int, tables: int, op: QAdd, scaling: AccumulatorScaling) -> int:
    """Return the instructions for a sum of ``size`` elements, ``run`` of them after each other."""
    clamps = (op.low > -128) + (op.high < 127)
    scale = SCALED + CLAMPED * clamps + NEGATIVE * (scaling.rounds_twice and op.low < op.zero_point)
    element = SUM + abs(tables - 1) + (scale if scaling.is_level else SCALED_ANY)
    loop = LOOP_UNROLLED if run % UNROLLED == 0 else LOOP
    begin = RUN / run if run > 1 else 0
    return round(size * (element + loop + begin)) + LAYER


ADD_TABLE: Final = Tactic(
    candidates,
    "`add table`: what an operand becomes in the common scale is looked up, or is a product.",
    portable=1.4,
    baseline=4.6,
)
