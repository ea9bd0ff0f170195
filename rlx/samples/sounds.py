"""Sounds as samples: ``.wav`` files of 8 or 16 bits.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

import math
import struct
import wave
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ir.inspect import printable
from rlx.ir.types import DType
from rlx.samples.shapes import sample_shape
from rlx.support.errors import FrontendError, UsageError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from rlx.ir import Value
    from rlx.samples.scaling import Scaling

    Numbers = npt.NDArray[Any]


def read_sound(path: Path, value: Value, scaling: Scaling) -> tuple[Numbers, str]:
    """Return a sound as a sample of an input, and the conversion of its values.

    Without a scaling they become -1 to 1, or are unchanged for int16 without a scale.

    Raises:
        UsageError: Its length is not the input's.
        FrontendError: It is damaged, or in a form that is not read.
    """
    stored, full = _stored(path, value)
    shape = sample_shape(value.type)
    whole = value.type.dtype is DType.I16 and value.type.quant is None
    if whole and full == 1 << 15 and not scaling.given:
        return stored.astype(np.int16).reshape(shape), "samples of 16 bits were taken as they are"
    numbers = scaling.apply(stored, default=1 / full, where=path.name)
    note = "samples were scaled as asked"
    if not scaling.given:
        note = "samples were scaled to -1 to 1; --scale, --mean and --std change that"
    return numbers.reshape(shape), note


def _stored(path: Path, value: Value) -> tuple[Numbers, int]:
    """Return signed integers [samples, channels], and the integer that represents 1."""
    try:
        with path.open("rb") as file, wave.open(file) as sound:
            channels, width, count = (
                sound.getnchannels(), sound.getsampwidth(), sound.getnframes(),
            )  # fmt: skip
            _check(path.name, value, channels, width, count)
            content = sound.readframes(count)
    except (wave.Error, EOFError, RuntimeError, struct.error) as error:
        raise FrontendError(
            f"expected PCM sound of 8 or 16 bits: {printable(str(error)) or 'it ends too soon'}",
            where=path.name,
            hint="convert it, such as: ffmpeg -i IN -c:a pcm_s16le OUT.wav",
        ) from None
    if len(content) != count * channels * width:
        raise FrontendError(
            f"ends after {len(content)} of {count * channels * width} bytes",
            where=path.name,
            hint="save it again",
        )
    # 8 bits of PCM are unsigned, more are signed (RIFF WAVE).
    if width == 1:
        return np.frombuffer(content, np.uint8).astype(np.int16).reshape(-1, channels) - 128, 128
    return np.frombuffer(content, "<i2").reshape(-1, channels), 1 << 15


def _check(file: str, value: Value, channels: int, width: int, count: int) -> None:
    """Check a sound against an input, before it is read.

    Raises:
        UsageError: It has another length, or more bits.
    """
    if width > 2:
        raise UsageError(
            f"has {8 * width} bits a sample, 8 and 16 are read",
            where=file,
            hint="convert it, such as: ffmpeg -i IN -c:a pcm_s16le OUT.wav",
        )
    shape = sample_shape(value.type)
    size = math.prod(shape)
    if count * channels != size or (channels > 1 and shape[-1:] != (channels,)):
        raise UsageError(
            f"holds {counted(count, 'sample')} of {counted(channels, 'channel')}, but input"
            f" {printable(value.name)!r} is {value.type}",
            where=file,
            hint="cut it to the input's length; a network of features, such as a spectrogram,"
            " takes a .npy file of them",
        )
