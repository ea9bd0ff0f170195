"""Place of the channels among the axes of an image.

Tests: tests/unit/ops/nn/test_shape.py
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx.ir import TensorType
    from rlx.ops.expression import Expression


def to_channels_last(rank: int) -> tuple[int, ...]:
    """Return the order of the axes of ``[N, C, ...]`` that makes ``[N, ..., C]``."""
    return (0, *range(2, rank), 1)


def to_channels_first(rank: int) -> tuple[int, ...]:
    """Return the order of the axes of ``[N, ..., C]`` that makes ``[N, C, ...]``."""
    return (0, rank - 1, *range(1, rank - 1))


class Layout(enum.Enum):
    """Order of an image's axes, and of a convolution's weights.

    ``CHANNELS_LAST``: images [N, spatial..., C], weights [O, kernel..., C / groups] (NHWC, OHWI).
    ``CHANNELS_FIRST``: images [N, C, spatial...], weights [O, C / groups, kernel...] (NCHW, OIHW).
    """

    CHANNELS_LAST = "channels_last"
    CHANNELS_FIRST = "channels_first"

    def to_last(self, x: Expression) -> Expression:
        """Return an image or weights of this layout with the channels last."""
        if self is Layout.CHANNELS_LAST:
            return x
        return x.transpose(*to_channels_last(x.ndim))

    def from_last(self, x: Expression) -> Expression:
        """Return an image with the channels last in this layout."""
        if self is Layout.CHANNELS_LAST:
            return x
        return x.transpose(*to_channels_first(x.ndim))

    def type_to_last(self, x: TensorType) -> TensorType:
        """Return the type of an image or weights after ``to_last``."""
        if self is Layout.CHANNELS_LAST or x.rank < 2:
            return x
        return x.with_shape((x.shape[0], *x.shape[2:], x.shape[1]))
