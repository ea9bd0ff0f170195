"""Convolutions, through matrix products or tap by tap.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

import math
from functools import partial
from itertools import product as combinations
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rlx.ops import real
from rlx.runtime.numpy_backend.kernels.common import (
    sequence,
    wide_operands,
    wide_result,
)
from rlx.runtime.numpy_backend.kernels.linear import product
from rlx.runtime.numpy_backend.kernels.shape import padding
from rlx.runtime.numpy_backend.step import KERNELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.runtime.numpy_backend.kernels.common import Numbers
    from rlx.runtime.numpy_backend.step import BoundStep, Run
    from rlx.runtime.numpy_backend.workspace import Workspace

_BLOCK_BYTES: Final = 1 << 19
"""Bytes of rows that stay in the cache."""


@KERNELS.rule(real.RealConv)
def _conv(step: BoundStep) -> Run:
    op = step.node.op
    assert isinstance(op, real.RealConv)
    runs: list[Run] = []
    x, w = wide_operands(step, runs)
    result, after = wide_result(step.outputs[0], step.workspace)
    fixed = step.constants[1] is not None
    image = Convolution(op, x, w, result, step.workspace, fixed=fixed)
    return sequence([*runs, *image.runs(), *after])


class Convolution:
    """A convolution in blocks of images that stay in the cache.

    Along the last spatial axis windows are copied next to each other, as rows that each hold a row
    of the kernel. Every row of the kernel is then one product with some of these rows. So an image
    is copied once for each tap of a row, not for each tap of the kernel.
    """

    def __init__(
        self,
        op: real.RealConv,
        x: Numbers,
        w: Numbers,
        out: Numbers,
        workspace: Workspace,
        *,
        fixed: bool,
    ) -> None:
        """Take memory.

        Args:
            op: The op.
            x: [N, spatial..., C].
            w: [O, kernel..., C / groups].
            out: [N, output size..., O], one run of bytes.
            workspace: Memory while a run lasts.
            fixed: Whether ``w`` never changes.
        """
        self._window, self._groups = op.window, op.groups
        self._x, self._out, self._workspace = x, out, workspace
        self._begin: list[Run] = []
        self._weights = self._order_weights(w, fixed=fixed)
        nbytes = self._row_size * x.itemsize
        self._images = min(max(_BLOCK_BYTES // max(nbytes, 1), 1), len(x))
        self._padded = self._with_padding()
        groups = 1 if self._depthwise else op.groups
        part = (self._images, *out.shape[1:-1], out.shape[-1] // groups)
        self._rows = workspace.take((self._images * self._row_size // groups,), x.dtype)
        self._term = workspace.take(part, x.dtype)
        self._part = workspace.take(part if groups > 1 else (0,), x.dtype)

    @property
    def _depthwise(self) -> bool:
        """Whether each group has one input channel."""
        return self._groups > 1 and self._x.shape[-1] == self._groups

    @property
    def _row_size(self) -> int:
        """Number of elements in the rows of one image."""
        window = self._window
        if not window.rank:
            return int(self._x.shape[-1])
        sizes = [
            n + before + after
            for n, (before, after) in zip(self._x.shape[1:-2], window.padding, strict=False)
        ]
        along = int(self._out.shape[-2]) * window.kernel[-1]
        return int(math.prod(sizes)) * along * int(self._x.shape[-1])

    def _order_weights(self, w: Numbers, *, fixed: bool) -> Numbers:
        """Return weights in the order of the products.

        [kernel..., C / groups, O], and [groups, kernel..., C / groups, O / groups] where a product
        is computed for each group.
        """
        if self._groups == 1 or self._depthwise:
            view = np.moveaxis(w, 0, -1)
        else:
            view = np.moveaxis(w.reshape(self._groups, -1, *w.shape[1:]), 1, -1)
        if fixed:
            return np.ascontiguousarray(view)
        ordered = self._workspace.take(view.shape, w.dtype)
        self._begin.append(partial(np.copyto, ordered, view))
        return ordered

    def _with_padding(self) -> Numbers:
        """Return memory for a block of images with padding, which is filled at the begin."""
        pads = ((0, 0), *self._window.padding, (0, 0))
        first = self._x[: self._images]
        sizes = zip(pads, first.shape, strict=True)
        shape = tuple(before + n + after for (before, after), n in sizes)
        if not self._window.is_padded:
            return first
        padded = self._workspace.take(shape, first.dtype)
        before = [b for b, _ in pads]
        *slabs, _ = padding(padded, first, before, (0,) * first.ndim, 0)
        self._begin += slabs
        return padded

    def runs(self, after: Callable[[slice], list[Run]] | None = None) -> list[Run]:
        """Return the calls that compute the convolution.

        Args:
            after: Returns the calls that follow the block of these images.
        """
        if not self._out.size:
            return []
        runs = list(self._begin)
        for start in range(0, len(self._x), self._images):
            block = slice(start, min(start + self._images, len(self._x)))
            runs += self._block(self._x[block], self._out[block])
            if after is not None:
                runs += after(block)
        return runs

    def _block(self, x: Numbers, out: Numbers) -> list[Run]:
        """Return the calls for some images."""
        runs: list[Run] = []
        if self._window.is_padded:
            padded = self._padded[: len(x)]
            borders = zip(self._window.padding, x.shape[1:-1], strict=True)
            interior = tuple(slice(before, before + n) for (before, _), n in borders)
            runs.append(partial(np.copyto, padded[(slice(None), *interior)], x))
            x = padded
        if self._groups == 1:
            return [*runs, *self._products(x, self._weights, out)]
        if self._depthwise:
            return [*runs, *self._taps(x, out)]
        images, results = (np.split(a, self._groups, axis=-1) for a in (x, out))
        part = self._part[: len(x)]
        for image, weights, result in zip(images, self._weights, results, strict=True):
            runs += self._products(image, weights, part)
            runs.append(partial(np.copyto, result, part))
        return runs

    def _products(self, x: Numbers, weights: Numbers, out: Numbers) -> list[Run]:
        """Return the calls for some images with padding, and weights [kernel..., C, O]."""
        window, inner = self._window, weights.shape[-2]
        if math.prod(window.kernel) == math.prod(window.stride) == 1:
            return [product(x, weights.reshape(weights.shape[-2:]), out)]
        rows = self._along(x, out.shape[-2])
        runs: list[Run] = []
        if window.kernel[-1] > 1:
            size = math.prod(rows.shape)
            copied = self._rows[:size].reshape(rows.shape)
            runs.append(partial(np.copyto, copied, rows))
            rows = copied
        rows = rows.reshape(*rows.shape[:-2], window.kernel[-1] * inner)
        target = out
        for tap in combinations(*map(range, window.kernel[:-1])):
            slices = tuple(
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, d, s, n in zip(
                    tap, window.dilation, window.stride, out.shape[1:-2], strict=False
                )
            )
            matrix = weights[tap].reshape(rows.shape[-1], -1)
            runs.append(_rows_times(rows[(slice(None), *slices)], matrix, target))
            if target is not out:
                runs.append(partial(np.add, out, target, out))
            target = self._term[: len(x)]
        return runs

    def _along(self, x: Numbers, size: int) -> Numbers:
        """Return a view [N, all but the last spatial axis..., size, taps, C] of windows."""
        window = self._window
        *before, along, channel = x.strides
        taps = (along * window.stride[-1], along * window.dilation[-1], channel)
        shape = (*x.shape[:-2], size, window.kernel[-1], x.shape[-1])
        return as_strided(x, shape, (*before, *taps), writeable=False)

    def _taps(self, x: Numbers, out: Numbers) -> list[Run]:
        """Return the calls for some images with padding, of one input channel for each group."""
        kernels = self._weights.reshape(*self._window.kernel, x.shape[-1], -1)
        total = out.reshape(*out.shape[:-1], x.shape[-1], -1)
        term = self._term[: len(x)].reshape(total.shape)
        target = total
        runs: list[Run] = []
        for tap, view in self._window.taps(x):
            runs.append(partial(np.multiply, view[..., np.newaxis], kernels[tap], target))
            if target is term:
                runs.append(partial(np.add, total, term, total))
            target = term
        return runs


def _rows_times(rows: Numbers, matrix: Numbers, out: Numbers) -> Run:
    """Return a call that multiplies rows [N, places..., K], strided maybe, by a matrix [K, O]."""
    long = rows.reshape(len(rows), -1, rows.shape[-1])
    if np.may_share_memory(long, rows):
        # One long product for each image, not one for each row of it.
        return product(long, matrix, out.reshape(len(out), -1, out.shape[-1]))
    return partial(np.matmul, rows, matrix, out)
