"""Random layers that compute: convolutions, dense layers, pools, arithmetic, tables, reductions.

Each function appends one layer behind a tensor, or returns False and appends nothing if the
tensor does not suit. ``LAYERS`` lists all of them, those of ``layers_moving`` and
``layers_blocks`` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from campaign.draft import FEW_CODES, Codes, Draft, Shape, Tensor

Append = Callable[[Draft, Tensor], bool]


@dataclass(frozen=True)
class Layer:
    """A kind of layer.

    Attributes:
        append: Appends it.
        weight: Chance that it is drawn, relative to the others.
        ranks: Numbers of dimensions that its input may have.
    """

    append: Append
    weight: float
    ranks: range


LAYERS: list[Layer] = []


def ranks(minimum: int, maximum: int) -> range:
    """Return numbers of dimensions, both ends included."""
    return range(minimum, maximum + 1)


IMAGE, ANY = ranks(4, 4), ranks(0, 5)


def layer(weight: float = 1.0, ranks: range = ANY) -> Callable[[Append], Append]:
    """Register the decorated function."""

    def register(function: Append) -> Append:
        LAYERS.append(Layer(function, weight, ranks))
        return function

    return register


# Layers with weights.


@dataclass(frozen=True)
class _Window:
    """A window over an image and what the schema's options are for it."""

    kernel: tuple[int, int]
    out: tuple[int, int]
    options: dict[str, Any]


