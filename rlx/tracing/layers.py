"""Methods of traced tensors that append model-level ops.

Tests: tests/unit/tracing/test_graph.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rlx.ir.dims import quotient
from rlx.ops import nn
from rlx.ops.expression import Expression
from rlx.ops.nn import Layout
from rlx.ops.real import RealArgmax, RealArgmin, RealCumprod, RealCumsum, RealTopK
from rlx.ops.reductions import keeps_dimensions
from rlx.tracing.windows import window_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Dim
    from rlx.ops.expression import Operand
    from rlx.ops.reductions import AxisLike
    from rlx.tracing.windows import Pads, Steps


class Layers(Expression):
    """An expression with neural network layers as methods."""

    __slots__ = ()

    def _with(self, *operands: Operand | None) -> tuple[Self, ...]:
        """Return the operands that are expressions."""
        return tuple(self.lift(o) for o in operands if o is not None)

    def relu(self) -> Self:
        """Return max(x, 0)."""
        return self.apply(nn.NnRelu())

    def leaky_relu(self, slope: float = 0.01) -> Self:
        """Return x, or ``slope * x`` where it is negative."""
        return self.apply(nn.NnLeakyRelu(slope=slope))

    def prelu(self, slope: Operand) -> Self:
        """Return x, or ``slope * x`` where it is negative, with a tensor of slopes."""
        return self.apply(nn.NnPrelu(), *self._with(slope))

    def elu(self, alpha: float = 1.0) -> Self:
        """Return the exponential linear unit."""
        return self.apply(nn.NnElu(alpha=alpha))

    def selu(self) -> Self:
        """Return the scaled exponential linear unit."""
        return self.apply(nn.NnSelu())

    def gelu(self, *, approximate: bool = False) -> Self:
        """Return the Gaussian error linear unit, exact or in its tanh form."""
        return self.apply(nn.NnGelu(approximate=approximate))

    def silu(self) -> Self:
        """Return ``x * sigmoid(x)``."""
        return self.apply(nn.NnSilu())

    def mish(self) -> Self:
        """Return ``x * tanh(softplus(x))``."""
        return self.apply(nn.NnMish())

    def softplus(self) -> Self:
        """Return ``log(1 + e^x)``."""
        return self.apply(nn.NnSoftplus())

    def softsign(self) -> Self:
        """Return ``x / (1 + |x|)``."""
        return self.apply(nn.NnSoftsign())

    def hard_sigmoid(self, alpha: float = 1.0 / 6.0, beta: float = 0.5) -> Self:
        """Return ``alpha * x + beta`` clamped to [0, 1]."""
        return self.apply(nn.NnHardSigmoid(alpha=alpha, beta=beta))

    def hard_swish(self) -> Self:
        """Return x times its hard sigmoid."""
        return self.apply(nn.NnHardSwish())

    def clamp(self, low: float | None = None, high: float | None = None) -> Self:
        """Return x clamped to bounds."""
        return self.apply(nn.NnClamp(low=low, high=high))

    def softmax(self, axis: int = -1) -> Self:
        """Return the softmax along ``axis``."""
        return self.apply(nn.NnSoftmax(axis=axis))

    def log_softmax(self, axis: int = -1) -> Self:
        """Return the logarithm of the softmax along ``axis``."""
        return self.apply(nn.NnLogSoftmax(axis=axis))

    def log_sum_exp(self, axis: int = -1) -> Self:
        """Return the logarithm of the sum of ``e^x`` along ``axis``."""
        return self.apply(nn.NnLogSumExp(axis=axis))

    def stop_gradient(self) -> Self:
        """Return the same values, which derivatives take as constants."""
        return self.apply(nn.NnStopGradient())

    def variance(
        self,
        *axes: AxisLike,
        axis: AxisLike = None,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the variance over ``axes``, or NumPy's ``axis``; over all without either."""
        return self._reduced(nn.NnVariance, axes, axis, keep_dims, keepdims)

    def argmax(
        self,
        axis: int = -1,
        *,
        last: bool = False,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the index of the maximum along ``axis``, the first or the last one."""
        return self._index_of(RealArgmax(axis=axis, last=last), keep_dims, keepdims)

    def argmin(
        self,
        axis: int = -1,
        *,
        last: bool = False,
        keep_dims: bool | None = None,
        keepdims: bool | None = None,
    ) -> Self:
        """Return the index of the minimum along ``axis``, the first or the last one."""
        return self._index_of(RealArgmin(axis=axis, last=last), keep_dims, keepdims)

    def _index_of(
        self, extreme: RealArgmax | RealArgmin, keep_dims: bool | None, keepdims: bool | None
    ) -> Self:
        """Return the indices along an axis, which may stay as a dimension of 1."""
        index = self.apply(extreme)
        keeps = keeps_dimensions(keep_dims, keepdims)
        return index.expand_dims(extreme.axis % self.ndim) if keeps else index

    def cumsum(self, axis: int, *, exclusive: bool = False) -> Self:
        """Return the running sum along ``axis``."""
        return self.apply(RealCumsum(axis=axis, exclusive=exclusive))

    def cumprod(self, axis: int, *, exclusive: bool = False) -> Self:
        """Return the running product along ``axis``."""
        return self.apply(RealCumprod(axis=axis, exclusive=exclusive))

    def top_k(
        self, count: int, axis: int = -1, *, smallest: bool = False
    ) -> tuple[Self, Self]:  # fmt: skip
        """Return the largest or the smallest elements along ``axis``, and their indices."""
        op = RealTopK(count=count, axis=axis, smallest=smallest)
        values, indices = self.apply_all(op)
        return values, indices

    def linear(self, weights: Operand, bias: Operand | None = None) -> Self:
        """Return ``x @ weights.T + bias`` for weights [N, K]."""
        return self.apply(nn.NnLinear(), *self._with(weights, bias))

    def layer_norm(
        self, gamma: Operand, beta: Operand | None = None, epsilon: float = 1e-5
    ) -> Self:
        """Return x normalized over the axes that ``gamma`` has, scaled and shifted."""
        return self.apply(nn.NnLayerNorm(epsilon=epsilon), *self._with(gamma, beta))

    def rms_norm(self, gamma: Operand, epsilon: float = 1e-6) -> Self:
        """Return x divided by its root mean square, scaled."""
        return self.apply(nn.NnRmsNorm(epsilon=epsilon), *self._with(gamma))

    def group_norm(
        self, groups: int, gamma: Operand, beta: Operand, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Self:
        """Return x normalized over groups of channels, scaled and shifted."""
        op = nn.NnGroupNorm(groups=groups, axis=axis, epsilon=epsilon)
        return self.apply(op, *self._with(gamma, beta))

    def batch_norm(
        self,
        gamma: Operand,
        beta: Operand,
        mean: Operand,
        variance: Operand,
        *,
        axis: int = -1,
        epsilon: float = 1e-5,
    ) -> Self:
        """Return x normalized by known statistics of each channel, scaled and shifted."""
        op = nn.NnBatchNorm(axis=axis, epsilon=epsilon)
        return self.apply(op, *self._with(gamma, beta, mean, variance))

    def embedding(self, indices: Expression) -> Self:
        """Return rows of this table by index."""
        return self.apply(nn.NnEmbedding(), indices)

    def attention(
        self,
        keys: Expression,
        values: Expression,
        mask: Expression | None = None,
        *,
        causal: bool = False,
        scale: float | None = None,
    ) -> Self:
        """Return the attention of these queries [..., S, D]: see ``nn.attention``."""
        op = nn.NnAttention(causal=causal, scale=scale)
        return self.apply(op, *(o for o in (keys, values, mask) if o is not None))

    def rnn(
        self,
        w: Operand,
        r: Operand,
        bias: Operand | None = None,
        h: Operand | None = None,
        *,
        lengths: Expression | None = None,
        reverse: bool = False,
    ) -> tuple[Self, Self]:
        """Return a simple recurrent layer's state after each step [T, B, H], and the last [B, H].

        Args:
            w: Weights of this sequence [T, B, I]: [H, I].
            r: Weights of the state: [H, H].
            bias: [H]; 0 if left out.
            h: State before the first step [B, H]; 0 if left out.
            lengths: Number of steps of each sequence, integers [B]; all have T if left out.
            reverse: Whether the last element of a sequence comes first.
        """
        op = nn.NnRnn(reverse=reverse, masked=lengths is not None)
        y, last = self._recurrent(op, w, r, bias, (h,), lengths)
        return y, last

    def gru(
        self,
        w: Operand,
        r: Operand,
        bias: Operand | None = None,
        h: Operand | None = None,
        *,
        inner: Operand | None = None,
        lengths: Expression | None = None,
        reverse: bool = False,
    ) -> tuple[Self, Self]:
        """Return a gated recurrent unit's state after each step [T, B, H], and the last [B, H].

        Args:
            w: Weights of this sequence [T, B, I]: [3 * H, I], rows of the gates update, reset,
                candidate. PyTorch has reset first.
            r: Weights of the state: [3 * H, H], rows in the same order.
            bias: [3 * H]; 0 if left out.
            h: State before the first step [B, H]; 0 if left out.
            inner: Bias of the candidate's product with the state [H]; if given, the reset gate is
                applied after that product, as in PyTorch.
            lengths: Number of steps of each sequence, integers [B]; all have T if left out.
            reverse: Whether the last element of a sequence comes first.
        """
        op = nn.NnGru(
            reset_after=inner is not None, reverse=reverse, masked=lengths is not None
        )  # fmt: skip
        y, last = self._recurrent(op, w, r, bias, (h,), inner, lengths)
        return y, last

    def lstm(
        self,
        w: Operand,
        r: Operand,
        bias: Operand | None = None,
        h: Operand | None = None,
        c: Operand | None = None,
        *,
        peepholes: Operand | None = None,
        lengths: Expression | None = None,
        reverse: bool = False,
    ) -> tuple[Self, Self, Self]:
        """Return an LSTM's hidden state after each step [T, B, H], the last one, and the cell.

        Args:
            w: Weights of this sequence [T, B, I]: [4 * H, I], rows of the gates input, output,
                forget, candidate. PyTorch has input, forget, candidate, output.
            r: Weights of the hidden state: [4 * H, H], rows in the same order.
            bias: [4 * H]; 0 if left out.
            h: Hidden state before the first step [B, H]; 0 if left out.
            c: Cell before the first step [B, H]; 0 if left out.
            peepholes: Weights of the cell in the gates input, output, forget [3 * H].
            lengths: Number of steps of each sequence, integers [B]; all have T if left out.
            reverse: Whether the last element of a sequence comes first.
        """
        op = nn.NnLstm(
            peepholes=peepholes is not None, reverse=reverse, masked=lengths is not None
        )  # fmt: skip
        y, hidden, cell = self._recurrent(op, w, r, bias, (h, c), peepholes, lengths)
        return y, hidden, cell

    def _recurrent(
        self,
        op: nn.NnRecurrent,
        w: Operand,
        r: Operand,
        bias: Operand | None,
        states: Sequence[Operand | None],
        *more: Operand | None,
    ) -> tuple[Self, ...]:
        """Return the results of a recurrent layer; bias and states that are None are 0."""
        weights, recurrent_weights = self._with(w, r)
        if bias is None:
            bias = self.lift(0.0).broadcast_to(*recurrent_weights.shape[:1])
        zero = (*self.shape[1:2], *recurrent_weights.shape[-1:])
        given = (self.lift(0.0).broadcast_to(*zero) if s is None else s for s in states)
        return self.apply_all(op, *self._with(weights, recurrent_weights, bias, *given, *more))

    def conv(
        self,
        weights: Operand,
        bias: Operand | None = None,
        *,
        stride: Steps = 1,
        padding: Pads = "valid",
        dilation: Steps = 1,
        groups: int = 1,
        layout: Layout = Layout.CHANNELS_LAST,
    ) -> Self:
        """Return the convolution over all spatial axes; weights in the order of ``layout``."""
        image, kernel = layout.type_to_last(self.type), self._with(weights)[0]
        window = window_of(
            image, layout.type_to_last(kernel.type).static_shape[1:-1],
            stride=stride, padding=padding, dilation=dilation,
        )  # fmt: skip
        op = nn.NnConv(window=window, groups=groups, layout=layout)
        return self.apply(op, kernel, *self._with(bias))

    def max_pool(
        self,
        kernel: Steps,
        *,
        stride: Steps | None = None,
        padding: Pads = "valid",
        dilation: Steps = 1,
        layout: Layout = Layout.CHANNELS_LAST,
    ) -> Self:
        """Return the maximum of each window; windows do not overlap by default."""
        image = layout.type_to_last(self.type)
        step = kernel if stride is None else stride
        window = window_of(image, kernel, stride=step, padding=padding, dilation=dilation)
        return self.apply(nn.NnMaxPool(window=window, layout=layout))

    def average_pool(
        self,
        kernel: Steps,
        *,
        stride: Steps | None = None,
        padding: Pads = "valid",
        layout: Layout = Layout.CHANNELS_LAST,
        count_padding: bool = False,
    ) -> Self:
        """Return the mean of each window; windows do not overlap by default."""
        image = layout.type_to_last(self.type)
        step = kernel if stride is None else stride
        window = window_of(image, kernel, stride=step, padding=padding, dilation=1)
        return self.apply(
            nn.NnAveragePool(window=window, layout=layout, count_padding=count_padding)
        )

    def flatten(self, axis: int = 1) -> Self:
        """Return the axes from ``axis`` on joined into one."""
        return self.apply(nn.NnFlatten(axis=axis))

    def split(self, sizes: int | Sequence[int | Dim], axis: int = 0) -> tuple[Self, ...]:
        """Return parts along ``axis``: of the given sizes, or that many equal ones."""
        if isinstance(sizes, int):
            part = quotient(self.shape[axis], sizes) if sizes > 0 else None
            if part is None:
                raise ValueError(
                    f"cannot split axis {axis} of {self.type} into {sizes} equal parts"
                )
            return self.apply_all(nn.NnSplit(sizes=(part,) * sizes, axis=axis))
        return self.apply_all(nn.NnSplit(sizes=tuple(sizes), axis=axis))
