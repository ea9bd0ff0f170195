"""Random graphs that hold the patterns of fusion, and much that only looks like them.

A graph follows from its seed: a chain of steps on a tensor of rows or on an image. Weights are
constants or parameters; now and then a value within a pattern is read twice, or is an output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from rlx.ir import Array, DType, Graph, Op, TensorType, Traits
from rlx.ops import nn, real
from rlx.ops.expression import Expression
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QClamp, QRequantize
from rlx.ops.real import SpatialWindow
from rlx.passes.common_subexpressions import CommonSubexpressions
from rlx.passes.decompose import decompose
from strategies.fused import ACTIVATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherHalve(Op):
    """``y = x / 2``, of another package. Operand: ``x`` floating-point [*]. Result: its type."""

    name: ClassVar[str] = "other.halve"
    traits: ClassVar[Traits] = Traits(elementwise=True)

    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the operand's type."""
        return operands

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the halves."""
        (x,) = operands
        return (np.asarray(x * np.asarray(0.5, x.dtype), x.dtype),)


@dataclass
class Fusible:
    """A random graph while it grows.

    Attributes:
        seed: Seed that it follows from.
        graph: The graph, without ``nn.*`` ops once it is done.
        inputs: Values of the inputs.
        params: Values of the parameters.
        extra: Values that are outputs too, or that a later step reads again.
        rounded: Whether there was a product with weights, whose sums fusion may round in another
            way. From there on no step jumps, as a comparison or a conversion to integers or to
            fewer bits does: a difference in the last place would become one of any size.
    """

    seed: int
    graph: Graph = field(init=False)
    inputs: dict[str, Array] = field(default_factory=dict)
    params: dict[str, Array] = field(default_factory=dict)
    extra: list[Expression] = field(default_factory=list)
    rounded: bool = False

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.dtype = DType.F64 if self.chance(0.1) else DType.F32
        self.graph = Graph(f"random{self.seed}")
        is_image = self.chance(0.35)
        x = self.input(1, *self.sizes(2, 2, 5), self.size(1, 5)) if is_image else self.rows()
        steps = _ON_IMAGES if is_image else _ON_ROWS
        for _ in range(self.size(1, 4)):
            x = self.pick(*steps)(self, x)
            if self.chance(0.2):
                self.extra.append(x)
        self.finish(x)

    def finish(self, x: Expression) -> None:
        """Set the outputs, and replace model-level ops."""
        outputs = {x.value: None}
        for value in self.extra:
            if self.chance(0.5):
                outputs[value.value] = None
            elif value.shape == x.shape and value.dtype is x.dtype:
                outputs[(x + value).value] = None
        names = [f"y{i}" for i in range(len(outputs))]
        self.graph.output(*outputs, names=names)
        self.graph = decompose(self.graph)
        if self.chance(0.7):
            self.graph = CommonSubexpressions().apply(self.graph)

    def chance(self, share: float) -> bool:
        """Return true in a share of all cases."""
        return bool(self.random.random() < share)

    def size(self, low: int, high: int) -> int:
        """Return a number in [low, high]."""
        return int(self.random.integers(low, high + 1))

    def sizes(self, count: int, low: int, high: int) -> list[int]:
        """Return several numbers in [low, high]."""
        return [self.size(low, high) for _ in range(count)]

    def pick(self, *choices: Any) -> Any:
        """Return one of several things."""
        return choices[self.size(0, len(choices) - 1)]

    def numbers(self, *shape: int) -> Array:
        """Return numbers of both signs around 1."""
        return np.asarray(self.random.standard_normal(shape), self.dtype.numpy)

    def input(self, *shape: int) -> Expression:
        """Append an input."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.numbers(*shape)
        return Expression(self.graph, self.graph.input(name, TensorType(shape, self.dtype)))

    def steady(self, x: Expression) -> Expression:
        """Return ``x``, or an input of its shape if ``x`` may be rounded in another way."""
        return self.input(*x.type.static_shape) if self.rounded else x

    def rows(self) -> Expression:
        """Append an input of rows."""
        return self.input(*self.pick((), (1,), (2,)), *self.sizes(2, 2, 6))

    def weight(self, *shape: int, positive: bool = False, inner: int = 1) -> Expression:
        """Append a constant or a parameter, such that a sum of ``inner`` products stays near 1."""
        self.rounded = True
        array = self.numbers(*shape) / np.asarray(np.sqrt(inner), self.dtype.numpy)
        if positive:
            array = np.abs(array) + np.asarray(0.5, self.dtype.numpy)
        if self.chance(0.7):
            return Expression(self.graph, self.graph.constant(array))
        name = f"p{len(self.params)}"
        self.params[name] = np.asarray(array, self.dtype.numpy)
        return Expression(self.graph, self.graph.param(name, TensorType(shape, self.dtype)))

    def spoil(self, x: Expression) -> Expression:
        """Sometimes let something else read a value, or make it an output."""
        if self.chance(0.08):
            self.extra.append(x)
        return x