def _window(draft: Draft, image: Tensor, *, dilated: bool) -> _Window | None:
    """Draw kernel, stride, dilation and padding; None if nothing is left of the image."""
    size = image.shape[1:3]
    kernel = draft.integer(1, draft.pick([1, 3, 5])), draft.integer(1, draft.pick([1, 3, 5]))
    if draft.chance(0.1):
        kernel = size
    stride = draft.pick([(1, 1), (1, 1), (2, 2), (1, 2), (3, 1), (2, 3)])
    dilation = (1, 1)
    options: dict[str, Any] = {"strideH": stride[0], "strideW": stride[1]}
    if dilated and draft.chance(0.2):
        dilation = draft.integer(1, 3), draft.integer(1, 3)
        options |= {"dilationHFactor": dilation[0], "dilationWFactor": dilation[1]}
    padding = draft.pick(["SAME", "VALID"])
    out = []
    for n, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        out.append(-(-n // s) if padding == "SAME" else (n - (k - 1) * d - 1) // s + 1)
    options["padding"] = padding
    return _Window(kernel, (out[0], out[1]), options) if min(out) > 0 else None


def _weights(
    draft: Draft, x: Tensor, shape: Shape, axis: int, taps: int, absent_bias: tuple[int, ...]
) -> tuple[list[int], Codes]:
    """Add weights and mostly a bias; return them and suitable codes of the result."""
    scale = draft.scale()
    channels = shape[axis]
    per_channel = draft.chance(0.5)
    scales: Any = [scale * draft.log_uniform(0.1, 1) for _ in range(channels)]
    operands = [
        draft.model.constant(
            draft.random_codes(shape), scale=scales if per_channel else scale, axis=axis
        )
    ]
    result = draft.codes_for(x.codes.root_mean_square * Codes(scale, 0).spread * math.sqrt(taps))
    if draft.chance(0.8):
        typical = int(math.sqrt(taps) * 5000)
        limit = draft.pick([0, 1, 100, typical, typical, typical, 10 * typical, 10**6])
        bias = draft.random.integers(-limit, limit + 1, channels).astype(np.int32)
        real = np.float32(x.codes.scale) * np.float32(scales if per_channel else [scale])
        operands.append(draft.model.constant(bias, scale=real))
    else:
        operands += absent_bias
    return operands, result


@layer(weight=3.0, ranks=IMAGE)
def _conv(draft: Draft, x: Tensor) -> bool:
    """Append CONV_2D, sometimes with groups."""
    window = _window(draft, x, dilated=True)
    if window is None:
        return False
    channels, inner, groups = draft.channels(), x.shape[3], 1
    if draft.chance(0.15):
        groups = draft.pick([n for n in range(1, inner + 1) if inner % n == 0])
        channels = groups * draft.integer(1, 3)
        inner //= groups
    taps = math.prod(window.kernel) * inner
    shape = (x.shape[0], *window.out, channels)
    if not draft.fits(shape) or math.prod(shape) * taps > draft.knobs.products:
        return False
    absent = draft.pick([(), (-1,)])
    operands, codes = _weights(draft, x, (channels, *window.kernel, inner), 0, taps, absent)
    options = {**window.options, "fusedActivationFunction": draft.activation(codes)}
    draft.apply("CONV_2D", [x, *operands], shape, codes, **options)
    return True


@layer(weight=3.0, ranks=IMAGE)
def _depthwise(draft: Draft, x: Tensor) -> bool:
    """Append DEPTHWISE_CONV_2D, sometimes with several outputs for a channel."""
    window = _window(draft, x, dilated=True)
    if window is None:
        return False
    multiplier = draft.pick([1, 1, 1, 2, 3])
    channels, taps = x.shape[3] * multiplier, math.prod(window.kernel)
    shape = (x.shape[0], *window.out, channels)
    if not draft.fits(shape) or math.prod(shape) * taps > draft.knobs.products:
        return False
    # TFLite Micro reads outside of its memory if a depthwise bias is -1; left out is fine.
    operands, codes = _weights(draft, x, (1, *window.kernel, channels), 3, taps, ())
    options = {**window.options, "fusedActivationFunction": draft.activation(codes)}
    options["depthMultiplier"] = multiplier
    draft.apply("DEPTHWISE_CONV_2D", [x, *operands], shape, codes, **options)
    return True


@layer(weight=2.0, ranks=IMAGE)
def _transposed(draft: Draft, x: Tensor) -> bool:
    """Append TRANSPOSE_CONV, whose result may be larger or smaller than its image reaches."""
    kernel = draft.integer(1, 4), draft.integer(1, 4)
    stride = draft.pick([(1, 1), (2, 2), (2, 3)])
    whole = [n * s for n, s in zip(x.shape[1:3], stride, strict=True)]
    size = [max(n + draft.pick([0, 0, 0, -1, 1]), 1) for n in whole]
    channels, inner = draft.channels(), x.shape[3]
    taps, shape = math.prod(kernel) * inner, (x.shape[0], *size, channels)
    if not draft.fits(shape) or math.prod(shape) * taps > draft.knobs.products:
        return False
    operands, codes = _weights(draft, x, (channels, *kernel, inner), 0, taps, ())
    options: dict[str, Any] = {"strideH": stride[0], "strideW": stride[1]}
    options["padding"] = draft.pick(["SAME", "VALID"])
    options["fusedActivationFunction"] = draft.activation(codes)
    given = [draft.integers(shape), operands[0], x, *operands[1:]]
    draft.apply("TRANSPOSE_CONV", given, shape, codes, **options)
    return True


@layer(weight=3.0, ranks=ranks(1, 5))
def _dense(draft: Draft, x: Tensor) -> bool:
    """Append FULLY_CONNECTED on the last dimension, or on all but the first together."""
    keep = x.rank > 2 and draft.chance(0.5)
    if x.rank == 1:
        rows, length = 1, x.shape[0]
    elif keep:
        rows, length = math.prod(x.shape[:-1]), x.shape[-1]
    else:
        rows, length = x.shape[0], math.prod(x.shape[1:])
    outputs = draft.channels()
    shape = (*x.shape[:-1], outputs) if keep else (rows, outputs)
    if not draft.fits(shape) or rows * outputs * length > draft.knobs.products:
        return False
    absent = draft.pick([(), (-1,)])
    operands, codes = _weights(draft, x, (outputs, length), 0, length, absent)
    options = {"keepNumDims": keep, "fusedActivationFunction": draft.activation(codes)}
    draft.apply("FULLY_CONNECTED", [x, *operands], shape, codes, **options)
    return True


# Pools and reductions.


@layer(weight=2.0, ranks=IMAGE)
def _pool(draft: Draft, x: Tensor) -> bool:
    """Append AVERAGE_POOL_2D or MAX_POOL_2D."""
    window = _window(draft, x, dilated=False)
    if window is None:
        return False
    kind = draft.pick(["AVERAGE_POOL_2D", "MAX_POOL_2D"])
    options = {**window.options, "fusedActivationFunction": draft.activation(x.codes)}
    options |= {"filterHeight": window.kernel[0], "filterWidth": window.kernel[1]}
    shape = (x.shape[0], *window.out, x.shape[3])
    draft.apply(kind, [x], shape, x.codes, **options)
    return True


@layer(weight=2.0, ranks=ranks(1, 5))
def _mean(draft: Draft, x: Tensor) -> bool:
    """Append MEAN or SUM over some axes, which may be counted from behind or given twice."""
    if x.rank == 4 and draft.chance(0.5):
        axes = [1, 2]
    else:
        axes = [a for a in range(x.rank) if draft.chance(0.4)] or [draft.integer(0, x.rank - 1)]
    keep = draft.chance(0.5)
    shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes]
    given = [a - x.rank if draft.chance(0.2) else a for a in axes]
    codes = x.codes if draft.chance(0.5) else draft.codes_for(x.codes.spread, x.codes.mean)
    kind = draft.pick(["MEAN", "SUM"])
    if kind == "SUM":
        count = math.prod(x.shape[a] for a in axes)
        codes = draft.codes_for(x.codes.spread * math.sqrt(count), x.codes.mean * count)
    draft.apply(kind, [x, draft.integers(given)], shape, codes, keepDims=keep)
    return True


@layer(weight=0.6, ranks=ranks(1, 5))
def _arg_max(draft: Draft, x: Tensor) -> bool:
    """Append ARG_MAX; its numbers are an output of the network."""
    axis = draft.integer(0, x.rank - 1)
    shape = [n for a, n in enumerate(x.shape) if a != axis]
    given = axis - x.rank if draft.chance(0.3) else axis
    operands = [x, draft.integers([given])]
    draft.numbers.append(draft.apply_numbers("ARG_MAX", operands, shape, outputType=2))
    return True


@layer(weight=2.5, ranks=ranks(2, 5))
def _product(draft: Draft, x: Tensor) -> bool:
    """Append BATCH_MATMUL with a constant, or a stack of its own."""
    stack, rows, length = x.shape[:-2], x.shape[-2], x.shape[-1]
    columns = draft.pick([1, rows, draft.channels()])
    stacks = [stack, (), tuple(1 for _ in stack)]
    transposed = [draft.chance(0.3), draft.chance(0.5)]
    if transposed[0]:
        rows, length = length, rows
    matrix = (columns, length) if transposed[1] else (length, columns)
    shape = (*stack, rows, columns)
    other = (*draft.pick(stacks), *matrix)
    if not draft.fits(shape) or not draft.fits(other):
        return False
    y = draft.constant(other, draft.codes()) if draft.chance(0.3) else draft.input(other)
    spread = x.codes.root_mean_square * y.codes.root_mean_square * math.sqrt(length)
    options = {"adjX": transposed[0], "adjY": transposed[1]}
    draft.apply("BATCH_MATMUL", [x, y], shape, draft.codes_for(spread), **options)
    return True


# Arithmetic.


def _other_shape(draft: Draft, shape: Shape) -> Shape:
    """Draw the shape of a second operand: equal, of fewer dimensions, or with ones."""
    ones = tuple(1 if draft.chance(0.5) else n for n in shape)
    return draft.pick([shape, shape, (), (1,), shape[-1:], ones])


def _other_operand(draft: Draft, x: Tensor) -> Tensor:
    """Draw a second operand that broadcasts with ``x``: constant, computed, input, or ``x``."""
    if draft.chance(0.4):
        return draft.constant(_other_shape(draft, x.shape), draft.codes())
    options = [v for v in draft.values if v is not x and _broadcast(draft, x, v) is not None]
    if options and draft.chance(0.8):
        return draft.pick(options)
    if draft.chance(0.3):
        return x
    return draft.input(_other_shape(draft, x.shape) or (1,))


def _broadcast(draft: Draft, x: Tensor, y: Tensor) -> Shape | None:
    """Return the shape that two operands have together, None if they do not fit."""
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return None
    return shape if len(shape) <= 4 and draft.fits(shape) else None


@layer(weight=6.5, ranks=ranks(0, 4))
def _binary(draft: Draft, x: Tensor) -> bool:
    """Append ADD, SUB, MUL or SQUARED_DIFFERENCE."""
    kind = draft.pick(["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"])
    y = _other_operand(draft, x)
    operands = [x, y] if draft.chance(0.6) else [y, x]
    shape = _broadcast(draft, x, y)
    if shape is None:
        raise AssertionError("the operand was drawn to fit")
    if kind == "MUL":
        mean = x.codes.mean * y.codes.mean
        squares = x.codes.root_mean_square * y.codes.root_mean_square
        codes = draft.codes_for(math.sqrt(squares**2 - mean**2), mean)
    else:
        means = [t.codes.mean for t in operands]
        mean = means[0] + means[1] if kind == "ADD" else means[0] - means[1]
        spread = math.hypot(x.codes.spread, y.codes.spread)
        if kind == "SQUARED_DIFFERENCE":
            spread = mean = mean**2 + spread**2
        codes = draft.codes_for(spread, mean)
    options: dict[str, Any] = {}
    if kind != "SQUARED_DIFFERENCE":
        options["fusedActivationFunction"] = draft.activation(codes)
    draft.apply(kind, operands, shape, codes, **options)
    return True


@layer(weight=2.0, ranks=ranks(0, 4))
def _extreme(draft: Draft, x: Tensor) -> bool:
    """Append MAXIMUM or MINIMUM, of tensors of one quantization."""
    y = _other_operand(draft, x)
    if y.codes != x.codes:
        constant = draft.constant(_other_shape(draft, x.shape), x.codes)
        y = draft.pick([quantized(draft, y, x.codes), constant])
    operands = [x, y] if draft.chance(0.6) else [y, x]
    shape = _broadcast(draft, x, y)
    if shape is None:
        raise AssertionError("the operand was drawn to fit")
    draft.apply(draft.pick(["MAXIMUM", "MINIMUM"]), operands, shape, x.codes)
    return True


_RELATIONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")


@layer(weight=4.0, ranks=ranks(0, 4))
def _choice(draft: Draft, x: Tensor) -> bool:
    """Append a relation of two tensors, and SELECT_V2 of them by it."""
    y = _other_operand(draft, x)
    shape = _broadcast(draft, x, y)
    if shape is None:
        raise AssertionError("the operand was drawn to fit")
    if max(x.codes.scale, y.codes.scale) >= 1:
        return False
    condition = draft.apply_numbers(draft.pick(_RELATIONS), [x, y], shape, "bool")
    if y.codes != x.codes:
        y = draft.constant(_other_shape(draft, x.shape), x.codes)
    values = [x, y] if draft.chance(0.5) else [y, x]
    draft.apply("SELECT_V2", [condition, *values], shape, x.codes)
    return True


@layer(weight=1.5, ranks=ranks(1, 4))
def _running_sum(draft: Draft, x: Tensor) -> bool:
    """Append CUMSUM, of few enough elements without a zero point for the interpreter."""
    axis = draft.integer(-x.rank, x.rank - 1)
    count = x.shape[axis]
    if count > 16:
        return False
    x = quantized(draft, x, Codes(x.codes.scale, 0))
    operands = [x, draft.integers(axis)]
    options = {"exclusive": draft.chance(0.3), "reverse": draft.chance(0.3)}
    codes = draft.codes_for(x.codes.root_mean_square * math.sqrt(count))
    draft.apply("CUMSUM", operands, x.shape, codes, **options)
    return True


@layer(ranks=ranks(1, 5))
def _prelu(draft: Draft, x: Tensor) -> bool:
    """Append PRELU with slopes of both signs: one for each channel, or one for all."""
    shape = draft.pick([x.shape[-1:], (*(1 for _ in x.shape[1:-1]), x.shape[-1]), (1,)])
    slopes = draft.constant(shape, draft.codes())
    codes = draft.codes_for(x.codes.spread, x.codes.mean)
    draft.apply("PRELU", [x, slopes], x.shape, codes)
    return True


@layer(weight=2.0)
def _clamp(draft: Draft, x: Tensor) -> bool:
    """Append RELU or RELU6."""
    kind = draft.pick(["RELU", "RELU6"])
    other = kind == "RELU" and draft.chance(0.4)
    codes = draft.codes_for(x.codes.spread, x.codes.mean) if other else x.codes
    if codes.passed(kind) < FEW_CODES and draft.chance(0.9):
        return False
    draft.apply(kind, [x], x.shape, codes)
    return True


def quantized(draft: Draft, x: Tensor, codes: Codes) -> Tensor:
    """Append QUANTIZE to other codes, unless they are those of ``x``."""
    return x if x.codes == codes else draft.apply("QUANTIZE", [x], x.shape, codes)


@layer()
def _quantize(draft: Draft, x: Tensor) -> bool:
    """Append QUANTIZE."""
    quantized(draft, x, draft.codes_for(x.codes.spread, x.codes.mean))
    return True


# Functions of one code, and softmax.


@layer(weight=2.5)
def _table(draft: Draft, x: Tensor) -> bool:
    """Append LOGISTIC, TANH, LEAKY_RELU or HARD_SWISH."""
    kind = draft.pick(["LOGISTIC", "TANH", "LEAKY_RELU", "HARD_SWISH"])
    options: dict[str, Any] = {}
    if kind == "LOGISTIC":
        codes = Codes(1 / 256, -128)
    elif kind == "TANH":
        codes = Codes(1 / 128, 0)
    elif kind == "LEAKY_RELU":
        codes, options = (
            draft.codes_for(x.codes.spread, x.codes.mean),
            {"alpha": draft.pick([0.0, 0.01, 0.3, 1])},
        )
    else:
        scale = x.codes.scale * draft.log_uniform(1 / 60, 90)
        codes = Codes(float(np.float32(scale)), draft.zero_point())
    draft.apply(kind, [x], x.shape, codes, **options)
    return True


@layer(weight=2.0)
def _function(draft: Draft, x: Tensor) -> bool:
    """Append ABS, ELU or RSQRT; the latter reads no negative value."""
    kind = draft.pick(["ABS", "ELU", "RSQRT"])
    if kind == "RSQRT":
        x = quantized(draft, x, Codes(x.codes.scale, -128))
        typical = draft.log_uniform(0.002, 0.2) / math.sqrt(x.codes.scale)
        codes = Codes(float(np.float32(typical)), draft.zero_point())
    else:
        codes = draft.codes_for(x.codes.spread, x.codes.mean)
    draft.apply(kind, [x], x.shape, codes)
    return True


@layer(ranks=ranks(1, 4))
def _normalized(draft: Draft, x: Tensor) -> bool:
    """Append L2_NORMALIZATION."""
    draft.apply("L2_NORMALIZATION", [x], x.shape, Codes(1 / 128, 0))
    return True


@layer(ranks=ranks(1, 5))
def _softmax(draft: Draft, x: Tensor) -> bool:
    """Append SOFTMAX."""
    beta = draft.pick([1.0, 1.0, 0.5, 2.0])
    draft.apply("SOFTMAX", [x], x.shape, Codes(1 / 256, -128), beta=beta)
    return True
