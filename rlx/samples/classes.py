"""Classes that are expected, and the names of classes.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.inspect import printable
from rlx.samples.csv_table import label_column, read_table
from rlx.support.errors import FrontendError, UsageError
from rlx.support.files.arrays import read_arrays
from rlx.support.files.missing import missing_file

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    Numbers = npt.NDArray[Any]

KEYS: Final = ("y", "labels")
"""Names of the array of classes."""

_MAX_BYTES: Final = 1 << 20
"""Bytes of a file of names."""


def read_classes(path: Path) -> Numbers:
    """Return the class of each sample.

    Args:
        path: ``.npy``; ``.npz`` with ``y``, ``labels`` or one array; or ``.csv`` with one column,
            or one with the heading ``label``, ``class`` or ``y``.

    Raises:
        UsageError: The file does not exist, or holds several arrays or columns.
        FrontendError: It is damaged.
    """
    if not path.is_file():
        raise missing_file(path, "give .npy, .npz or .csv", where="expected classes")
    if path.suffix.lower() == ".csv":
        headings, rows, _ = read_table(path)
        index = label_column(headings) if rows.shape[1] > 1 else 0
        if index is None:
            raise _ambiguous(path, f"{rows.shape[1]} columns", "give one the heading 'label'")
        column = rows[:, index]
        whole = np.array_equal(column, np.rint(column))
        return column.astype(np.int64) if whole else column
    arrays = read_arrays(path)
    if not isinstance(arrays, dict):
        return arrays
    names: list[str] = [name for name in KEYS if name in arrays] or list(arrays)
    if len(names) != 1:
        raise _ambiguous(path, f"{len(names)} arrays", "call the one of classes 'y'")
    return arrays[names[0]]


def _ambiguous(path: Path, what: str, hint: str) -> UsageError:
    return UsageError(f"holds {what}", where=f"expected classes, {path.name}", hint=hint)


def read_names(path: Path) -> list[str]:
    """Return the names of classes, one a line; empty lines at the end are left out.

    Raises:
        UsageError: There is no such file, or it holds an array.
        FrontendError: It is not a text file.
    """
    if not path.is_file():
        raise missing_file(path, "give one name a line", where="labels")
    if path.stat().st_size > _MAX_BYTES:
        raise FrontendError(
            f"has more than {_MAX_BYTES} bytes", where=path.name, hint="give one name a line"
        )
    if path.suffix.lower() in (".npy", ".npz"):
        raise UsageError(
            "holds numbers, expected names of the classes, one a line",
            where=path.name,
            hint="'rlx run' takes the class of each sample as --expect",
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip().splitlines()
    except UnicodeDecodeError:
        raise FrontendError(
            "is not valid UTF-8", where=path.name, hint="save it as UTF-8"
        ) from None
    return [printable(line.strip()) for line in lines]
