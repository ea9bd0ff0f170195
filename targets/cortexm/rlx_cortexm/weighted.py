"""Shared parts of layers with weights: tables and constants of their results.

Tests: tests/targets/cortexm/test_forced.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from rlx.ops.q import Linear, QDense
from rlx.targets.operands import constant_operand, unsupported
from rlx_c.layer import ConstantTable
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.narrow import WHOLE_BITS, can_pack, pack_narrow
from rlx_cortexm.packing import pack_rows
from rlx_cortexm.scaling import (
    INT32_BOUND,
    AccumulatorScaling,
    fold_offset,
    level,
    output_constants,
    scaling,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from rlx.ir import Array, Node
    from rlx.ops.numerics.fixed_point import Int64
    from rlx.ops.q import QConv2d
    from rlx_cortexm.core import CortexCore

WEIGHT_LIMIT: Final = (1 << 15) - 1
"""Bound on a weight of 16 bits."""

REQUANTIZE: Final = 14
"""Instructions to scale a sum by the usual function, clamp and store it."""

MORE_REQUANTIZE: Final = {
    "requantize_wide": (6, 16),
    "requantize_single": (8, 17),
    "requantize_even": (12, 34),
    "requantize_odd": (12, 34),
    "requantize_float32": (8, 10),
    "requantize_float32_wide": (325, 325),
}
"""Additional instructions to scale a sum by other functions, on a core with DSP extension: with one
factor for all channels, and with factors of their own."""

WIDE_POSITIVE: Final = 5
"""Instructions per sum that ``requantize_wide`` saves where the lower bound is the zero point."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedLayer:
    """Weights, bias and scaling of a convolution or dense layer.

    Attributes:
        weights: int8 values (narrower types widened), output channels first.
        bias: One for each output channel, the operand's zero point folded in unless ``centred``.
        bounds: Maximum magnitude of each output channel's partial sums.
        scaling: Scaling of accumulators to int8 values.
        output: Bounds and zero point of the result, for the templates.
        bits: Stored bits of a weight.
    """

    weights: Array
    bias: Int64
    bounds: Int64
    scaling: AccumulatorScaling
    output: dict[str, Hashable]
    bits: int = WHOLE_BITS

    @staticmethod
    def of(node: Node, *, centred: bool = False) -> WeightedLayer:
        """Read the constants of ``node``.

        Args:
            node: A convolution or dense layer with operands input, weights, bias.
            centred: The kernel subtracts the zero point from every input.

        Raises:
            UnsupportedOpError: They are not constants, or a sum could leave int32.
        """
        op = cast("QConv2d | QDense", node.op)
        weights = constant_operand(node, 1, "weights").astype(np.int8)
        bias = constant_operand(node, 2, "bias")
        linear = Linear.of(op, weights, bias)
        bounds = linear.bounds(folded=not centred)
        bound = int(bounds.max(initial=0))
        if bound >= INT32_BOUND:
            raise unsupported(node, f"a sum may reach {bound}, beyond the int32 accumulator")
        output = output_constants(op.low, op.high, op.zero_point)
        own_bias = linear.unfolded_bias if centred else linear.bias
        return WeightedLayer(weights, own_bias, bounds, scaling(op.rescale, bound), output)

    @staticmethod
    def narrow_of(node: Node) -> WeightedLayer | None:
        """Return the result of :meth:`of` with weights packed in the bits of their type.

        None for int8 weights, and where a scaled sum could leave int32.
        """
        whole, bits = WeightedLayer.of(node), node.operands[1].type.dtype.bits
        return replace(whole, bits=bits) if can_pack(whole.weights, bits) else None

    def packed(self, weights: Array) -> Array:
        """Return weights [O, S, K] in the order in which the dot products read them."""
        return pack_rows(weights) if self.bits == WHOLE_BITS else pack_narrow(weights, self.bits)

    def folded(self) -> WeightedLayer:
        """Return the same with a scaling that adds half and zero point in one addition if it can.

        Not for ``centred`` ones.
        """
        zero_point = int(cast("int", self.output["zero_point"]))
        return replace(self, scaling=fold_offset(self.scaling, self.bounds, zero_point))

    def level(self, max_places: int | Int64 = 16) -> WeightedLayer:
        """Return the same with one shift for all channels, or the result of :meth:`folded`.

        Not for ``centred`` ones.

        Args:
            max_places: Maximum places by which each channel's accumulators may be pre-scaled.
        """
        own = self.folded()
        zero_point = int(cast("int", self.output["zero_point"]))
        return replace(own, scaling=level(own.scaling, self.bounds, zero_point, max_places))

    def for_larger_sums(self, bits: int) -> WeightedLayer | None:
        """Return the result of :meth:`level` for kernels that keep sums ``2^bits`` times as large.

        With one shift for all channels, each is pre-scaled by at least ``bits`` places. None if a
        sum could leave int32.
        """
        if int(self.bounds.max(initial=0)) << bits >= INT32_BOUND:
            return None
        layer = self.level() if self.pays_level else self.folded()
        if not layer.scaling.is_level:
            return layer
        shift = np.array(layer.scaling.shift)
        if not layer.scaling.to_parity and layer.scaling.common_shift >= bits:
            # The product with a factor of zero is zero for any shift.
            is_unused = np.array(layer.scaling.multiplier) == 0
            shift = np.where(is_unused, np.maximum(shift, bits), shift)
        if shift.min() < bits:
            return self.folded()
        return replace(layer, scaling=replace(layer.scaling, shift=tuple(map(int, shift))))

    def level_in_16_bits(self) -> WeightedLayer:
        """Return the same with a scaling whose factors fit in 16-bit weights."""
        by_channel = self.weights.reshape(len(self.weights), -1).astype(np.int64)
        # -128 times 2^8 is the minimum of 16 bits.
        most = np.abs(by_channel).max(axis=1).clip(1, 127)
        places = np.floor(np.log2(WEIGHT_LIMIT / most)).astype(np.int64)
        return self.level(places if self.scaling.per_channel else places.min(keepdims=True))

    @property
    def factors(self) -> Int64:
        """Factors of the sums of each channel before they are scaled."""
        twice = int(self.scaling.function == "requantize_folded")
        places = self.scaling.shift if self.scaling.is_level else (twice,)
        factors: Int64 = 1 << np.resize(np.array(places, np.int64), len(self.bias))
        return factors

    @property
    def turns_positive(self) -> bool:
        """Whether every negative result becomes the zero point or more, as with a ReLU."""
        return cast("int", self.output["low"]) >= cast("int", self.output["zero_point"])

    @property
    def pays_level(self) -> bool:
        """Whether one shift for all channels may save instructions.

        Not where halves of negative values need a correction, as with two roundings.
        """
        return self.turns_positive or not self.scaling.rounds_twice

    @property
    def constants(self) -> dict[str, Hashable]:
        """Constants of the scaling and the result, for the templates."""
        return {
            "requantize": self.scaling.function,
            "per_channel": self.scaling.per_channel,
            **self.output,
        }

    @property
    def support(self) -> tuple[str, ...]:
        """The shared C functions for scaling."""
        return (self.scaling.function, *(("channel",) if self.scaling.per_channel else ()))

    @property
    def arguments(self) -> tuple[int, ...]:
        """Multiplier and shift, where one pair serves all channels."""
        if self.scaling.per_channel:
            return ()
        return (self.scaling.multiplier[0], self.scaling.shift[0])

    @property
    def channel_bytes(self) -> int:
        """Bytes of the table in addition to the weights: of channels or biases."""
        return len(self.bias) * (12 if self.scaling.per_channel else 4)

    def tables(self, packed: Array, note: str) -> tuple[ConstantTable, ...]:
        """Return the tables: ``packed`` weights, then channels or biases."""
        return (self.table(packed, note), self._channels())

    @staticmethod
    def table(packed: Array, note: str) -> ConstantTable:
        """Return the table of ``packed`` weights."""
        return ConstantTable("weights", "int8_t", packed, note)

    def _channels(self) -> ConstantTable:
        if not self.scaling.per_channel:
            return ConstantTable("bias", "int32_t", self.bias, "bias of each output channel")
        columns = (self.bias, np.array(self.scaling.multiplier), np.array(self.scaling.shift))
        return ConstantTable(
            "channels",
            "channel",
            np.stack(columns, axis=1),
            "bias, multiplier and shift of each output channel",
        )


