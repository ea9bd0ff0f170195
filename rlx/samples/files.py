"""Samples of one file, of several, or of a folder.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.inspect import printable
from rlx.samples.csv_table import read_csv
from rlx.samples.pictures import read_picture
from rlx.samples.scaling import Scaling
from rlx.samples.sounds import read_sound
from rlx.support.errors import UsageError
from rlx.support.files.arrays import read_arrays
from rlx.support.files.missing import missing_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from rlx.ir import Value

    Numbers = npt.NDArray[Any]

FORMS: Final = ".npy, .npz, .png, .wav or .csv"

_SINGLE: Final = {".png": read_picture, ".wav": read_sound}
"""Readers of files that hold one sample."""

_CONVERTED: Final = dict.fromkeys((".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif"), ".png")
_CONVERTED.update(dict.fromkeys((".mp3", ".flac", ".ogg", ".m4a"), ".wav of 8 or 16 bits"))
"""Formats that files of other kinds are to be converted to."""

_MAX_FILES: Final = 100_000
"""Files of a folder."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Contents of files.

    Attributes:
        arrays: Arrays [samples, ...] by name: an input's own, or ``x``; ``y`` for labels.
        names: Name of each sample, if each came from a file of its own.
        notes: Changes made to the values, in a line each.
    """

    arrays: Mapping[str, Numbers]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def is_array_file(path: Path) -> bool:
    """Return whether a file is one of NumPy's, or will be refused as one."""
    return path.is_file() and _kind(path) == ".npy"


def read(paths: Sequence[Path], inputs: Sequence[Value], scaling: Scaling | None = None) -> Loaded:
    """Read samples for the inputs of a network.

    Args:
        paths: A ``.npy``, ``.npz`` or ``.csv`` file; or pictures or sounds, one sample each, or a
            folder of them, in the order of their names.
        inputs: The network's inputs; their dimensions are integers.
        scaling: Conversion of pixels and samples of sounds to floats.

    Raises:
        UsageError: The file does not exist, or does not fit the inputs.
        FrontendError: A file is damaged.
        ToolMissingError: Pictures need a package that is not installed.
    """
    files = [file for path in paths for file in _files_of(path)]
    kinds = {_kind(file) for file in files}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if kind in _SINGLE:
        return _read_single(files, kind, inputs, scaling or Scaling())
    if len(files) != 1:
        raise UsageError(
            f"there are {len(files)} files, and not all of them pictures or all of them sounds",
            where="samples",
            hint="give one .npy, .npz or .csv file, or only .png or only .wav files",
        )
    (path,) = files
    if kind in _CONVERTED:
        raise UsageError(
            f"a {kind} file is not read", where=path.name, hint=f"save it as {_CONVERTED[kind]}"
        )
    if scaling is not None and scaling.given:
        raise UsageError(
            "expected pictures or sounds for --scale, --mean and --std",
            where=path.name,
            hint="scale the numbers in the file, and leave --scale, --mean and --std out",
        )
    if kind == ".csv":
        return Loaded(read_csv(path, alone(inputs, path.name)))
    arrays = read_arrays(path)
    if isinstance(arrays, dict):
        return Loaded(arrays)
    return Loaded({inputs[0].name if inputs else "x": arrays})


def _read_single(
    files: Sequence[Path], kind: str, inputs: Sequence[Value], scaling: Scaling
) -> Loaded:
    """Read files of one sample each."""
    value = alone(inputs, files[0].name)
    found = [_SINGLE[kind](file, value, scaling) for file in files]
    arrays = np.stack([array for array, _ in found])
    notes = tuple(dict.fromkeys(note for _, note in found))
    return Loaded({value.name: arrays}, tuple(file.name for file in files), notes)


def alone(inputs: Sequence[Value], file: str) -> Value:
    """Return the only input.

    Raises:
        UsageError: There are several: only an archive can name them.
    """
    if len(inputs) != 1:
        names = ", ".join(repr(printable(value.name)) for value in inputs)
        raise UsageError(
            f"holds one array, but the network has the inputs {names}",
            where=file,
            hint="give a .npz file with an array for each (numpy.savez)",
        )
    return inputs[0]


def _files_of(path: Path) -> list[Path]:
    """Return a file, or the pictures or sounds of a folder by name."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise missing_file(path, f"give a {FORMS} file", where="samples")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _SINGLE)
    if not files:
        raise UsageError(
            f"the folder {str(path)!r} holds no .png and no .wav files",
            where="samples",
            hint=f"give a {FORMS} file, or a folder of pictures or of sounds",
        )
    if len(files) > _MAX_FILES:
        raise UsageError(
            f"the folder {str(path)!r} holds {len(files):,} files, expected at most {_MAX_FILES:,}",
            where="samples",
            hint="give a part of them, or a .npz file",
        )
    return files


def _kind(path: Path) -> str:
    """Return the kind of a file's contents, as a suffix: ``.npy`` for ``.npz`` too."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError:
        return ".npy"  # its reader says why it cannot be read
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return ".png"
    if start[:4] == b"RIFF" and start[8:] == b"WAVE":
        return ".wav"
    suffix = path.suffix.lower()
    return suffix if suffix in (*_SINGLE, *_CONVERTED, ".csv") else ".npy"
