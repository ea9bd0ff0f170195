"""Layers on quantized values, rounded as ONNX Runtime's kernels round.

Each has two forms. Its decomposition computes the very integers of ONNX Runtime. Its meaning is the
same layer between ``real.dequantize`` and ``real.quantize``, from which integer ops are made
(``rlx.passes.quantize``); at a rounding half the two may be one step apart. Layers with weights
have integer ops of their own, which compute the integers of ONNX Runtime.

Source: onnxruntime ``contrib_ops/cpu/quantization`` and ``core/mlas/lib`` (``qladd.cpp``,
``qlmul.cpp``, ``qlgavgpool.cpp``, ``quantize.cpp``).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rlx.ir import DType, QuantParams, TensorType
from rlx.ir.dims import product
from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.ops.nn.base import NnOp
from rlx.ops.nn.conv import NnConv
from rlx.ops.nn.layout import Layout
from rlx.ops.nn.linear import NnLinear
from rlx.ops.quantized_values import centred, constant_beside, meant, plain_integers
from rlx.ops.real import RealDequantize, RealQuantize, SpatialWindow, Ties
from rlx.ops.real.cast import integer_range
from rlx.ops.shapes import broadcast_shapes

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Graph, Value

# Integers up to here are exact in float32.
_MAX_EXACT_FLOAT32 = 1 << 24
"""Magnitude up to which float32, with a significand of 24 bits, holds every integer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantized(NnOp):
    """A layer of which operands and result hold quantized values of 8 bits.

    Attributes:
        quant: Quantization parameters of the result; one scale.
        dtype: Element type of the result.
    """

    quant: QuantParams
    dtype: DType = DType.I8

    @abstractmethod
    def meaning(self, *operands: Expression) -> Expression:
        """Return the layer on the real values that the operands represent."""

    def operand_quant(self, index: int) -> QuantParams | None:
        """Return the quantization parameters of an operand; None of a bias."""
        names = ("x_quant", "w_quant" if hasattr(self, "w_quant") else "y_quant")
        return getattr(self, names[index]) if index < len(names) else None

    def decompose(self, graph: Graph, *operands: Value) -> tuple[Value, ...]:
        """Append the decomposition; the formula has values saturated as float32."""
        steps = self.expand(*(Expression(graph, o) for o in operands))
        assert isinstance(steps, Expression)
        return (graph.apply(real.RealCast(dtype=self.dtype), steps.value, quant=self.quant),)

    def decompose_meaning(self, graph: Graph, *operands: Value) -> Value:
        """Append the meaning, quantized; return its result."""
        numbers = self.meaning(*(Expression(graph, o) for o in operands))
        op = RealQuantize(quant=self.quant, dtype=self.dtype, ties=self.ties(*operands))
        return numbers.apply(op).value

    def ties(self, *operands: Value) -> Ties:
        """Return the rounding of halves before the zero point is added."""
        del operands
        return Ties.EVEN

    def ties_of_sum(self) -> Ties:
        """Return the rounding of halves if the zero point is added before rounding to even."""
        return Ties.ODD if self.quant.zero_point[0] % 2 else Ties.EVEN

    def check_operand(self, x: TensorType, quant: QuantParams) -> None:
        """Raise ShapeError unless a type holds quantized values that fit ``quant``."""
        if x.dtype not in (DType.I8, DType.U8) or x.quant not in (None, quant):
            raise self.refuse(f"expected int8 or uint8 values of {quant}, got {x}")
        RealDequantize(quant=quant).infer(x)

    def saturated(self, steps: Expression, *, point_first: bool = False) -> Expression:
        """Return steps rounded, halves to even, with the zero point added, as float32.

        Args:
            steps: float32.
            point_first: Whether the zero point is added before the rounding.
        """
        point = float(self.quant.zero_point[0])
        low, high = integer_range(self.dtype)
        whole = (steps + point).apply(real.RealRound()) if point_first else (
            steps.apply(real.RealRound()) + point
        )  # fmt: skip
        return whole.maximum(float(low)).minimum(float(high))


