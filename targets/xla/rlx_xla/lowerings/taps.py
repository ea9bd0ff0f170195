"""Windows over images as strided slices, one for each tap.

Tests: tests/targets/xla/test_every_op.py
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax

from rlx.ops.real import SpatialWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rlx.ops.q import Window
    from rlx_xla.rules import Traced


def spatial(window: Window | SpatialWindow) -> SpatialWindow:
    """Return a window of any number of axes."""
    if isinstance(window, SpatialWindow):
        return window
    return SpatialWindow(window.kernel, window.stride, window.dilation, window.padding)


def padded(x: Traced, window: SpatialWindow, value: object) -> Traced:
    """Return ``x`` [N, spatial..., C] with a constant around its spatial axes."""
    if not window.is_padded:
        return x
    edges = [(before, after, 0) for before, after in window.padding]
    return lax.pad(x, jnp.asarray(value, x.dtype), [(0, 0, 0), *edges, (0, 0, 0)])


def taps(x: Traced, window: SpatialWindow) -> Iterator[tuple[tuple[int, ...], Traced]]:
    """Yield each tap with the elements there of all windows, [N, output size..., C].

    Args:
        x: The image with its padding.
        window: The window.
    """
    for tap in product(*map(range, window.kernel)):
        view = x
        for axis, index in enumerate(tap):
            view = _along(view, window, axis, index)
        yield tap, view


def combine(x: Traced, window: SpatialWindow, function: Callable[..., Traced]) -> Traced:
    """Return an associative function of the elements of each window, one axis after the other.

    Args:
        x: The image with its padding.
        window: The window.
        function: A function of two arrays.
    """
    for axis, count in enumerate(window.kernel):
        total = _along(x, window, axis, 0)
        for index in range(1, count):
            total = function(total, _along(x, window, axis, index))
        x = total
    return x


def _along(x: Traced, window: SpatialWindow, axis: int, index: int) -> Traced:
    """Return the elements at one place of all windows along one spatial axis."""
    stride, dilation = window.stride[axis], window.dilation[axis]
    count = (x.shape[axis + 1] - window.extent[axis]) // stride + 1
    start = index * dilation
    return lax.slice_in_dim(x, start, start + (count - 1) * stride + 1, stride, axis + 1)
