"""Pools in hardware.

Tests: tests/targets/fpga/architectures/dataflow/test_layers.py
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from rlx.ops.q import QAveragePool2d, QMaxPool2d
from rlx_fpga.architectures.dataflow.latency import with_last_pixel
from rlx_fpga.architectures.dataflow.lower.rules import (
    RULES,
    LayerHardware,
    Plan,
    divisors,
    pipeline_hold,
)
from rlx_fpga.architectures.dataflow.lower.windows import Image, window_cell, windowed
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.channelwise import GlobalPool, Pool
from rlx_fpga.cells.divide import Divide
from rlx_fpga.cells.unary import Clamp
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from rlx.ir import Node
    from rlx_fpga.cells.streams import Cell


@RULES.rule(QAveragePool2d, QMaxPool2d)
class PoolPlan(Plan):
    """Line buffer and channelwise sum or maximum; no line buffer if the window is the image."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.attributes = cast("QAveragePool2d | QMaxPool2d", node.op)
        self.image = Image(*node.operands[0].type.static_shape)
        self.window = self.attributes.window
        whole = self.window.kernel == (self.image.height, self.image.width)
        self.is_global = whole and not self.window.is_padded and self.window.dilation == (1, 1)
        average = isinstance(self.attributes, QAveragePool2d)
        self.kind: Literal["sum", "max"] = "sum" if average else "max"

    def folds(self) -> list[Fold]:
        """Return all divisors of the channels."""
        folds = []
        for lanes in divisors(self.image.channels):
            cycles = self.image.count * self._cycles() * (self.image.channels // lanes)
            products = 0
            if self.kind == "sum":
                wide = (
                    lanes if self.is_global else Pool("sum", taps=self.window.taps, pe=lanes).lanes
                )
                products = self._finish(wide, self._sum_bits())["divide"].multipliers
            folds.append(Fold(lanes, 1, cycles, products))
        return folds

    def build(self, fold: Fold) -> LayerHardware:
        """Return line buffer, unit, and division or clamp."""
        lanes, image = fold.pe, self.image
        if self.is_global:
            unit = GlobalPool(
                self.kind, pixels=self.window.taps, channels=image.channels, lanes=lanes
            )
            cells: dict[str, Cell] = {"pool": unit, **self._finish(lanes, unit.out_bits)}
            beats = image.count * self.window.taps * (image.channels // lanes)
            hold = Fraction(1, image.count) + pipeline_hold([*cells.values()], beats)
            blocks = image.channels // lanes
            image_demand = with_last_pixel(self.window.taps, blocks, beats // image.count)
            demand = image_demand.repeated(image.count)
            return LayerHardware(Chain(cells), fold, beats, hold, demand=demand)
        taps = Pool(self.kind, taps=self.window.taps, pe=lanes)
        window = window_cell(
            image,
            self.window,
            lanes=lanes,
            pad_value=0 if self.kind == "sum" else -128,
            repeat=1,
            order="channelwise",
        )
        cells = {"window": window, "pool": taps, **self._finish(taps.lanes, taps.out_bits)}
        return windowed(cells, fold, image)

    def _cycles(self) -> int:
        geometry = self.image.geometry(self.window, self.image.channels)
        return max(geometry.out_height * geometry.out_width * geometry.taps, geometry.words)

    def _sum_bits(self) -> int:
        return Pool("sum", taps=self.window.taps, pe=1).out_bits

    def _finish(self, lanes: int, bits: int) -> dict[str, Cell]:
        """Return the cells after the sums or maxima."""
        op, image = self.attributes, self.image
        if self.kind == "max":
            full = op.low == -128 and op.high == 127
            return {} if full else {"clamp": Clamp(lanes, op.low, op.high)}
        rows, columns = self.window.taps_inside((image.height, image.width))
        divide = Divide(
            lanes,
            bits,
            rows,
            columns,
            bound=128 * self.window.taps,
            pixel_beats=image.channels // lanes,
            low=op.low,
            high=op.high,
        )
        return {"divide": divide}
