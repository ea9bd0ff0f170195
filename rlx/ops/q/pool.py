"""Pooling on integers. Input and result share scale and zero point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rlx.ir import Along, DType, Op, TensorType, Traits
from rlx.ops.q.common import CODE_RANGE, check_activation, check_clamp
from rlx.ops.q.prepared.pool import combine_windows
from rlx.ops.q.window import Window, image_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.ir import Array
    from rlx.ir.op import Evaluator

# Sums of fewer values than this, with half the count added, stay within int16.
_MAX_INT16_TAPS = 255
"""Taps of a window whose sum of int8 values fits int16: 255 * 128 is less than 2^15."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _QPool(Op):
    """Base of both pools: operand ``x`` [N, H, W, C], result [N, OH, OW, C], int8 or int16."""

    traits: ClassVar[Traits] = Traits(channelwise=True, clamps=True, along=Along.IMAGE)
    window: Window
    low: int = -128
    high: int = 127

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return [N, OH, OW, C] with the input's element type and quantization."""
        (x,) = operands
        check_activation(self, "input", x)
        channels, (height, width) = self.window.check(self, x)
        if self.window.sees_nothing(image_size(self, x)[:2]):
            rows, columns = self.window.kernel
            raise self.refuse(
                f"a window of {rows}x{columns} taps with padding {self.window.padding}"
                f" sees nothing of {x}"
            )
        check_clamp(self, self.low, self.high, x.dtype)
        return (x.with_shape((x.shape[0], height, width, channels)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class QAveragePool2d(_QPool):
    """Average over each window, padding not counted, rounded half away from zero, clamped.

    Operand: ``x`` int8|int16[N, H, W, C]. Result: [N, OH, OW, C] of the same type.

    Attributes:
        window: Kernel, stride, dilation and padding.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_integer_ops::AveragePool``.
    """

    name: ClassVar[str] = "q.avg_pool2d"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the quantized averages."""
        (x,) = operands
        return (self._averages(x, self.window.patches(x, 0).sum(axis=(3, 4), dtype=np.int64)),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that sums one axis after the other."""
        del constants
        narrow: type[np.signedinteger[Any]] = (
            np.int16 if self.window.taps <= _MAX_INT16_TAPS else np.int32
        )

        def evaluate(*operands: Array) -> tuple[Array, ...]:
            (x,) = operands
            dtype = narrow if x.dtype.itemsize == 1 else np.int64
            sums = combine_windows(np.add, self.window, self.window.padded(x, 0, dtype))
            return (self._averages(x, sums),)

        return evaluate

    def _averages(self, x: Array, sums: npt.NDArray[np.integer]) -> Array:
        """Return the quantized averages of windows of ``x`` with these sums."""
        rows, columns = self.window.taps_inside((x.shape[1], x.shape[2]))
        counts = np.outer(rows, columns)[:, :, np.newaxis]
        # Half away from zero by a division that truncates: move away from zero by n // 2 first.
        magnitude = (np.abs(sums) + counts // 2) // counts
        rounded = np.where(sums >= 0, magnitude, -magnitude)
        return np.asarray(np.clip(rounded, self.low, self.high), x.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class QMaxPool2d(_QPool):
    """Maximum of each window, padding not counted, clamped.

    Operand: ``x`` int8|int16[N, H, W, C]. Result: [N, OH, OW, C] of the same type.

    Attributes:
        window: Kernel, stride, dilation and padding.
        low: Minimum of the result.
        high: Maximum of the result.

    Source: tflite-micro ``reference_integer_ops::MaxPool``.
    """

    name: ClassVar[str] = "q.max_pool2d"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the maxima."""
        (x,) = operands
        largest = self.window.patches(x, _minimum(x)).max(axis=(3, 4))
        return (np.asarray(np.clip(largest, self.low, self.high), x.dtype),)

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return the form that compares one axis after the other."""
        del constants

        def evaluate(*operands: Array) -> tuple[Array, ...]:
            (x,) = operands
            padded = self.window.padded(x, _minimum(x), x.dtype)
            largest: npt.NDArray[Any] = combine_windows(np.maximum, self.window, padded)
            low, high = np.asarray((self.low, self.high), x.dtype)
            return (np.clip(largest, low, high, out=largest),)

        return evaluate


def _minimum(x: Array) -> int:
    """Return the smallest value of the element type of ``x``."""
    return CODE_RANGE[DType.of(x)][0]
