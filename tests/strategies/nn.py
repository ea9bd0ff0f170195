"""Cases of model-level ops."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlx.ir import DType
from rlx.ops import nn
from rlx.ops.nn import Layout
from rlx.ops.nn.activation import NnActivation
from strategies.reals import (
    axes_of,
    finish,
    float_type,
    image_of,
    in_layout,
    indices,
    operand,
    windows,
)
from strategies.table import strategy

if TYPE_CHECKING:
    from rlx.ir import Value
    from strategies.case import Case, Maker

_ATTRIBUTES: dict[type[NnActivation], dict[str, tuple[Any, ...]]] = {
    nn.NnClamp: {"low": (0.0, None, -1.0), "high": (6.0, None, 0.5)},
    nn.NnLeakyRelu: {"slope": (0.01, 0.2)},
    nn.NnElu: {"alpha": (1.0, 0.5)},
    nn.NnGelu: {"approximate": (False, True)},
    nn.NnHardSigmoid: {"alpha": (1 / 6, 0.2)},
}


def _activation(op: type[NnActivation]) -> None:
    @strategy(op)
    def build(make: Maker) -> Case:
        choices = _ATTRIBUTES.get(op, {})
        attributes = {name: make.pick(*values) for name, values in choices.items()}
        return finish(make, op(**attributes), operand(make, make.shape(), float_type(make)))


def _along_axis(op: type[nn.NnSoftmax]) -> None:
    @strategy(op)
    def build(make: Maker) -> Case:
        shape = make.shape()
        (axis, *_) = axes_of(make, len(shape))
        return finish(make, op(axis=axis), operand(make, shape, float_type(make)))


for _op in nn.NN_OPS:
    if issubclass(_op, NnActivation):
        _activation(_op)
for _op in (nn.NnSoftmax, nn.NnLogSoftmax, nn.NnLogSumExp):
    _along_axis(_op)


def _maybe(make: Maker, shape: tuple[int, ...], dtype: DType) -> tuple[Value, ...]:
    """Append an operand that may be left out."""
    return (operand(make, shape, dtype),) if make.pick(True, False) else ()


@strategy(nn.NnPrelu)
def prelu(make: Maker) -> Case:
    shape, dtype = make.shape(), float_type(make)
    slope = operand(make, make.pick(shape[-1:], (), shape), dtype)
    return finish(make, nn.NnPrelu(), operand(make, shape, dtype), slope)


@strategy(nn.NnStopGradient)
def stop_gradient(make: Maker) -> Case:
    return finish(make, nn.NnStopGradient(), operand(make, make.shape(), float_type(make)))


@strategy(nn.NnVariance)
def variance(make: Maker) -> Case:
    shape = make.shape()
    op = nn.NnVariance(axes=axes_of(make, len(shape)), keep_dims=make.pick(False, True))
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnL2Norm)
def l2_norm(make: Maker) -> Case:
    shape = make.shape()
    return finish(
        make, nn.NnL2Norm(axes=axes_of(make, len(shape))), operand(make, shape, float_type(make))
    )


@strategy(nn.NnLayerNorm)
def layer_norm(make: Maker) -> Case:
    shape, dtype = make.shape(), float_type(make)
    last = shape[-make.integer(1, len(shape)) :]
    x, gamma = operand(make, shape, dtype), operand(make, last, dtype)
    return finish(make, nn.NnLayerNorm(), x, gamma, *_maybe(make, last, dtype))


@strategy(nn.NnRmsNorm)
def rms_norm(make: Maker) -> Case:
    shape, dtype = make.shape(), float_type(make)
    last = shape[-make.integer(1, len(shape)) :]
    return finish(make, nn.NnRmsNorm(), operand(make, shape, dtype), operand(make, last, dtype))


@strategy(nn.NnBatchNorm)
def batch_norm(make: Maker) -> Case:
    shape, dtype = make.shape(), float_type(make)
    (axis, *_) = axes_of(make, len(shape))
    vectors = [operand(make, (shape[axis],), dtype) for _ in range(3)]
    # A variance is not negative.
    squared = make.graph.apply(nn.NnDot(x_contract=(), y_contract=(), x_batch=(0,), y_batch=(0,)),
                               vectors[0], vectors[0])  # fmt: skip
    return finish(make, nn.NnBatchNorm(axis=axis), operand(make, shape, dtype), *vectors, squared)


@strategy(nn.NnGroupNorm)
def group_norm(make: Maker) -> Case:
    groups, per_group = make.integer(1, 3), make.integer(1, 3)
    spatial = tuple(make.integer(1, 3) for _ in range(make.integer(0, 2)))
    first = make.pick(True, False)
    channels = groups * per_group
    shape = (2, channels, *spatial) if first else (2, *spatial, channels)
    dtype = float_type(make)
    op = nn.NnGroupNorm(groups=groups, axis=1 if first else -1)
    vectors = (operand(make, (channels,), dtype) for _ in range(2))
    return finish(make, op, operand(make, shape, dtype), *vectors)


@strategy(nn.NnLinear)
def linear(make: Maker) -> Case:
    dtype, shape = float_type(make), make.shape()
    outputs = make.integer(1, 5)
    x, w = operand(make, shape, dtype), operand(make, (outputs, shape[-1]), dtype)
    return finish(make, nn.NnLinear(), x, w, *_maybe(make, (outputs,), dtype))


@strategy(nn.NnDot)
def dot(make: Maker) -> Case:
    batch, inner, m, n = ((make.integer(1, 3),) * make.integer(0, 1) for _ in range(4))
    op = nn.NnDot(
        x_batch=tuple(range(len(batch))),
        y_batch=tuple(range(len(batch))),
        x_contract=tuple(range(len(batch), len(batch) + len(inner))),
        y_contract=tuple(len(batch) + len(n) + i for i in range(len(inner))),
    )
    dtype = float_type(make)
    x, y = operand(make, (*batch, *inner, *m), dtype), operand(make, (*batch, *n, *inner), dtype)
    return finish(make, op, x, y)


@strategy(nn.NnConv)
def conv(make: Maker) -> Case:
    dtype, layout = float_type(make), make.pick(*Layout)
    window, extent = windows(make, make.pick(2, 1))
    groups, inner, outputs = make.integer(1, 2), make.integer(1, 2), make.integer(1, 2)
    x = operand(make, in_layout(image_of(make, extent, groups * inner), layout), dtype)
    weights = in_layout((groups * outputs, *window.kernel, inner), layout)
    op = nn.NnConv(window=window, groups=groups, layout=layout)
    bias = _maybe(make, (groups * outputs,), dtype)
    return finish(make, op, x, operand(make, weights, dtype), *bias)


@strategy(nn.NnConvTranspose)
def conv_transpose(make: Maker) -> Case:
    dtype, layout = float_type(make), make.pick(*Layout)
    window, extent = windows(make, make.pick(2, 1))
    window = replace(window, padding=tuple((make.integer(0, 1), 0) for _ in extent))
    groups, inner, outputs = make.integer(1, 2), make.integer(1, 2), make.integer(1, 2)
    size = tuple(make.integer(2, 4) for _ in extent)
    x = operand(make, in_layout((2, *size, groups * inner), layout), dtype)
    weights = in_layout((groups * inner, *window.kernel, outputs), layout)
    extra = make.pick((), tuple(make.integer(0, 1) for _ in extent))
    op = nn.NnConvTranspose(window=window, output_padding=extra, groups=groups, layout=layout)
    bias = _maybe(make, (groups * outputs,), dtype)
    return finish(make, op, x, operand(make, weights, dtype), *bias)


@strategy(nn.NnMaxPool)
def max_pool(make: Maker) -> Case:
    return _pool(make, nn.NnMaxPool)


@strategy(nn.NnAveragePool)
def average_pool(make: Maker) -> Case:
    return _pool(make, nn.NnAveragePool, count_padding=make.pick(False, True))


def _pool(make: Maker, kind: type[nn.NnMaxPool], **attributes: bool) -> Case:
    layout = make.pick(*Layout)
    window, extent = windows(make, make.pick(2, 1), pads_below_kernel=True)
    shape = in_layout(image_of(make, extent, 2), layout)
    op = kind(window=window, layout=layout, **attributes)
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnAttention)
def attention(make: Maker) -> Case:
    dtype = make.pick(DType.F32, DType.F64, DType.BF16)
    heads = make.pick((), (2,), (2, 3))
    queries, keys, width, out = (make.integer(1, 4) for _ in range(4))
    causal = make.pick(False, True) and keys >= queries
    op = nn.NnAttention(
        causal=causal,
        window=make.pick(None, 1) if causal else None,
        scale=make.pick(None, 0.5),
        soft_cap=make.pick(None, 2.0),
    )
    q, k, v = (
        operand(make, (*heads, *shape), dtype)
        for shape in ((queries, width), (keys, width), (keys, out))
    )
    return finish(make, op, q, k, v, *_maybe(make, (queries, keys), dtype))


_CELL = (
    nn.CellActivation(nn.CellFunction.SIGMOID), nn.CellActivation(nn.CellFunction.TANH),
    nn.CellActivation(nn.CellFunction.RELU),
    nn.CellActivation(nn.CellFunction.HARD_SIGMOID, 0.2, 0.5),
)  # fmt: skip


def _recurrent(make: Maker, op: nn.NnRecurrent) -> Case:
    """Return a case of a recurrent layer without extra operands."""
    dtype = make.pick(DType.F32, DType.F64, DType.BF16)
    steps, batch, inputs, hidden = (make.integer(1, 3) for _ in range(4))
    rows = op.gates * hidden
    shapes = [
        (steps, batch, inputs), (rows, inputs), (rows, hidden), (rows,),
        *[(batch, hidden)] * op.states, *op.extra_shapes(hidden).values(),
    ]  # fmt: skip
    operands = [operand(make, shape, dtype) for shape in shapes]
    lengths = (indices(make, (batch,), steps + 1),) if op.masked else ()
    return finish(make, op, *operands, *lengths)


def _common(make: Maker) -> dict[str, Any]:
    """Return attributes that all recurrent layers have."""
    clip = make.pick(None, None, 1.0)
    return {"clip": clip, "reverse": make.pick(False, True), "masked": make.pick(False, True)}


@strategy(nn.NnRnn)
def rnn(make: Maker) -> Case:
    return _recurrent(make, nn.NnRnn(activation=make.pick(*_CELL), **_common(make)))


@strategy(nn.NnGru)
def gru(make: Maker) -> Case:
    op = nn.NnGru(
        reset_after=make.pick(False, True), gate_activation=make.pick(*_CELL),
        candidate_activation=make.pick(*_CELL), **_common(make),
    )  # fmt: skip
    return _recurrent(make, op)


@strategy(nn.NnLstm)
def lstm(make: Maker) -> Case:
    op = nn.NnLstm(
        peepholes=make.pick(False, True), coupled=make.pick(False, True),
        gate_activation=make.pick(*_CELL), candidate_activation=make.pick(*_CELL),
        cell_activation=make.pick(*_CELL), **_common(make),
    )  # fmt: skip
    return _recurrent(make, op)


@strategy(nn.NnEmbedding)
def embedding(make: Maker) -> Case:
    rows = make.integer(1, 5)
    table = operand(make, (rows, make.integer(1, 3)), float_type(make))
    return finish(make, nn.NnEmbedding(), table, indices(make, make.shape(0, 2), rows))


@strategy(nn.NnFlatten)
def flatten(make: Maker) -> Case:
    shape = make.shape()
    op = nn.NnFlatten(axis=make.integer(-len(shape), len(shape)))
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnSplit)
def split(make: Maker) -> Case:
    shape = list(make.shape())
    (axis, *_) = axes_of(make, len(shape))
    sizes = tuple(make.integer(1, 3) for _ in range(make.integer(1, 3)))
    shape[axis] = sum(sizes)
    op = nn.NnSplit(sizes=sizes, axis=axis)
    return finish(make, op, operand(make, tuple(shape), float_type(make)))


@strategy(nn.NnTile)
def tile(make: Maker) -> Case:
    shape = make.shape(most=3)
    op = nn.NnTile(repeats=tuple(make.integer(1, 3) for _ in shape))
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnDepthToSpace)
def depth_to_space(make: Maker) -> Case:
    block, layout = make.integer(1, 2), make.pick(*Layout)
    shape = in_layout((1, make.integer(1, 3), 2, block * block * make.integer(1, 2)), layout)
    op = nn.NnDepthToSpace(block=block, layout=layout, column_row_depth=make.pick(False, True))
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnSpaceToDepth)
def space_to_depth(make: Maker) -> Case:
    block, layout = make.integer(1, 2), make.pick(*Layout)
    shape = in_layout((1, block * make.integer(1, 2), block * 2, 3), layout)
    op = nn.NnSpaceToDepth(block=block, layout=layout)
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnPad)
def pad(make: Maker) -> Case:
    shape = make.shape(most=3)
    before, after = (tuple(make.integer(0, n - 1) for n in shape) for _ in range(2))
    op = nn.NnPad(before=before, after=after, border=make.pick(*nn.Border))
    return finish(make, op, operand(make, shape, float_type(make)))


@strategy(nn.NnResize)
def resize(make: Maker) -> Case:
    layout, rank = make.pick(*Layout), make.pick(2, 1)
    shape = image_of(make, (1,) * rank, 2)
    op = nn.NnResize(
        size=tuple(make.integer(1, 6) for _ in range(rank)),
        interpolation=make.pick(*nn.Interpolation),
        coordinates=make.pick(*nn.Coordinates),
        floor=make.pick(False, True),
        layout=layout,
        corners=make.pick(False, True),
    )
    return finish(make, op, operand(make, in_layout(shape, layout), float_type(make)))
