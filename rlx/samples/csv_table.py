"""Tables of numbers as samples: ``.csv`` files, one sample a row.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.inspect import printable
from rlx.samples.integers import in_type
from rlx.samples.shapes import sample_shape
from rlx.support.errors import FrontendError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from rlx.ir import Value

    Numbers = npt.NDArray[Any]

LABELS: Final = ("label", "labels", "class", "y")
"""Headings of a column of classes."""

_MAX_BYTES: Final = 256 << 20
"""Bytes of a table."""
_DELIMITERS: Final = ",;\t"


def read_csv(path: Path, value: Value) -> dict[str, Numbers]:
    """Return a table as samples of an input, and the column of classes as ``y`` if it has one.

    Integers for an integer input are used unchanged; numbers with a point are floats.

    Raises:
        UsageError: The number of columns is not that of the input's elements.
        FrontendError: It is not a table of numbers.
    """
    headings, rows, whole = read_table(path)
    samples: dict[str, Numbers] = {}
    class_column = label_column(headings)
    if class_column is not None:
        samples["y"] = _classes(rows[:, class_column], path.name)
        rows = np.delete(rows, class_column, axis=1)
    shape = sample_shape(value.type)
    size = math.prod(shape)
    if rows.shape[1] != size:
        raise UsageError(
            f"has {rows.shape[1]} columns of numbers, but input {printable(value.name)!r} is"
            f" {value.type}: {size} numbers",
            where=path.name,
            hint="write a sample in each row; a column of classes needs the heading 'label'",
        )
    samples[value.name] = _typed(rows, value, path.name, whole=whole).reshape(-1, *shape)
    return samples


def read_table(path: Path) -> tuple[list[str], npt.NDArray[np.float64], bool]:
    """Return the headings (none if the first row holds numbers), the rows, and if all are integers.

    Raises:
        FrontendError: It is not a table of numbers.
    """
    lines = _lines(path)
    delimiter = max(_DELIMITERS, key=lambda mark: lines[0].count(mark))
    try:
        records = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error as error:
        raise FrontendError(
            f"is not a CSV table: {error}",
            where=path.name,
            hint="write numbers, separated by commas",
        ) from None
    cells = [row for row in records if any(cell.strip() for cell in row)]
    headings: list[str] = []
    if cells and any(_number(cell) is None for cell in cells[0]):
        headings = [cell.strip().lower() for cell in cells.pop(0)]
    if not cells:
        raise FrontendError("holds no rows of numbers", where=path.name, hint="give at least one")
    first = len(headings) or len(cells[0])
    numbers = np.empty((len(cells), first))
    for k, row in enumerate(cells):
        numbers[k] = _row(row, first, f"{path.name}: row {k + 1}")
    whole = not any(mark in cell for row in cells for cell in row for mark in ".eEnN")
    return headings, numbers, whole


def label_column(headings: list[str]) -> int | None:
    """Return the place of the column of classes."""
    return next((k for k, heading in enumerate(headings) if heading in LABELS), None)


def _lines(path: Path) -> list[str]:
    if path.stat().st_size > _MAX_BYTES:
        raise FrontendError(
            f"has {path.stat().st_size} bytes, more than the {_MAX_BYTES} that are read",
            where=path.name,
            hint="write it with numpy.save",
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise FrontendError(
            f"cannot be read as text: {printable(str(error))}",
            where=path.name,
            hint="write numbers, separated by commas, in UTF-8",
        ) from None
    return lines or [""]


def _row(row: list[str], size: int, where: str) -> list[float]:
    if len(row) != size:
        raise FrontendError(
            f"expected {size} numbers as in the first row, got {len(row)}",
            where=where,
            hint="write rows of equal length",
        )
    numbers = []
    for k, cell in enumerate(row):
        number = _number(cell)
        if number is None:
            raise FrontendError(
                f"expected a number, got {printable(cell)!r}",
                where=f"{where}, column {k + 1}",
                hint="write numbers, with a point, separated by commas",
            )
        numbers.append(number)
    return numbers


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _classes(column: npt.NDArray[np.float64], file: str) -> Numbers:
    if not np.array_equal(column, np.rint(column)):
        raise FrontendError(
            "its column of classes holds numbers that are not whole",
            where=file,
            hint="number the classes from 0",
        )
    return column.astype(np.int64)


def _typed(rows: Numbers, value: Value, file: str, *, whole: bool) -> Numbers:
    """Return integers in the element type of an integer input; others as float32.

    Raises:
        UsageError: The type has no such value.
    """
    type_ = value.type
    if not (type_.dtype.is_integer and whole):
        return rows.astype(np.float32)
    hint = "write floats with a decimal point, scaled as in training: rlx quantizes them"
    return in_type(rows, type_, file, hint=hint)