def float_scales(quant: QuantParams) -> npt.NDArray[np.float32]:
    """Return scales as float32; one without an axis has no dimensions."""
    scales = np.array(quant.scale, np.float32)
    return scales.reshape(()) if quant.axis is None else scales


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighted(NnQuantized):
    """Base class of layers with weights: ``rint(f32(sum) * f32(f32(xs * ws) / ys)) + yz``."""

    operand_count: ClassVar[int | tuple[int, int | None]] = (2, 3)
    x_quant: QuantParams
    w_quant: QuantParams
    alpha: float = 1.0

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless weights and bias fit."""
        x, w, *bias = operands
        self.check_operand(x, self.x_quant)
        self.check_operand(w, self.w_quant)
        if self.w_quant.axis not in (None, 0):
            raise self.refuse("scales of weights need axis 0, that of the output channels")
        for type_ in bias:
            if type_.dtype is not DType.I32 or type_.shape != w.shape[:1]:
                raise self.refuse(f"bias must be i32[{w.shape[0]}], got {type_}")
        self.layer().infer(*(TensorType(t.shape, DType.F32) for t in operands))

    @abstractmethod
    def layer(self) -> NnOp:
        """Return the layer on real values."""

    def channel_axis(self, rank: int) -> int:
        """Return the axis of the result's channels."""
        return rank - 1

    def expand(self, *operands: Expression) -> Expression:
        """Return the scaled sum of products, which is exact."""
        x, w, *bias = operands
        taps = product(w.shape[1:])
        # Values less their zero point have a magnitude of up to 255.
        small = isinstance(taps, int) and taps * 255 * 255 <= _MAX_EXACT_FLOAT32
        wide = DType.F32 if small else DType.F64
        total = centred(x, self.x_quant, wide).apply(self.layer(), centred(w, self.w_quant, wide))
        behind = total.ndim - self.channel_axis(total.ndim) - 1
        for offsets in bias:
            offset = plain_integers(offsets).cast(DType.F64).reshape(*offsets.shape, *(1,) * behind)
            total = total.cast(DType.F64) + offset
        return self.saturated(total.cast(DType.F32) * self._factor(total, behind))

    def _factor(self, total: Expression, behind: int) -> Expression:
        """Return the factor of a sum; ``behind`` axes come after that of the channels."""
        # In the order of the definition: each product and quotient is rounded to float32.
        left = np.float32(self.alpha) * float_scales(self.x_quant)
        factor = left * float_scales(self.w_quant) / float_scales(self.quant)
        shape = (*factor.shape, *(1,) * behind) if factor.ndim else ()
        return constant_beside(total, np.reshape(factor, shape))

    def meaning(self, *operands: Expression) -> Expression:
        """Return the layer on real values; the bias is in steps of the sum."""
        x, w, *bias = operands
        weights = self.w_quant
        if self.alpha != 1.0:
            scales = tuple(float(np.float32(s) * np.float32(self.alpha)) for s in weights.scale)
            weights = QuantParams(scales, weights.zero_point, weights.axis)
        steps = tuple(s * self.x_quant.scale[0] for s in weights.scale)
        quant = QuantParams(steps, (0,) * len(steps), weights.axis)
        numbers = plain_integers(w).apply(RealDequantize(quant=weights))
        return meant(x, self.x_quant).apply(
            self.layer(),
            numbers,
            *(plain_integers(one).apply(RealDequantize(quant=quant)) for one in bias),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedConv(_Weighted):
    """Convolution of quantized images with quantized weights.

    Operands: image ``x`` and weights ``w``, int8 or uint8, in the order of ``layout``; ``bias``
    int32 [O] in steps of the sum (may be left out). Result: an image of O channels.

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of the image; its zero point is the padding.
        w_quant: Quantization parameters of the weights: one scale, or one for each output channel
            (axis 0).
        alpha: Factor of the result.
        window: Kernel, stride, dilation and padding.
        groups: Divides the channels of input and output.
        layout: Order of the axes of images and weights.

    Source: ONNX ``QLinearConv``.
    """

    name: ClassVar[str] = "nn.quantized_conv"
    window: SpatialWindow
    groups: int = 1
    layout: Layout = Layout.CHANNELS_LAST

    def layer(self) -> NnOp:
        """Return ``nn.conv``."""
        return NnConv(window=self.window, groups=self.groups, layout=self.layout)

    def channel_axis(self, rank: int) -> int:
        """Return the axis of the result's channels."""
        return rank - 1 if self.layout is Layout.CHANNELS_LAST else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedLinear(_Weighted):
    """Fully connected layer on quantized values.

    Operands: ``x`` int8 or uint8 [..., K], ``w`` int8 or uint8 [N, K], ``bias`` int32 [N] in steps
    of the sum (may be left out). Result: [..., N].

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of ``x``.
        w_quant: Quantization parameters of the weights: one scale, or one for each output (axis 0).
        alpha: Factor of the result.

    Source: ONNX ``QLinearMatMul``, com.microsoft ``QGemm``.
    """

    name: ClassVar[str] = "nn.quantized_linear"

    def layer(self) -> NnOp:
        """Return ``nn.linear``."""
        return NnLinear()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Binary(NnQuantized):
    """Base class of functions of two quantized tensors, whose shapes broadcast."""

    operand_count: ClassVar[int | tuple[int, int | None]] = 2
    x_quant: QuantParams
    y_quant: QuantParams

    def check(self, *operands: TensorType) -> None:
        """Raise ShapeError unless the operands fit."""
        for operand, quant in zip(operands, (self.x_quant, self.y_quant), strict=True):
            self.check_operand(operand, quant)
        if any(q.axis is not None for q in (self.x_quant, self.y_quant, self.quant)):
            raise self.refuse("takes one scale for each tensor")
        broadcast_shapes(self, *operands)

    def ties(self, *operands: Value) -> Ties:
        """Return the rounding of halves before the zero point is added."""
        del operands
        return self.ties_of_sum()


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedAdd(_Binary):
    """Sum of two quantized tensors; the zero point is added before the rounding.

    Operands: ``x``, ``y`` int8 or uint8. Result: ``dtype``, of the broadcast shape.

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of ``x``.
        y_quant: Quantization parameters of ``y``.

    Source: com.microsoft ``QLinearAdd`` on a processor with fused multiply-add.
    """

    name: ClassVar[str] = "nn.quantized_add"

    def expand(self, *operands: Expression) -> Expression:
        """Return ``fma(rx, x, fma(ry, y, fix))``; a float64 holds each product and sum."""
        x, y = (plain_integers(o).cast(DType.F64) for o in operands)
        scale = float_scales(self.quant)
        x_factor, y_factor = (
            np.float64(float_scales(q) / scale) for q in (self.x_quant, self.y_quant)
        )
        shift = np.float32(y_factor * self.y_quant.zero_point[0])
        inner = np.float32(x_factor * self.x_quant.zero_point[0] + shift)
        fix = np.float64(np.float32(self.quant.zero_point[0]) - inner)
        low = (y * float(y_factor) + float(fix)).cast(DType.F32).cast(DType.F64)
        total = (x * float(x_factor) + low).cast(DType.F32).apply(real.RealRound())
        ends = integer_range(self.dtype)
        return total.maximum(float(ends[0])).minimum(float(ends[1]))

    def meaning(self, *operands: Expression) -> Expression:
        """Return the sum of the real values."""
        return meant(operands[0], self.x_quant) + meant(operands[1], self.y_quant)


@dataclass(frozen=True, slots=True, kw_only=True)
class NnQuantizedMul(_Binary):
    """Product of two quantized tensors; the zero point is added before the rounding.

    Operands: ``x``, ``y`` int8 or uint8. Result: ``dtype``, of the broadcast shape.

    Attributes:
        quant: Quantization parameters of the result.
        dtype: Element type of the result.
        x_quant: Quantization parameters of ``x``.
        y_quant: Quantization parameters of ``y``.

    Source: com.microsoft ``QLinearMul``.
    """

    name: ClassVar[str] = "nn.quantized_mul"

    def expand(self, *operands: Expression) -> Expression:
        """Return the scaled product."""
        quants = (self.x_quant, self.y_quant)
        x, y = (centred(o, q, DType.F32) for o, q in zip(operands, quants, strict=True))
        factor = float_scales(self.x_quant) * float_scales(self.y_quant) / float_scales(self.quant)
        return self.saturated(x * y * float(factor), point_first=True)

    def meaning(self, *operands: Expression) -> Expression:
        """Return the product of the real values."""
        return meant(operands[0], self.x_quant) * meant(operands[1], self.y_quant)
