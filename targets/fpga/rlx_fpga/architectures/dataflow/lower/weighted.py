"""Convolutions and dense layers: window, folded multipliers, requantizer.

Tests: tests/targets/fpga/architectures/dataflow/lower/test_rules.py
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ops.q import Linear
from rlx.targets.operands import constant_operand, unsupported
from rlx_fpga.architectures.dataflow.lower.rules import LayerHardware, Plan, divisors, pipeline_hold
from rlx_fpga.architectures.dataflow.lower.windows import (
    Image,
    whole_front,
    whole_window,
    whole_windowed,
    window_cell,
    windowed,
)
from rlx_fpga.cells.accumulate import drain_lanes, ranges_of
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.channelwise import Depthwise, depthwise_array, depthwise_logic
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.mvu import (
    MatrixVector,
    MultiplierArray,
    matrix_accumulator,
    matrix_logic,
    needs_multiplier,
    packed_pairs,
)
from rlx_fpga.cells.requantize import Requantize, lane_multipliers
from rlx_fpga.cells.weights import WeightMemories, weight_bits
from rlx_fpga.cost.costs import resources_of
from rlx_fpga.cost.logic import total
from rlx_fpga.explore.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Node
    from rlx.ops.numerics.fixed_point import Rescale
    from rlx.ops.q import QConv2d, QDense, Window
    from rlx_fpga.cells.accumulate import Ranges
    from rlx_fpga.cells.rom import Integers
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.cells.window import WindowGenerator
    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.cost.logic import Logic


MAX_EXTRA_RESULTS: Final = 3
"""Excess of ``pe`` over the minimum that is permitted, for a cheaper requantizer."""


class WeightedPlan(Plan):
    """A layer with weights."""

    def __init__(self, node: Node, op: QConv2d | QDense) -> None:
        super().__init__(node)
        self.attributes = op
        self.weights: Integers = constant_operand(node, 1, "weights").astype(np.int8)
        self.bias = Linear.of(op, self.weights, constant_operand(node, 2, "biases")).bias
        # Parts that foldings have in common.
        self._requantizers: dict[tuple[int, int], Requantize] = {}
        self._windows: dict[tuple[int, int], Logic] = {}
        self._accumulators: dict[tuple[int, int, int], Logic] = {}

    @abstractmethod
    def logic(self, fold: Fold) -> Logic:
        """Return the logic of the layer: that of its cells, without building them all."""

    def _cost(self, fold: Fold, family: str) -> Resources:
        return resources_of(self.logic(fold), family, fold.multipliers)

    @cached_property
    def ranges(self) -> Ranges:
        """Widths of the accumulators."""
        try:
            return ranges_of(self.weights.reshape(len(self.weights), -1), self.bias)
        except ValueError as error:
            raise unsupported(self.node, str(error)) from None

    @cached_property
    def parts(self) -> int:
        """Parts of the requantizer's product."""
        bits = self.ranges.out_bits
        try:
            return requantizer(self.attributes, len(self.weights), 1, bits).scaling.parts
        except ValueError as error:
            raise unsupported(self.node, str(error)) from None

    def folded(
        self, pe: int, simd: int, products: int, cycles: int, drain: Drain, shared_pairs: int = 0
    ) -> Fold:
        """Return a folding with ``pe`` times ``simd`` products in a cycle, and its requantizer.

        Args:
            pe: Results, or input channels of a depthwise convolution, at the same time.
            simd: Terms of each.
            products: Products of weights and inputs.
            cycles: Cycles for a frame.
            drain: The requantizer.
            shared_pairs: Pairs of products with the same input.
        """
        bits = self.weight_bits
        if not needs_multiplier(bits):
            products = shared_pairs = 0
        return Fold(
            pe,
            simd,
            cycles,
            products + drain.multipliers,
            beat_cycles=drain.beat_cycles,
            drain_lanes=drain.lanes,
            products=products,
            weight_bits=bits,
            shared_pairs=shared_pairs,
        )

    @cached_property
    def weight_bits(self) -> int:
        """Width of the weights."""
        return weight_bits(self.weights)

    def drains(self, results: int, group: int) -> list[Drain]:
        """Return the requantizers to choose from for ``results`` results in ``group`` cycles.

        The cheapest one, and the cheapest without multipliers if that is another. The list can be
        empty only if ``results`` does not divide the outputs.
        """
        outputs = len(self.weights)
        all_drains = []
        rest = outputs if outputs % results else 0
        for beat_cycles, multipliers in lane_multipliers(self.parts).items():
            lanes = drain_lanes(results, group, beat_cycles, rest)
            if lanes is not None:
                all_drains.append(Drain(lanes, beat_cycles, lanes * multipliers))
        serial = [drain for drain in all_drains if not drain.multipliers]
        cheapest_drains = [min(drains, key=_order) for drains in (all_drains, serial) if drains]
        return (
            cheapest_drains[:1]
            if cheapest_drains and cheapest_drains[0] is cheapest_drains[-1]
            else cheapest_drains
        )

    def requantize(self, fold: Fold) -> Requantize:
        """Return the requantizer after the accumulators."""
        return requantizer(
            self.attributes,
            len(self.weights),
            fold.drain_lanes,
            self.ranges.out_bits,
            beat_cycles=fold.beat_cycles,
        )

    def _drain(self, fold: Fold) -> Requantize:
        """Return a requantizer like that after the accumulators, to read its cost."""
        key = fold.drain_lanes, fold.beat_cycles
        if key not in self._requantizers:
            self._requantizers[key] = self.requantize(fold)
        return self._requantizers[key]

    def accumulators(self, array: MultiplierArray, terms: int, beat_cycles: int) -> Logic:
        """Return the logic of the accumulators after an array."""
        key = array.pe, array.simd, beat_cycles
        if key not in self._accumulators:
            shape = len(self.weights), terms
            cell = matrix_accumulator(shape, array, self.ranges, self.bias, beat_cycles)
            self._accumulators[key] = cell.logic
        return self._accumulators[key]


