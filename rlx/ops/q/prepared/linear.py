"""Convolutions and dense layers: exact sums by floating-point products, then requantization.

A form holds the data derived from weights and bias. It is bound to an input, an output and memory
for temporaries; the bound function allocates nothing, so that a runtime can bind it once for all
runs.

Tests: tests/unit/ops/q/test_prepared.py
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rlx.ops.numerics.products import exact_float, sum_range
from rlx.ops.numerics.requantizer import AccumulatorRequantizer, Requantization
from rlx.ops.q.linear_view import Linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array
    from rlx.ir.op import Evaluator
    from rlx.ops.numerics.requantizer import Int8, Take
    from rlx.ops.q.conv import QConv2d
    from rlx.ops.q.linear import QDense

    Run: TypeAlias = Callable[[], object]

Float: TypeAlias = npt.NDArray[np.floating[Any]]

_BLOCK_SUMS = 1 << 16
"""Sums that are computed at a time, so that they and their inputs stay in the cache."""


def prepare_dense(op: QDense, w: Array, bias: Array) -> Evaluator:
    """Return the evaluator of a dense layer with these weights; int16 has no faster form."""
    form = cache(partial(DenseForm, op, w, bias))

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        x = operands[0]
        if x.dtype.itemsize > 1:
            return op.evaluate(x, w, bias)
        out = np.empty((*x.shape[:-1], len(w)), np.int8)
        for run in form().bind(x, out, np.empty):
            run()
        return (out,)

    return evaluate


def prepare_conv(op: QConv2d, w: Array, bias: Array) -> Evaluator:
    """Return the evaluator of a convolution with these weights; int16 has no faster form."""
    form = cache(partial(ConvForm, op, w, bias))

    def evaluate(*operands: Array) -> tuple[Array, ...]:
        x = operands[0]
        if x.dtype.itemsize > 1:
            return op.evaluate(x, w, bias)
        size = op.window.output_size((x.shape[1], x.shape[2]))
        out = np.empty((len(x), *size, len(w)), np.int8)
        for run in form().bind(x, out, np.empty):
            run()
        return (out,)

    return evaluate


def _requantizer(op: QConv2d | QDense, w: Array, bias: Array) -> AccumulatorRequantizer:
    """Return the requantizer of sums of inputs whose zero point is not subtracted."""
    linear = Linear.of(op, w, bias)
    what = Requantization(
        rescale=op.rescale, offset=linear.bias, zero_point=op.zero_point, low=op.low, high=op.high
    )
    return AccumulatorRequantizer(what, *sum_range(linear.weights.T))


class DenseForm:
    """A dense layer with its weights."""

    def __init__(self, op: QDense, w: Array, bias: Array) -> None:
        columns = w.T
        self._matrix = np.ascontiguousarray(columns.astype(exact_float(columns)))
        self._requantizer = _requantizer(op, w, bias)

    def bind(self, x: Array, out: Int8, take: Take) -> list[Run]:
        """Return the calls that compute ``out`` int8[..., N] from ``x`` int8[..., K].

        ``take`` returns memory for temporaries, which a call need not keep for the next one.
        """
        inner, outputs = self._matrix.shape
        rows = take((out.size // max(outputs, 1), inner), self._matrix.dtype)
        sums = take((len(rows), outputs), rows.dtype)
        return [
            partial(np.copyto, rows.reshape(x.shape), x),
            partial(np.matmul, rows, self._matrix, sums),
            *self._requantizer.bind(sums, out.reshape(sums.shape), take),
        ]


class ConvForm:
    """A convolution with its weights: sums of a block of images, then their requantization."""

    def __init__(self, op: QConv2d, w: Array, bias: Array) -> None:
        self._op = op
        self._dtype = exact_float(w.reshape(len(w), -1).T)
        self._requantizer = _requantizer(op, w, bias)
        self._depthwise = op.groups > 1 and w.shape[-1] == 1
        # [KH, KW, O], or a matrix [KH * KW * C / groups, O / groups] for each group.
        self._weights = [
            np.ascontiguousarray(part.astype(self._dtype))
            for part in (
                [w[..., 0].transpose(1, 2, 0)]
                if self._depthwise
                else [g.reshape(len(g), -1).T for g in np.split(w, op.groups)]
            )
        ]

    def bind(self, x: Array, out: Int8, take: Take) -> list[Run]:
        """Return the calls that compute ``out`` int8[N, OH, OW, O] from ``x`` int8[N, H, W, C].

        ``take`` returns memory for temporaries, which a call need not keep for the next one.
        """
        if not out.size:
            return []
        step = min(max(1, _BLOCK_SUMS // out[0].size), len(x))
        padded, runs = self._pad_input(x, step, take)
        sums = take((step, *out.shape[1:]), self._dtype)
        bind = self._slide if self._depthwise else self._multiply
        first = bind(padded, sums, take)
        (top, _), (left, _) = self._op.window.padding
        interior = padded[:, top : top + x.shape[1], left : left + x.shape[2]]
        middle = interior.reshape(*interior.shape[:3], -1, interior.shape[3] // x.shape[3])
        for start in range(0, len(x), step):
            part, result = x[start : start + step], out[start : start + step]
            count = len(part)
            # A last block with fewer images computes the sums of old ones, and drops them.
            runs.append(partial(np.copyto, middle[:count], part[..., np.newaxis]))
            runs += first
            rows = sums[:count].reshape(-1, out.shape[-1])
            runs += self._requantizer.bind(rows, result.reshape(rows.shape), take)
        return runs

    def _pad_input(self, x: Array, step: int, take: Take) -> tuple[Float, list[Run]]:
        """Return memory for ``step`` images with padding, and the calls that fill the padding.

        Of a depthwise convolution, each channel occurs once for each of its outputs.
        """
        op, window = self._op, self._op.window
        channels = self._weights[0].shape[-1] if self._depthwise else x.shape[3]
        (top, bottom), (left, right) = window.padding
        height, width = x.shape[1:3]
        shape = (step, top + height + bottom, left + width + right, channels)
        padded = take(shape, self._dtype)
        zero = np.array(op.x_zero_point, self._dtype)
        slabs = [
            padded[:, :top], padded[:, top + height :],
            padded[:, top : top + height, :left], padded[:, top : top + height, left + width :],
        ]  # fmt: skip
        return padded, [partial(np.copyto, slab, zero) for slab in slabs if slab.size]

    def _multiply(self, padded: Float, sums: Float, take: Take) -> list[Run]:
        """Return the calls that sum windows by a matrix product for each group."""
        groups = self._op.groups
        views = self._op.window.views(padded)
        inner, outputs = self._weights[0].shape
        pixels = sums.size // sums.shape[-1]
        if groups == 1 and views.flags.c_contiguous:
            # The image is the matrix already: windows of one pixel, or of whole rows in a row.
            return [_product(views.reshape(pixels, inner), self._weights[0], sums)]
        # One product of two long dimensions, not one for each row of the image.
        rows = take((pixels, inner), self._dtype)
        part = sums if groups == 1 else take((pixels, outputs), self._dtype)
        depth = padded.shape[-1] // groups
        runs: list[Run] = []
        for g, matrix in enumerate(self._weights):
            view = views[..., depth * g : depth * (g + 1)]
            runs.append(partial(np.copyto, rows.reshape(view.shape), view))
            runs.append(_product(rows, matrix, part))
            if groups > 1:
                target = sums.reshape(pixels, -1)[:, outputs * g : outputs * (g + 1)]
                runs.append(partial(np.copyto, target, part))
        return runs

    def _slide(self, padded: Float, sums: Float, take: Take) -> list[Run]:
        """Return the calls that sum taps [KH, KW, O] times shifted images."""
        del take
        (taps,) = self._weights
        views = self._op.window.views(padded)
        batch, rows, columns, kernel_h, kernel_w, channels = views.shape
        if self._op.window.stride[1] > 1:
            apart = sums.reshape(batch, rows, columns, channels)
            return [partial(np.einsum, "nrchwx,hwx->nrcx", views, taps, out=apart)]
        # Columns and channels are adjacent, as one long axis: fewer, longer loops.
        shifted = views.transpose(0, 1, 3, 4, 2, 5).reshape(
            batch, rows, kernel_h, kernel_w, columns * channels
        )
        out, tiled = sums.reshape(batch, rows, columns * channels), np.tile(taps, columns)
        return [partial(np.einsum, "nrhwx,hwx->nrx", shifted, tiled, out=out)]


def _product(rows: Float, matrix: Float, sums: Float) -> Run:
    """Return a call that computes a matrix product."""
    out = sums.reshape(len(rows), -1)
    return partial(np.dot, rows, matrix, out)
