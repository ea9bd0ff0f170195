"""Normalization.

Tests: tests/unit/frontends/onnx/ops/test_layers.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.frontends.onnx.ops.registry import importer
from rlx.ir import DType
from rlx.ops import real
from rlx.ops.real import SpatialWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.onnx.ops.call import Call
    from rlx.frontends.onnx.ops.scope import Real


@importer("BatchNormalization")
def import_batch_norm(call: Call) -> Sequence[Real | None]:
    """``BatchNormalization`` by known statistics, or by those of the batch (training_mode)."""
    x, *vectors = (call.value(i) for i in range(5))
    if x.ndim < 2:
        raise call.malformed(f"the input is {x.type}, expected at least 2 dimensions")
    vectors = [v.cast(x.dtype) for v in vectors]
    epsilon = call.number("epsilon")
    if call.version >= 14 and call.flag("training_mode"):
        return _of_batch(call, x, vectors, epsilon)
    if any(call.wants(i) for i in range(1, 5)):
        raise call.refuse("gives statistics for training", "export the model for inference")
    gamma, beta, mean, variance = vectors
    return [x.batch_norm(gamma, beta, mean, variance, axis=1, epsilon=epsilon)]


def _of_batch(call: Call, x: Real, vectors: list[Real], epsilon: float) -> list[Real | None]:
    gamma, beta, mean, variance = vectors
    axes = tuple(a for a in range(x.ndim) if a != 1)
    current, spread = x.mean(*axes), x.variance(*axes)
    keep = call.number("momentum")
    y = x.batch_norm(gamma, beta, current, spread, axis=1, epsilon=epsilon)
    return [
        y,
        (mean * keep + current * (1.0 - keep)).cast(call.type(3).dtype),
        (variance * keep + spread * (1.0 - keep)).cast(call.type(4).dtype),
    ]


@importer("InstanceNormalization")
def import_instance_norm(call: Call) -> Real:
    """``InstanceNormalization``: each channel of each image separately."""
    x, channels = call.value(0), call.shape(1)
    if x.ndim < 3 or len(channels) != 1 or not isinstance(channels[0], int):
        raise call.malformed(f"the input is {x.type}, the scales are {call.type(1)}")
    epsilon = call.number("epsilon")
    return x.group_norm(channels[0], call.value(1), call.value(2), axis=1, epsilon=epsilon)


@importer("GroupNormalization")
def import_group_norm(call: Call) -> Real:
    """``GroupNormalization``; before version 21 with a scale for each group."""
    x, groups = call.value(0), call.integer("num_groups")
    gamma, beta = call.value(1), call.value(2)
    channels = x.shape[1] if x.ndim > 1 else 0
    if groups < 1 or not isinstance(channels, int) or channels % groups:
        raise call.malformed(f"num_groups is {groups}, but there are {channels} channels")
    if call.version < 21:
        gamma, beta = (
            v.expand_dims(1).broadcast_to(groups, channels // groups).reshape(channels)
            for v in (gamma, beta)
        )
    dtype = DType.F32 if call.integer("stash_type", 1) == 1 else x.dtype
    if dtype is not x.dtype and x.dtype in (DType.F16, DType.BF16):
        wide = (v.cast(dtype) for v in (gamma, beta))
        y = x.cast(dtype).group_norm(groups, *wide, axis=1, epsilon=call.number("epsilon"))
        return y.cast(x.dtype)
    return x.group_norm(groups, gamma, beta, axis=1, epsilon=call.number("epsilon"))


def _standardized(x: Real, axes: tuple[int, ...], epsilon: float) -> tuple[Real, Real, Real]:
    """Return x less its mean over its deviation, the mean, and the deviation's reciprocal."""
    mean = x.mean(*axes, keep_dims=True)
    centred = x - mean
    inverse = ((centred * centred).mean(*axes, keep_dims=True) + epsilon).rsqrt()
    return centred * inverse, mean, inverse


@importer("LayerNormalization")
def import_layer_norm(call: Call) -> Sequence[Real | None]:
    """``LayerNormalization`` over the axes from ``axis`` on."""
    x, gamma = call.value(0), call.value(1)
    axis, epsilon = call.axis(call.integer("axis"), x.ndim), call.number("epsilon")
    plain = not call.wants(1) and not call.wants(2)
    beta = call.maybe(2)
    fits = all(v is None or v.shape == x.shape[axis:] for v in (gamma, beta))
    if plain and fits:
        return [x.layer_norm(gamma, beta, epsilon)]
    wide = x if x.dtype is DType.F64 else x.cast(DType.F32)
    normal, mean, inverse = _standardized(wide, tuple(range(axis, x.ndim)), epsilon)
    y = normal.cast(x.dtype) * gamma
    return [y if beta is None else y + beta, mean, inverse]


@importer("RMSNormalization")
def import_rms_norm(call: Call) -> Real:
    """``RMSNormalization`` over the axes from ``axis`` on."""
    x, gamma = call.value(0), call.value(1)
    axis, epsilon = call.axis(call.integer("axis"), x.ndim), call.number("epsilon")
    if gamma.shape == x.shape[axis:] and gamma.dtype is x.dtype:
        return x.rms_norm(gamma, epsilon)
    wide = x if x.dtype is DType.F64 else x.cast(DType.F32)
    square = (wide * wide).mean(*range(axis, x.ndim), keep_dims=True)
    return (wide * (square + epsilon).rsqrt()).cast(gamma.dtype) * gamma


@importer("LpNormalization")
def import_lp_norm(call: Call) -> Real:
    """``LpNormalization``: division by the length along an axis, 0 where that is 0."""
    x, p = call.value(0), call.integer("p")
    axis = call.axis(call.integer("axis"), x.ndim)
    if p not in (1, 2):
        raise call.malformed(f"p is {p}, expected 1 or 2")
    total = (abs(x) if p == 1 else x * x).sum(axis, keep_dims=True)
    length = total if p == 1 else total.sqrt()
    nothing = length.equal(0.0)
    return (x / length.lift(1.0).where(nothing, length)).where(
        nothing.equal(nothing.lift(False)), 0.0
    )


@importer("MeanVarianceNormalization")
def import_mean_variance_norm(call: Call) -> Real:
    """``MeanVarianceNormalization``: standardization over axes."""
    x = call.value(0)
    axes = tuple(call.axis(a, x.ndim) for a in call.integers("axes") or ())
    mean = x.mean(*axes, keep_dims=True)
    variance = (x * x).mean(*axes, keep_dims=True) - mean * mean
    return (x - mean) / (variance.sqrt() + 1e-9)


@importer("LRN")
def import_lrn(call: Call) -> Real:
    """``LRN``: division by the squares of neighbouring channels."""
    x, size = call.value(0), call.integer("size")
    if x.ndim < 2 or size < 1 or size > call.scope.limits.taps:
        raise call.malformed(f"size is {size} and the input {x.type}")
    rows = (x * x).reshape(*x.shape[:2], *((-1,) if x.ndim > 2 else (1,)))
    half = (size - 1) // 2
    window = SpatialWindow((size,), padding=((half, size - 1 - half),))
    mean = rows.apply(real.RealAveragePool(window=window, count_padding=True)).reshape(*x.shape)
    return x / (mean * call.number("alpha") + call.number("bias")) ** call.number("beta")