@dataclass(frozen=True, slots=True)
class Drain:
    """Output of results from a folded unit.

    Attributes:
        lanes: Results in a beat.
        beat_cycles: Cycles of the requantizer for a beat.
        multipliers: Its DSP slices.
    """

    lanes: int
    beat_cycles: int
    multipliers: int


def _order(drain: Drain) -> tuple[int, ...]:
    """Return a sort key, cheapest first: without multipliers if that costs no more.

    A lane that multiplies by adding uses about the same share of a device's LUTs as a multiplier
    of its DSP slices.
    """
    cost = drain.multipliers or drain.lanes
    return cost, drain.multipliers, drain.lanes, -drain.beat_cycles


class Matrix(WeightedPlan):
    """A convolution or dense layer in which every output needs every channel."""

    def __init__(
        self, node: Node, op: QConv2d | QDense, image: Image, window: Window, weights: Integers
    ) -> None:
        super().__init__(node, op)
        self.weights = weights
        one_by_one = window.kernel == window.stride == (1, 1) and not window.is_padded
        if one_by_one:
            # Every pixel is an image of its own: a line buffer of two pixels is enough.
            image = Image(image.count * image.height * image.width, 1, 1, image.channels)
        self.pixelwise = one_by_one
        self.image, self.window = image, window

    @cached_property
    def memories(self) -> WeightMemories:
        """The memories of the weights, for any folding."""
        return WeightMemories(self.weights)

    def folds(self) -> list[Fold]:
        """Return foldings by ``pe`` (not always a divisor of the outputs) and divisors of channels.

        Of the values of ``pe`` with the same number of groups, the minimum whose results can be
        drained. If the window is small, ``simd`` may also be a divisor of all its terms.
        """
        outputs, terms = self.weights.shape
        geometry = self.image.geometry(self.window, self.image.channels)
        pixels = geometry.out_height * geometry.out_width
        folds = []
        for simd in divisors(self.image.channels):
            group = terms // simd
            frame = geometry.words * self.image.channels // simd
            for pe, groups, drain in self._drained(outputs, group, simd):
                cycles = self.image.count * max(pixels * group * groups, frame)
                folds.append(self._folded_matrix(pe, simd, cycles, drain))
        return folds + self._whole_folds()

    def _folded_matrix(self, pe: int, simd: int, cycles: int, drain: Drain) -> Fold:
        pairs = packed_pairs(Packing.SHARED_OPERAND, pe, simd)
        return self.folded(pe, simd, pe * simd, cycles, drain, pairs)

    def _drained(self, outputs: int, group: int, simd: int) -> Iterator[tuple[int, int, Drain]]:
        """Yield ``pe``, the number of groups, and a requantizer that keeps up.

        Of the values of ``pe`` with the same number of groups, the minimum that can be drained, and
        a larger one if its requantizer saves more multipliers than it adds.
        """
        best: dict[int, tuple[int, int]] = {}
        for pe in range(1, outputs + 1):
            groups = -(-outputs // pe)
            minimum, fewest = best.get(groups, (pe, 0))
            if pe - minimum > MAX_EXTRA_RESULTS:
                continue
            drains = self.drains(pe, group)
            total = min((pe * simd + d.multipliers for d in drains), default=0)
            if drains and (groups not in best or total < fewest):
                best[groups] = minimum, total
                yield from ((pe, groups, drain) for drain in drains)

    def _whole_folds(self) -> list[Fold]:
        """Return the foldings that are possible only with the window in registers."""
        whole = None if self.pixelwise else whole_window(self.image, self.window)
        if whole is None:
            return []
        outputs, terms = self.weights.shape
        return [
            self._folded_matrix(
                pe,
                simd,
                self.image.count * whole.cycles_per_frame(terms // simd * groups),
                drain,
            )
            for simd in divisors(terms)
            if self.image.channels % simd
            for pe, groups, drain in self._drained(outputs, terms // simd, simd)
        ]

    def logic(self, fold: Fold) -> Logic:
        """See the base."""
        terms = self.weights.shape[1]
        array = MultiplierArray.of(fold.pe, fold.simd, self.weight_bits, fold.logic, fold.packing)
        roms = self.memories.sizes(fold.pe, fold.simd, array.packing, fold.store)
        return total([
            self._front_logic(fold),
            matrix_logic(array, roms),
            self.accumulators(array, terms, fold.beat_cycles),
            self._drain(fold).logic,
        ])  # fmt: skip

    def _front_logic(self, fold: Fold) -> Logic:
        """Return the logic before the array: memoised by words and repetitions."""
        key = fold.simd, self._repeat(fold)
        if key not in self._windows:
            self._windows[key] = total(cell.logic for cell in self._front(fold).values())
        return self._windows[key]

    def _repeat(self, fold: Fold) -> int:
        """Return the number of times that the terms of a result are sent."""
        return -(-len(self.weights) // fold.pe)

    def _front(self, fold: Fold) -> dict[str, Cell]:
        """Return the cells before the array: a window, unless it would be the identity."""
        repeat = self._repeat(fold)
        if self.pixelwise and repeat == 1:
            return {}
        pad_value = self.attributes.x_zero_point
        if self.image.channels % fold.simd:
            return whole_front(self.image, self.window, fold.simd, pad_value, repeat)
        window = window_cell(
            self.image,
            self.window,
            lanes=fold.simd,
            pad_value=pad_value,
            repeat=repeat,
            order="dense",
        )
        return {"window": window}

    def build(self, fold: Fold) -> LayerHardware:
        """Return window (if needed), matrix-vector unit and requantizer."""
        _ = self.ranges
        matrix = MatrixVector(
            self.weights,
            self.bias,
            pe=fold.pe,
            simd=fold.simd,
            beat_cycles=fold.beat_cycles,
            logic=fold.logic,
            store=fold.store,
            packing=fold.packing,
        )
        front = self._front(fold)
        cells: dict[str, Cell] = {"matrix": matrix, "requantize": self.requantize(fold)}
        if not front:
            beats = self.image.count * matrix.group
            return LayerHardware(Chain(cells), fold, beats, pipeline_hold([*cells.values()], beats))
        if self.image.channels % fold.simd:
            return whole_windowed(front, cells, fold, self.image, self.window)
        return windowed({**front, **cells}, fold, self.image)


class DepthwiseConvolution(WeightedPlan):
    """A convolution in which every output needs one channel."""

    def __init__(self, node: Node, op: QConv2d, image: Image) -> None:
        super().__init__(node, op)
        self.image, self.window = image, op.window

    def folds(self) -> list[Fold]:
        """Return all divisors of the channels."""
        geometry = self.image.geometry(self.window, self.image.channels)
        pixels = geometry.out_height * geometry.out_width
        multiplier = len(self.weights) // self.image.channels
        folds = []
        for pe in divisors(self.image.channels):
            blocks = self.image.channels // pe
            cycles = self.image.count * blocks * max(pixels * geometry.taps, geometry.words)
            folds += [
                self.folded(pe, 1, pe * multiplier, cycles, drain)
                for drain in self.drains(pe * multiplier, geometry.taps)
            ]
        return folds

    @cached_property
    def memories(self) -> WeightMemories:
        """The memory of the weights, for any folding."""
        return WeightMemories(self.weights.reshape(len(self.weights), -1), split=False)

    def logic(self, fold: Fold) -> Logic:
        """See the base."""
        products = fold.pe * len(self.weights) // self.image.channels
        array = depthwise_array(products, self.weight_bits, fold.logic, fold.packing)
        roms = self.memories.sizes(products, 1, array.packing, fold.store)
        key = fold.pe, 1
        if key not in self._windows:
            self._windows[key] = self._window(fold).logic
        return total([
            self._windows[key],
            depthwise_logic(array, roms, fold.pe),
            self.accumulators(array, self.window.taps, fold.beat_cycles),
            self._drain(fold).logic,
        ])  # fmt: skip

    def _window(self, fold: Fold) -> WindowGenerator:
        """Return the window generator before the unit."""
        return window_cell(
            self.image,
            self.window,
            lanes=fold.pe,
            pad_value=self.attributes.x_zero_point,
            repeat=1,
            order="channelwise",
        )

    def build(self, fold: Fold) -> LayerHardware:
        """Return window, depthwise unit and requantizer."""
        _ = self.ranges
        unit = Depthwise(
            self.weights.reshape(len(self.weights), -1),
            self.bias,
            channels=self.image.channels,
            pe=fold.pe,
            beat_cycles=fold.beat_cycles,
            logic=fold.logic,
            store=fold.store,
            packing=fold.packing,
        )
        window = self._window(fold)
        cells = {"window": window, "depthwise": unit, "requantize": self.requantize(fold)}
        return windowed(cells, fold, self.image)


def requantizer(
    op: Any,  # noqa: ANN401
    channels: int,
    lanes: int,
    bits: int,
    *,
    beat_cycles: int = 1,
) -> Requantize:
    """Return the requantizer of an op with ``rescale``, ``zero_point``, ``low`` and ``high``."""
    rescale: Rescale = op.rescale
    return Requantize(
        channels=channels,
        lanes=lanes,
        acc_width=bits,
        multiplier=rescale.multiplier,
        shift=rescale.shift,
        zero_point=op.zero_point,
        low=op.low,
        high=op.high,
        rounding=rescale.rounding.value,
        beat_cycles=beat_cycles,
    )