def more_scaling(node: Node, core: CortexCore) -> int:
    """Return the instructions to scale all sums of a node beyond those of the usual function.

    For kernels that scale sum by sum. Without DSP extension all functions cost about the same.
    """
    return more_per_sum(node) * math.prod(node.types[0].static_shape) if core.pairs else 0


def more_per_sum(node: Node) -> int:
    """Return the additional instructions per sum on a core with DSP extension."""
    weighted = WeightedLayer.of(node)
    function, per_channel = weighted.scaling.function, weighted.scaling.per_channel
    more = MORE_REQUANTIZE.get(function, (0, 0))[per_channel]
    if function == "requantize_wide" and weighted.turns_positive:
        more -= WIDE_POSITIVE
    return more


class MatrixRows(NamedTuple):
    """Multiplication of rows of values by all weights.

    Attributes:
        rows: Number of rows.
        kind: Name of its function: ``dense`` or ``pointwise``.
    """

    rows: int
    kind: str


def rows_of(node: Node) -> MatrixRows | None:
    """Return the rows of a node that multiplies such; None for other convolutions.

    A convolution does where every window is a run of values and windows follow each other without
    gaps.
    """
    if isinstance(node.op, QDense):
        return MatrixRows(math.prod(node.operands[0].type.static_shape[:-1]), "dense")
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    pointwise = op.window.taps == 1 and op.window.stride == (1, 1)
    whole = op.window.kernel == (image.in_h, image.in_w) and op.window.dilation == (1, 1)
    if op.groups == 1 and not op.window.is_padded and (pointwise or whole):
        return MatrixRows(image.windows, "pointwise")
    return None
