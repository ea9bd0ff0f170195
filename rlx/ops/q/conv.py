"""Convolutions on integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.numerics.products import exact_matmul
from rlx.ops.q.common import (
    check_activation,
    check_bias,
    check_clamp,
    check_layer_rescale,
    check_weights,
    check_zero_point,
    to_width,
)
from rlx.ops.q.prepared.linear import prepare_conv
from rlx.ops.q.window import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.numerics.fixed_point import Int64
    from rlx.ops.numerics.products import Int32

_BLOCK_VALUES = 1 << 20
"""Values of windows that one product reads, unless a single group has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QConv2d(Op):
    """2-D convolution (cross-correlation), grouped or depthwise, on quantized values.

    ``y = clamp(rescale(sum((x - x_zero_point) * w) + bias) + zero_point)``; padding represents real
    zero, that is ``x_zero_point``.

    Operands: ``x`` int8[N, H, W, C], ``w`` int8|int4|int2[O, KH, KW, C / groups],
    ``bias`` int32[O]. Result: int8[N, OH, OW, O]. Output channel ``o`` reads the input channels
    of group ``o // (O / groups)``; depthwise is ``groups == C``.

    ``x`` may be int16 with the zero point 0, and the result is int16 then. With a wide ``rescale``
    (:meth:`Rescale.wide`) sums and ``bias`` are int64; with one that rounds twice they are int32,
    and wrap around.

    Attributes:
        window: Kernel, stride, dilation and padding; its kernel must be that of ``w``.
        groups: Divides C and O.
        x_zero_point: Zero point of ``x``.
        rescale: From accumulator scale to result scale, one factor or one for each of O.
        zero_point: Zero point of the result.
        low: Minimum of the result (a fused activation raises it).
        high: Maximum of the result.

    Source: tflite-micro ``conv`` and ``depthwise_conv`` reference kernels, int8 and int16.
    """

    name: ClassVar[str] = "q.conv2d"
    traits: ClassVar[Traits] = Traits(clamps=True, along=Along.IMAGE)
    operand_count: ClassVar[int | tuple[int, int | None]] = 3
    window: Window
    groups: int = 1
    x_zero_point: int
    rescale: Rescale
    zero_point: int
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return [N, OH, OW, O] of the input's element type."""
        x, w, bias = operands
        check_activation(self, "input", x)
        check_weights(self, w, rank=4)
        channels, (height, width) = self.window.check(self, x)
        outputs, *kernel, inner = w.static_shape
        if tuple(kernel) != self.window.kernel:
            raise self.refuse(f"kernel {self.window.kernel} differs from that of weights {w}")
        if self.groups < 1 or channels % self.groups or outputs % self.groups:
            raise self.refuse(
                f"groups must divide {channels} input and {outputs} output channels,"
                f" got {self.groups}"
            )
        if inner * self.groups != channels:
            raise self.refuse(f"weights {w} with {self.groups} groups do not fit input {x}")
        check_bias(self, bias, outputs, wide=x.dtype is DType.I16 and self.rescale.is_wide)
        check_layer_rescale(self, self.rescale, outputs, x.dtype)
        check_zero_point(self, self.x_zero_point, self.zero_point, dtype=x.dtype)
        check_clamp(self, self.low, self.high, x.dtype)
        return (TensorType((x.shape[0], height, width, outputs), x.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized result."""
        x, w, bias = operands
        accumulator = self.accumulate(x, w, bias)
        scaled = self.rescale.apply(accumulator)
        return (to_width(scaled, self.zero_point, self.low, self.high, x),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the fast form if weights and bias are constant."""
        _, w, bias = constants
        return self.evaluate if w is None or bias is None else prepare_conv(self, w, bias)

    def accumulate(self, x: Array, w: Array, bias: Array) -> Int32 | Int64:
        """Return [N, OH, OW, O], the sums that ``evaluate`` requantizes; int64 of int16."""
        patches = self.window.patches(x, self.x_zero_point)
        batch, height, width = patches.shape[:3]
        windows, taps, inner = batch * height * width, self.window.taps, w.shape[-1]
        # [G, K, O / G]: a matrix for each group, several groups in one product.
        columns = w.reshape(self.groups, -1, taps * inner).transpose(0, 2, 1)
        biases = bias.reshape(self.groups, -1)
        dtype = np.int32 if x.dtype.itemsize == 1 else np.int64
        sums = np.empty((windows, self.groups, columns.shape[-1]), dtype)
        step = max(_BLOCK_VALUES // max(windows * taps * inner, 1), 1)
        for start in range(0, self.groups, step):
            block = slice(start, min(start + step, self.groups))
            count = block.stop - start
            rows = patches[..., start * inner : block.stop * inner]
            rows = rows.reshape(windows, taps, count, inner).transpose(2, 0, 1, 3)
            rows = rows.reshape(count, windows, taps * inner)
            product = exact_matmul(
                rows, columns[block], x_zero_point=self.x_zero_point, bias=biases[block]
            )
            sums[:, block] = product.transpose(1, 0, 2)
        return sums.reshape(batch, height, width, -1)