def _activation(make: Fusible, x: Expression) -> Expression:
    """A named function, or one of several ops."""
    if make.chance(0.6):
        return x.apply(make.pick(*ACTIVATIONS))
    return make.pick(_chain, _foreign, _cast)(make, x)


def _chain(make: Fusible, x: Expression) -> Expression:
    """A few elementwise ops, some of them on another tensor, some of which read ``x`` again."""
    y = x
    for _ in range(make.size(1, 4)):
        other = make.pick(x, y, make.weight(*x.type.static_shape[-1:]), x.lift(0.75))
        op = make.pick(real.RealAdd(), real.RealSub(), real.RealMul(), real.RealMaximum(),
                       real.RealTanh(), real.RealSigmoid(), real.RealAbs())  # fmt: skip
        y = y.apply(op, other) if op.operand_count == 2 else y.apply(op)
        y = make.spoil(y)
    return x.where(make.steady(x) >= 0.25, y) if make.chance(0.2) else y


def _foreign(make: Fusible, x: Expression) -> Expression:
    """An op of another package between elementwise ones."""
    return _chain(make, make.spoil(x * 2.0).apply(OtherHalve()) + 0.5)


def _cast(make: Fusible, x: Expression) -> Expression:
    """Ops in another element type, and back."""
    dtype = make.pick(DType.F16, DType.F64, DType.I32)
    y = (x if dtype is DType.F64 else make.steady(x) * 8.0).cast(dtype)
    return make.spoil(y + y).cast(x.dtype) * 0.0625


def _quantized(make: Fusible, x: Expression) -> Expression:
    """Exact integers on the way: an output of their own."""
    codes = (make.steady(x) * 8.0).cast(DType.I8)
    op = QRequantize(x_zero_point=1, rescale=Rescale.of(0.7), zero_point=2)
    codes = codes.apply(op).apply(QClamp(low=-100, high=100))
    make.extra.append(codes)
    return x + codes.cast(x.dtype) * 0.125


def _scaled(make: Fusible, x: Expression, axis: int = -1) -> Expression:
    """Scale and shift, mostly for each channel, sometimes by one number or along another axis."""
    channels = x.type.static_shape[axis]
    for _ in range(make.size(1, 3)):
        shape = make.pick((channels,), (1, channels), (), (1,), (*x.type.static_shape[-2:-1], 1))
        if axis != -1:
            shape = make.pick((channels, *(1,) * (-1 - axis)), ())
        w = make.weight(*shape, positive=True)
        x = make.spoil(make.pick(
            lambda x, w: x * w, lambda x, w: w * x, lambda x, w: x / w, lambda x, w: x + w,
            lambda x, w: x - w, lambda x, w: w - x,
        )(x, w))  # fmt: skip
    return x


def _dense(make: Fusible, x: Expression) -> Expression:
    """A dense layer with all that can be around it."""
    inner, outputs = x.type.static_shape[-1], make.size(1, 6)
    if make.chance(0.2):
        x = x * make.pick(0.5, 3.0)
    if make.chance(0.3):
        more = (make.weight(outputs),) if make.chance(0.6) else ()
        y = x.apply(nn.NnLinear(), make.weight(outputs, inner, inner=inner), *more)
    else:
        w = make.weight(inner, outputs, inner=inner)
        if make.chance(0.15):
            w = w.tanh() if make.chance(0.5) else make.input(inner, outputs)
        y = make.spoil(x @ w)
        if make.chance(0.6):
            shape = make.pick((outputs,), (1, outputs), (), y.type.static_shape)
            y = make.spoil(y + make.weight(*shape))
    if make.chance(0.4):
        y = _scaled(make, y)
    return _activation(make, y) if make.chance(0.7) else y


def _norm(make: Fusible, x: Expression) -> Expression:
    """A norm, often of a sum, sometimes spelled with other ops or over another axis."""
    if make.chance(0.5):
        x = x + (make.input(*x.type.static_shape) if make.chance(0.5) else x.tanh())
        x = make.spoil(x)
    last = x.type.static_shape[-1:]
    if make.chance(0.4):
        return x.apply(nn.NnRmsNorm(), make.weight(*last))
    if make.chance(0.5):
        more = (make.weight(*last),) if make.chance(0.6) else ()
        return x.apply(nn.NnLayerNorm(), make.weight(*last), *more)
    axis = make.pick(-1, -1, 0)
    centred = make.spoil(x - x.mean(axis, keep_dims=True))
    square = centred * centred if make.chance(0.5) else centred**2.0
    root = (make.spoil(square.mean(axis, keep_dims=True)) + 1e-3).sqrt()
    return (centred / root) * make.weight(*last)


