"""Reductions in hardware.

Tests: tests/targets/fpga/architectures/dataflow/test_layers.py
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from rlx.ops.q import QArgmax, QMean
from rlx.targets.operands import unsupported
from rlx_fpga.architectures.dataflow.latency import with_last_pixel
from rlx_fpga.architectures.dataflow.lower.rules import (
    RULES,
    LayerHardware,
    Plan,
    divisors,
    pipeline_hold,
)
from rlx_fpga.architectures.dataflow.lower.weighted import requantizer
from rlx_fpga.cells.argmax import Argmax
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.channelwise import GlobalPool
from rlx_fpga.cells.fifo import Fifo
from rlx_fpga.cells.requantize import lane_multipliers
from rlx_fpga.cells.unary import Offset
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_fpga.cells.requantize import Requantize
    from rlx_fpga.cells.streams import Cell


@RULES.rule(QMean)
class MeanPlan(Plan):
    """Running sums, a queue, offset for the zero points, requantizer.

    All sums of a frame come with its last pixel. The queue stores them while the requantizer is
    busy with the first ones: otherwise the input would stop, and the layer before it.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.attributes = cast("QMean", node.op)
        shape = node.operands[0].type.static_shape
        axes = {axis % len(shape) for axis in self.attributes.axes}
        axes = {axis for axis in axes if shape[axis] > 1} or {max(axes)}
        first, last = min(axes), max(axes)
        if any(shape[axis] > 1 for axis in set(range(first, last)) - axes):
            raise unsupported(node, f"expected consecutive axes, got {self.attributes.axes}")
        self.outer = math.prod(shape[:first])
        self.count = math.prod(shape[first : last + 1])
        self.inner = math.prod(shape[last + 1 :])

    def folds(self) -> list[Fold]:
        """Return all divisors of the values inside the reduced axes."""
        found = []
        for lanes in divisors(self.inner):
            for beat_cycles in lane_multipliers(self._requantize(lanes).scaling.parts):
                last = self._requantize(lanes, beat_cycles)
                cycles = self.outer * self.inner // lanes * max(self.count, last.beat_cycles)
                found.append(Fold(lanes, 1, cycles, last.multipliers, last.beat_cycles))
        return found

    def build(self, fold: Fold) -> LayerHardware:
        """Return the chain."""
        lanes = fold.pe
        pool = self._pool(lanes)
        cells: dict[str, Cell] = {"sum": pool}
        waiting = self._waiting(self.inner // lanes, fold.beat_cycles)
        if waiting:
            # No queue has a depth of 1.
            cells["queue"] = Fifo(lanes, max(waiting, 2), pool.out_bits)
        if self._offset:
            cells["offset"] = Offset(lanes, pool.out_bits, self._offset)
        cells["requantize"] = self._requantize(lanes, fold.beat_cycles)
        beats = self.outer * self.count * self.inner // lanes
        hold = Fraction(1, self.outer) + pipeline_hold([*cells.values()], beats)
        blocks, cycles = self.inner // lanes, fold.cycles // self.outer
        demand = with_last_pixel(self.count, blocks, cycles, fold.beat_cycles).repeated(self.outer)
        return LayerHardware(Chain(cells), fold, fold.cycles, hold, demand=demand)

    def _waiting(self, blocks: int, beat_cycles: int) -> int:
        """Return the maximum number of sums of ``blocks`` beats that wait for the requantizer.

        When the last one comes, the requantizer has accepted one in ``beat_cycles``, less one if it
        was still busy with the frame before, and the offset holds another.
        """
        always_busy = 1 < beat_cycles >= self.count and blocks > 1
        accepted = -(-blocks // beat_cycles) - always_busy
        return max(blocks - accepted - bool(self._offset), 0)

    @property
    def _offset(self) -> int:
        return -self.attributes.x_zero_point * self.count

    def _pool(self, lanes: int) -> GlobalPool:
        return GlobalPool("sum", pixels=self.count, channels=self.inner, lanes=lanes)

    def _requantize(self, lanes: int, beat_cycles: int = 1) -> Requantize:
        bits = self._pool(lanes).out_bits
        if self._offset:
            bits = Offset(lanes, bits, self._offset).out_bits
        return requantizer(self.attributes, lanes, lanes, bits, beat_cycles=beat_cycles)


@RULES.rule(QArgmax)
class ArgmaxPlan(Plan):
    """One comparison a cycle."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        op = cast("QArgmax", node.op)
        shape = node.operands[0].type.static_shape
        axis = op.axis % len(shape)
        if math.prod(shape[axis + 1 :]) != 1:
            raise unsupported(node, f"expected the last axis of {list(shape)}, got axis {op.axis}")
        self.count, self.size = shape[axis], math.prod(shape)

    def folds(self) -> list[Fold]:
        """Return the only choice."""
        return [Fold(1, 1, self.size)]

    def build(self, fold: Fold) -> LayerHardware:
        """Return the cell."""
        cell = Argmax(self.count)
        hold = Fraction(self.count, self.size) + pipeline_hold([cell], self.size)
        demand = with_last_pixel(self.count, 1, self.count).repeated(self.size // self.count)
        return LayerHardware(Chain({"argmax": cell}), fold, self.size, hold, demand=demand)
