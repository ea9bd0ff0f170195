"""Pictures as samples (extra ``images``).

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir.inspect import printable
from rlx.ir.types import DType
from rlx.samples.shapes import sample_shape
from rlx.support.errors import FrontendError, ToolMissingError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from rlx.ir import TensorType, Value
    from rlx.samples.scaling import Scaling

    Numbers = npt.NDArray[Any]

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""Modes of Pillow by number of channels."""

_BYTES = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
"""Modes of at most 8 bits a channel."""


def read_picture(path: Path, value: Value, scaling: Scaling) -> tuple[Numbers, str]:
    """Return a picture as a sample of an input, and the conversion of its pixels.

    Pictures in grey, of a palette and in colour are converted to the input's channels. Without a
    scaling, 0 to 255 are spread over the range of an 8-bit input, and over 0 to 1 for floats.

    Raises:
        UsageError: Its size is not the input's, or the input does not accept pictures.
        FrontendError: It is damaged.
        ToolMissingError: Pillow is not installed.
    """
    type_ = value.type
    height, width, channels, first = _layout(value, path.name)
    pixels = _pixels(path, (height, width), _MODES[channels])
    pixels = pixels.reshape(height, width, channels)
    if scaling.given or type_.dtype.is_float:
        numbers: Numbers = scaling.apply(pixels, default=1 / 255, where=path.name)
        note = "pixels of 0 to 255 were scaled as asked"
        if not scaling.given:
            note = "pixels of 0 to 255 were scaled to 0 to 1; --scale, --mean and --std change that"
    else:
        numbers, note = _to_integers(pixels, type_, path.name)
    shaped = np.moveaxis(numbers, -1, 0) if first else numbers
    return shaped.reshape(sample_shape(type_)), note


def _to_integers(pixels: Numbers, type_: TensorType, file: str) -> tuple[Numbers, str]:
    """Return pixels as integers of an 8-bit input."""
    if type_.dtype not in (DType.I8, DType.U8):
        raise UsageError(
            f"its pixels have 8 bits, but the input is {type_}",
            where=file,
            hint="say how pixels are scaled (--scale), or give a .npy file",
        )
    low = -128 if type_.dtype is DType.I8 else 0
    numbers = (pixels.astype(np.int16) + low).astype(type_.dtype.numpy)
    note = f"pixels of 0 to 255 became the integers {low} to {low + 255} of the input"
    return numbers, note + "; --scale, --mean and --std change that"


def _layout(value: Value, file: str) -> tuple[int, int, int, bool]:
    """Return height, width, number of channels, and whether channels come first.

    Raises:
        UsageError: The input is not a picture.
    """
    shape = sample_shape(value.type)
    if len(shape) == 2:
        return shape[0], shape[1], 1, False
    for channels in _MODES if len(shape) == 3 else ():
        if shape[2] == channels:
            return shape[0], shape[1], channels, False
        if shape[0] == channels:
            return shape[1], shape[2], channels, True
    raise UsageError(
        f"is a picture, but input {printable(value.name)!r} is {value.type}",
        where=file,
        hint="a picture needs [height, width, channels]; give a .npy file",
    )


def _pixels(path: Path, size: tuple[int, int], mode: str) -> npt.NDArray[np.uint8]:
    """Return the pixels in ``mode``.

    Raises:
        UsageError: It has another size, or more than 8 bits a channel.
        FrontendError: It is damaged.
        ToolMissingError: Pillow is not installed.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ToolMissingError(
            "reading pictures needs the package 'pillow'",
            where=path.name,
            hint="pip install 'rlx[images]'",
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures: the size is checked here
            with Image.open(path, formats=("PNG",)) as picture:
                _check(picture.size, picture.mode, size, path.name)
                return np.asarray(picture.convert(mode), np.uint8)
    except UnidentifiedImageError:
        raise FrontendError(
            "expected a PNG file", where=path.name, hint="save it as .png"
        ) from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise FrontendError(
            f"is a damaged picture: {printable(str(error))}", where=path.name, hint="save it again"
        ) from None


def _check(actual: tuple[int, int], mode: str, size: tuple[int, int], file: str) -> None:
    """Check size (of the header: nothing is unpacked yet) and depth of a picture."""
    height, width = size
    if actual != (width, height):
        raise UsageError(
            f"is {actual[0]} x {actual[1]} pixels, but the input takes {width} x {height}",
            where=file,
            hint=f"resize it as for training, such as: convert {file} -resize {width}x{height}!"
            " out.png",
        )
    if mode not in _BYTES:
        raise UsageError(
            "has more than 8 bits for each channel", where=file, hint="save it with 8 bits"
        )
