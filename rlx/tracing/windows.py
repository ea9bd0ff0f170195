"""Accepted forms of kernels, strides and padding.

Tests: tests/unit/tracing/test_graph.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rlx.ops.real import SpatialWindow
from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import TensorType

Steps: TypeAlias = "int | Sequence[int]"
"""An integer for each spatial axis, or one for all of them."""

Pairs: TypeAlias = tuple[tuple[int, int], ...]

Pads: TypeAlias = "int | str | Sequence[int | tuple[int, int]]"
"""``"valid"`` (none), ``"same"``, or an integer or pair for all spatial axes or each of them."""


def steps(what: str, argument: Steps, rank: int) -> tuple[int, ...]:
    """Return one integer for each of ``rank`` spatial axes.

    Raises:
        ValueError: There are too few or too many.
    """
    numbers = (argument,) * rank if isinstance(argument, int) else tuple(argument)
    if len(numbers) != rank:
        raise ValueError(f"{what} needs {rank} numbers, got {argument!r}")
    return numbers


def window_of(
    image: TensorType, kernel: Steps, *, stride: Steps, dilation: Steps, padding: Pads
) -> SpatialWindow:
    """Return the window for an ``image`` with the channels last.

    Raises:
        ShapeError: ``"same"`` is asked of an image with symbolic spatial axes.
        ValueError: An argument has the wrong length or name.
    """
    rank = max(image.rank - 2, 0)
    numbers = (
        steps("kernel", kernel, rank), steps("stride", stride, rank),
        steps("dilation", dilation, rank),
    )  # fmt: skip
    if isinstance(padding, str):
        return _window_by_name(image, padding, *numbers)
    return SpatialWindow(*numbers, _pairs(padding, rank))


def _window_by_name(
    image: TensorType,
    padding: str,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> SpatialWindow:
    """Return the window with padding by name."""
    if padding.lower() == "valid":
        return SpatialWindow(kernel, stride, dilation)
    if padding.lower() != "same":
        raise ValueError(f"padding must be 'same', 'valid' or numbers, got {padding!r}")
    size = tuple(n for n in image.shape[1:-1] if isinstance(n, int))
    if len(size) != len(kernel):
        raise ShapeError(f"'same' needs numbers as spatial axes, got {image}", where="padding")
    return SpatialWindow.same(size, kernel, stride, dilation)


def _pairs(
    padding: int | Sequence[int | tuple[int, int]], rank: int
) -> tuple[tuple[int, int], ...]:
    """Return a pair of integers for each of ``rank`` spatial axes."""
    entries = (padding,) * rank if isinstance(padding, int) else tuple(padding)
    if len(entries) != rank:
        raise ValueError(f"padding needs {rank} numbers or pairs, got {padding!r}")
    return tuple((e, e) if isinstance(e, int) else (e[0], e[1]) for e in entries)
