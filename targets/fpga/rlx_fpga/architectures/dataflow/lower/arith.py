"""Elementwise arithmetic in hardware."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.q import (
    QAdd,
    QClamp,
    QMul,
    QResizeNearest,
    QSub,
)
from rlx.targets.operands import unsupported
from rlx_fpga.architectures.dataflow.lower.elementwise import Elementwise
from rlx_fpga.architectures.dataflow.lower.rules import (
    RULES,
    LayerHardware,
    Plan,
    divisors,
    pipeline_hold,
)
from rlx_fpga.architectures.dataflow.lower.weighted import requantizer
from rlx_fpga.architectures.refusals import (
    NEAREST,
    refuse_ops_without_cells,
)
from rlx_fpga.cells.arith import Product, ScaledSum
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.repeat import Constant, Repeat
from rlx_fpga.cells.requantize import lane_multipliers
from rlx_fpga.cells.unary import Clamp
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Array, Node
    from rlx_fpga.cells.streams import Cell

INT8 = np.arange(-128, 128, dtype=np.int64)

refuse_ops_without_cells(RULES)
RULES.refuse(NEAREST, QResizeNearest)


@RULES.rule(QClamp)
class ClampPlan(Elementwise):
    """Two comparisons for each lane."""

    def cells(self, lanes: int) -> dict[str, Cell]:
        """Return the comparisons."""
        op = cast("QClamp", self.node.op)
        return {"clamp": Clamp(lanes, op.low, op.high)}


class BinaryPlan(Plan):
    """Two operands, streams or constants, brought to one shape."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.shape = node.types[0].static_shape
        self.size = math.prod(self.shape)
        self.operands = tuple(o for o in node.operands if o.constant is None)
        if not self.operands:
            raise unsupported(node, "both operands are constants: fold them first")
        self.repeats = [_repeats(node, o.type.static_shape, self.shape) for o in self.operands]

    @abstractmethod
    def cells(self, fold: Fold) -> dict[str, Cell]:
        """Return the cells in sequence; the first one has both operands as inputs."""

    def folds(self) -> list[Fold]:
        """Return the numbers of lanes."""
        return [Fold(n, 1, self.size // n) for n in self.lanes()]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the chain."""
        cells = self.cells(fold)
        hold = pipeline_hold([*cells.values()], self.size // fold.pe)
        chain = Chain(cells, self.before(fold.pe))
        return LayerHardware(chain, fold, fold.cycles, hold, skew=self.skew(fold.pe))

    def lanes(self) -> list[int]:
        """Return divisors of the last axis and of every group that is repeated."""
        groups = [group for repeats in self.repeats for group, _ in repeats]
        channels = self.shape[-1] if self.shape else 1
        return divisors(math.gcd(channels, *groups))

    def skew(self, lanes: int) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the lead and lag of each operand if one is repeated, else an empty tuple."""
        if not any(self.repeats):
            return ()
        return tuple(_skew(o.type.static_shape, self.shape, lanes) for o in self.operands)

    def before(self, lanes: int) -> dict[str, dict[str, Cell]]:
        """Return constants and repetitions."""
        fronts: dict[str, dict[str, Cell]] = {}
        repeats = iter(self.repeats)
        for operand_index, operand in enumerate(self.node.operands):
            if operand.constant is not None:
                values = period(np.broadcast_to(operand.constant, self.shape), lanes)
                fronts[f"i{operand_index}"] = {f"constant{operand_index}": Constant(values, lanes)}
                continue
            fronts[f"i{operand_index}"] = {
                f"repeat{operand_index}_{index}": Repeat(lanes, group // lanes, times)
                for index, (group, times) in enumerate(next(repeats))
            }
        return fronts


class RequantizedPlan(BinaryPlan):
    """A sum or product of two values, and the requantizer of the result."""

    @abstractmethod
    def first(self, lanes: int) -> ScaledSum | Product:
        """Return the cell that makes one number of two values."""

    @cached_property
    def parts(self) -> int:
        """Parts of the requantizer's product."""
        return requantizer(self.node.op, 1, 1, self.first(1).width).scaling.parts

    def folds(self) -> list[Fold]:
        """Return for each number of lanes all forms of the requantizer."""
        own = self.first(1).multipliers
        return [
            Fold(n, 1, self.size // n * cycles, n * (own + multipliers), cycles)
            for n in self.lanes()
            for cycles, multipliers in lane_multipliers(self.parts).items()
        ]

    def cells(self, fold: Fold) -> dict[str, Cell]:
        """Return both."""
        first = self.first(fold.pe)
        last = requantizer(
            self.node.op, fold.pe, fold.pe, first.width, beat_cycles=fold.beat_cycles
        )
        return {"combine": first, "requantize": last}


@RULES.rule(QAdd, QSub)
class SumPlan(RequantizedPlan):
    """Two tables that scale the operands, an adder, the requantizer of the result."""

    @cached_property
    def tables(self) -> tuple[list[int], list[int]]:
        """The scaled operands, for each code."""
        op = cast("QAdd", self.node.op)
        values = INT8.astype(np.int8)
        x, y = op.scaled_operands((values, values))
        return x.tolist(), (-y if isinstance(op, QSub) else y).tolist()

    def first(self, lanes: int) -> ScaledSum:
        """Return the adder."""
        return ScaledSum(lanes, *self.tables)


@RULES.rule(QMul)
class ProductPlan(RequantizedPlan):
    """A multiplication and the requantizer of the result."""

    def first(self, lanes: int) -> Product:
        """Return the multiplication."""
        op = cast("QMul", self.node.op)
        return Product(lanes, op.x_zero_point, op.y_zero_point)


def _repeats(node: Node, shape: tuple[int, ...], result: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the repetitions of a broadcast operand: elements of a group, and times.

    Innermost first, each group with the elements that earlier repetitions have added.
    """
    del node
    padded = (1,) * (len(result) - len(shape)) + shape
    repetitions = []
    group, times = 1, 1
    for size, result_size in zip(reversed(padded), reversed(result), strict=True):
        if size == result_size:
            if times > 1:
                repetitions.append((group, times))
                group, times = group * times, 1
            group *= size
        else:
            times *= result_size
    if times > 1:
        repetitions.append((group, times))
    return repetitions


def _skew(shape: tuple[int, ...], result: tuple[int, ...], lanes: int) -> tuple[Fraction, Fraction]:
    """Return the part of a frame that an operand is read ahead of the share produced, and behind.

    A row that is repeated for every row of the result must be complete for the first one.
    """
    size = math.prod(shape)
    elements = np.broadcast_to(np.arange(size).reshape(shape), result).reshape(-1)
    taken = np.maximum.accumulate(elements[::lanes] // lanes) + 1
    beats, total = size // lanes, len(taken)
    ahead = taken * total - (np.arange(total) + 1) * beats
    unit = beats * total
    return Fraction(int(ahead.max()), unit), Fraction(max(-int(ahead.min()), 0), unit)


def period(values: Array, lanes: int) -> npt.NDArray[np.int8]:
    """Return the shortest part of ``values`` that the whole repeats, in whole beats."""
    flat = values.astype(np.int8).reshape(-1)
    for length in divisors(flat.size):
        if length % lanes == 0 and np.array_equal(flat, np.resize(flat[:length], flat.size)):
            return flat[:length]
    return flat
