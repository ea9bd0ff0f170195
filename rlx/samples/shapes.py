"""The shape of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx.ir import TensorType


def sample_shape(type_: TensorType) -> tuple[int, ...]:
    """Return the shape of one sample of an input: without a leading dimension of 1."""
    shape = type_.static_shape
    return shape[1:] if shape[:1] == (1,) else shape
