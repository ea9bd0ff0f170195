"""Pools and functions of quantized values, rounded as ONNX Runtime's kernels round.

Tests: tests/unit/ops/nn/test_quantized.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, QuantParams, TensorType
from rlx.ops import real
from rlx.ops.nn.layout import Layout
from rlx.ops.nn.pool import NnAveragePool
from rlx.ops.nn.quantized import NnQuantized, float_scales
from rlx.ops.nn.softmax import NnSoftmax
from rlx.ops.quantized_values import centred, constant_beside, meant, plain_integers
from rlx.ops.real import RealDequantize, SpatialWindow, Ties
from rlx.ops.real.cast import integer_range
from rlx.ops.shapes import normalize_axis

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Value
    from rlx.ops.expression import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedAveragePool(NnQuantized):
    """Mean of each window of a quantized image.

    Where the kernel is as large as the image the sum is scaled once, and the zero point added after
    the rounding; else real values are averaged, and it is added before.

    Operand: ``x`` int8 or uint8. Result: an image of the same number of channels.

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of the image.
        window: Kernel, stride, dilation and padding.
        layout: Order of the image's axes.
        count_padding: Whether padding counts as zeros; else the mean is over the image only.

    Source: com.microsoft ``QLinearAveragePool``, ``QLinearGlobalAveragePool``.
    """

    name: ClassVar[str] = "nn.quantized_average_pool"
    x_quant: QuantParams
    window: SpatialWindow
    layout: Layout = Layout.CHANNELS_LAST
    count_padding: bool = False

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the window fits the image."""
        (x,) = operands
        self.check_operand(x, self.x_quant)
        self._pool().check(TensorType(x.shape, DType.F32))

    def _pool(self) -> NnAveragePool:
        return NnAveragePool(
            window=self.window, layout=self.layout, count_padding=self.count_padding
        )

    def _whole(self, x: TensorType) -> tuple[int, ...]:
        """Return the spatial axes if the kernel is as large as the image, else nothing."""
        first = 2 if self.layout is Layout.CHANNELS_FIRST else 1
        axes = tuple(range(first, first + self.window.rank))
        same = tuple(x.shape[a] for a in axes) == self.window.kernel
        return axes if same and not self.window.is_padded else ()

    def ties(self, *operands: Value) -> Ties:
        """Return the rounding of halves before the zero point is added."""
        whole = self._whole(operands[0].type)
        return Ties.EVEN if whole else self.ties_of_sum()

    def expand(self, *operands: Expression) -> Expression:
        """Return the means."""
        (x,) = operands
        axes, scale = self._whole(x.type), float_scales(self.quant)
        if not axes:
            means = meant(x, self.x_quant).apply(self._pool())
            return self.saturated(means / constant_beside(means, scale), point_first=True)
        total = centred(x, self.x_quant, DType.I32).sum(*axes, keep_dims=True)
        count = np.float32(np.prod(self.window.kernel))
        factor = float_scales(self.x_quant) / (scale * count)
        return self.saturated(total.cast(DType.F32) * constant_beside(total, factor))

    def meaning(self, *operands: Expression) -> Expression:
        """Return the means of the real values."""
        numbers, axes = meant(operands[0], self.x_quant), self._whole(operands[0].type)
        return numbers.mean(*axes, keep_dims=True) if axes else numbers.apply(self._pool())


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedSoftmax(NnQuantized):
    """Softmax of quantized values along an axis, from a table of 256 exponentials.

    The result's scale counts as 1 over an integer, the next one below its reciprocal. An overflow
    saturates (one element, or a scale far below 1/256).

    Operand: ``x`` int8 or uint8 [*]. Result: [*] of ``dtype``.

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of ``x``.
        axis: The axis; negative counts from the end.

    Source: com.microsoft ``QLinearSoftmax``.
    """

    name: ClassVar[str] = "nn.quantized_softmax"
    x_quant: QuantParams
    axis: int = -1

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operand has the axis, of a size that is known."""
        (x,) = operands
        self.check_operand(x, self.x_quant)
        size = x.shape[normalize_axis(self, self.axis, x.rank)]
        if not isinstance(size, int) or size < 1:
            raise self.refuse(f"expected an axis of known size, got {x}")

    def expand(self, *operands: Expression) -> Expression:
        """Return the shares."""
        (x,) = operands
        axis = self.axis % x.ndim
        values = plain_integers(x).cast(DType.I32)
        indices = values - values.max(axis, keep_dims=True) + 255
        count = x.type.with_shape(x.shape[axis : axis + 1]).size
        exponentials = constant_beside(x, self._table(count)).gather(indices)
        sums = exponentials.apply(real.RealCumsum(axis=axis))  # from left to right
        last = (*(slice(None),) * axis, slice(-1, None))
        steps = np.floor(np.float32(1) / float_scales(self.quant))
        return self.saturated(exponentials * float(steps) / sums[last])

    def _table(self, count: int) -> npt.NDArray[np.float32]:
        """Return the exponential of each difference, as large as ``count`` of them may be."""
        # A sum of this number of exponentials must stay finite in float32, with exp(5) as reserve.
        largest = np.finfo(np.float32).max / np.float32(count)
        shift = np.float64(np.log(largest, dtype=np.float32) - np.float32(5))
        steps = np.arange(-255, 1) * np.float64(float_scales(self.x_quant))
        return np.exp(steps + shift).astype(np.float32)

    def meaning(self, *operands: Expression) -> Expression:
        """Return the softmax of the real values."""
        return meant(operands[0], self.x_quant).apply(NnSoftmax(axis=self.axis))


_NUMERATOR = (4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05,
              8.51377133304701e-03, 2.48287947061529e-01)  # fmt: skip
_DENOMINATOR = (6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06,
                1.70198817374094e-03, 1.16817656904453e-01, 9.93151921023180e-01)  # fmt: skip
"""Polynomials of x^2 in ONNX Runtime's logistic function (``mlas/lib/logistic.cpp``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedSigmoid(NnQuantized):
    """Sigmoid of quantized values: a table, of the rational function that ONNX Runtime has.

    Operand: ``x`` int8 or uint8 [*]. Result: [*] of ``dtype``.

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of ``x``.

    Source: com.microsoft ``QLinearSigmoid``.
    """

    name: ClassVar[str] = "nn.quantized_sigmoid"
    x_quant: QuantParams

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operand holds quantized values of one scale."""
        self.check_operand(operands[0], self.x_quant)
        if self.x_quant.axis is not None:
            raise self.refuse("takes one scale for each tensor")

    def expand(self, *operands: Expression) -> Expression:
        """Return the entries of the table."""
        (x,) = operands
        low, high = integer_range(x.dtype)
        (numbers,) = RealDequantize(quant=self.x_quant).evaluate(np.arange(low, high + 1))
        steps = _logistic(np.asarray(numbers, np.float32)) / float_scales(self.quant)
        values = np.rint(steps) + np.float32(self.quant.zero_point[0])
        table = constant_beside(x, np.clip(values, *integer_range(self.dtype)))
        return table.gather(plain_integers(x).cast(DType.I32) - low)

    def meaning(self, *operands: Expression) -> Expression:
        """Return the sigmoid of the real values."""
        return meant(operands[0], self.x_quant).sigmoid()


def _logistic(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the sigmoid as ONNX Runtime computes it, with fused multiply-add."""
    clipped = np.clip(x, np.float32(-18), np.float32(18))
    square = (clipped * clipped).astype(np.float64)

    def polynomial(factors: tuple[float, ...]) -> npt.NDArray[np.float32]:
        total = np.full(x.shape, factors[0], np.float32)
        for factor in factors[1:]:
            total = (total * square + np.float64(np.float32(factor))).astype(np.float32)
        return total

    ratio = polynomial(_NUMERATOR) * clipped / polynomial(_DENOMINATOR)
    limited: npt.NDArray[np.float32] = np.clip(ratio + np.float32(0.5), 0, 1)
    return limited