def _softmax(make: Fusible, x: Expression) -> Expression:
    """A softmax, over any axis."""
    return make.spoil(x.apply(nn.NnSoftmax(axis=make.pick(-1, -1, 0)))) * 2.0


def _gated(make: Fusible, x: Expression) -> Expression:
    """A gated pair; gate and other half in any order."""
    inner, width = x.type.static_shape[-1], make.size(1, 5)
    biased = make.chance(0.4)

    def half() -> Expression:
        y = x @ make.weight(inner, width, inner=inner)
        return make.spoil(y + make.weight(width) if biased else y)

    first, second = half(), half()
    gate = make.spoil(first.apply(make.pick(*ACTIVATIONS)))
    return make.pick(gate * second, second * gate)


def _attention(make: Fusible, x: Expression) -> Expression:
    """Attention of several heads on projections of ``x``."""
    *lead, rows, inner = x.type.static_shape
    heads, width = make.size(1, 2), make.size(1, 3)

    def project() -> Expression:
        y = x @ make.weight(inner, heads * width, inner=inner)
        y = y + make.weight(heads * width) if make.chance(0.6) else y
        split = y.reshape(*lead, rows, heads, width)
        n = len(lead)
        return make.spoil(split.transpose(*range(n), n + 1, n, n + 2))

    q, k, v = project(), project(), project()
    mask: list[Expression] = []
    if make.chance(0.3):
        mask.append(make.weight(rows, rows))
    op = nn.NnAttention(causal=make.chance(0.4), soft_cap=make.pick(None, None, 2.0))
    y = _plain_attention(make, q, k, v) if make.chance(0.3) else q.apply(op, k, v, *mask)
    n = len(lead)
    return make.spoil(y.transpose(*range(n), n + 1, n, n + 2).reshape(*lead, rows, heads * width))


def _plain_attention(make: Fusible, q: Expression, k: Expression, v: Expression) -> Expression:
    """Attention in which the scores are scaled, not the queries; sometimes none at all."""
    scores = make.spoil(make.spoil(q @ k.mT) / 2.0)
    if make.chance(0.3):
        scores = make.spoil(scores + make.weight(*scores.type.static_shape[-1:]))
    if make.chance(0.2):
        scores = scores.sigmoid()
    return scores.apply(nn.NnSoftmax(axis=make.pick(-1, -1, -2))) @ v


def _conv(make: Fusible, x: Expression) -> Expression:
    """A convolution with bias, normalization and activation."""
    channels = x.type.static_shape[-1]
    groups = channels if make.chance(0.3) else 1
    outputs = channels if groups > 1 else make.size(1, 6)
    kernel = make.pick((1, 1), (2, 2))
    window = SpatialWindow(kernel, padding=((kernel[0] - 1, 0), (0, kernel[1] - 1)))
    inner = kernel[0] * kernel[1] * channels // groups
    w = make.weight(outputs, *kernel, channels // groups, inner=inner)
    if make.chance(0.2):
        x = x * 0.5
    y = make.spoil(x.apply(real.RealConv(window=window, groups=groups), w))
    if make.chance(0.6):
        y = make.spoil(y + make.weight(*make.pick((outputs,), (1, 1, 1, outputs), ())))
    tail = make.pick(_batch_norm, _channels_first, _scaled, None, None)
    y = tail(make, y) if tail is not None else y
    return _activation(make, y) if make.chance(0.8) else y


def _batch_norm(make: Fusible, x: Expression, axis: int = -1) -> Expression:
    """A batch normalization."""
    channels = x.type.static_shape[axis]
    gamma, beta, mean = (make.weight(channels) for _ in range(3))
    variance = make.weight(channels, positive=True)
    return x.apply(nn.NnBatchNorm(axis=axis), gamma, beta, mean, variance)


def _channels_first(make: Fusible, x: Expression) -> Expression:
    """Scales and shifts while the channels come first."""
    first = x.transpose(0, 3, 1, 2)
    y = make.pick(_batch_norm, _scaled)(make, first, axis=-3)
    return make.spoil(y).transpose(0, 2, 3, 1)


def _shortcut(make: Fusible, x: Expression) -> Expression:
    """A sum with an earlier value of the same shape."""
    others = [e for e in make.extra if e.type == x.type]
    return x + (make.pick(*others) if others else x.tanh())


_Step: TypeAlias = "Callable[[Fusible, Expression], Expression]"
_ON_ROWS: Sequence[_Step] = (
    _dense, _dense, _dense, _norm, _norm, _softmax, _gated, _attention, _attention, _chain, _cast,
    _foreign, _quantized, _shortcut, _activation,
)  # fmt: skip
_ON_IMAGES: Sequence[_Step] = (
    _conv, _conv, _conv, _conv, _chain, _cast, _foreign, _quantized, _shortcut, _softmax, _norm,
)  # fmt: skip
