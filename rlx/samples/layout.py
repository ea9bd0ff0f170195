"""Samples of images that are channels first where an input is channels last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ops.nn.layout import to_channels_first, to_channels_last
from rlx.passes.channels_last_ports import ChannelsLastPorts

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import Value

    Numbers = npt.NDArray[Any]


def first_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape ``[N, C, ...]`` of an image of the shape ``[N, ..., C]``."""
    return shape if len(shape) < 3 else (shape[0], shape[-1], *shape[1:-1])


def is_channels_first(array_shape: tuple[int, ...], input_shape: tuple[int, ...]) -> bool:
    """Return whether samples are channels first, for an input that is channels last.

    Args:
        array_shape: Shape of the samples, ``[samples, ...]``.
        input_shape: Shape of the input, with its leading dimension of 1.
    """
    first, sample = first_of(input_shape), array_shape[1:]
    return input_shape[:1] == (1,) and (
        sample in (first, first[1:]) and sample not in (input_shape, input_shape[1:])
    )


def order_hint(array_shape: tuple[int, ...], input_shape: tuple[int, ...]) -> str | None:
    """Return a hint for samples whose channels are at another place; None if that is not it.

    Args:
        array_shape: Shape of the samples, ``[samples, ...]``.
        input_shape: Shape of the input, with its leading dimension of 1.
    """
    rank = len(array_shape)
    for axes in (to_channels_last(rank), to_channels_first(rank)):
        turned = tuple(array_shape[a] for a in axes[1:]) if rank > 2 else ()
        if turned and turned == input_shape[1:] != array_shape[1:]:
            text = ", ".join(map(str, axes))
            return f"the channels are at another place: give samples.transpose({text})"
    return None


def was_channels_first(value: Value) -> bool:
    """Return whether an input is channels last where the model's file has it channels first."""
    return ChannelsLastPorts.name in value.node.origin.passes


def fits_as_in_file(value: Value, array_shape: tuple[int, ...]) -> bool:
    """Return whether samples of a shape are channels first, as the file of an input has it."""
    return was_channels_first(value) and is_channels_first(array_shape, value.type.static_shape)


def channels_last(samples: Numbers, input_shape: tuple[int, ...]) -> Numbers:
    """Return samples that :func:`is_channels_first` holds for, channels last."""
    shape = (math.prod(samples.shape[:1]), *first_of(input_shape)[1:])
    return np.ascontiguousarray(np.moveaxis(samples.reshape(shape), 1, -1))
