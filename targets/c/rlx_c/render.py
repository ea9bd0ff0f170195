"""Jinja2 environments of C templates, and their filters.

Tests: tests/targets/c/test_nest.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.support.text import templates
from rlx_c.initializer import MAX_COLUMNS, c_array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import jinja2

    from rlx_c.nest import StridedLoop


def index(
    loops: Sequence[StridedLoop], array: int, start: int = 0, inner: Sequence[StridedLoop] = ()
) -> str:
    """Return the C expression of an element's offset inside nested loops over i0, i1, ...

    Args:
        loops: The loops, outermost first.
        array: Index of the array among those of the loops.
        start: Offset of the first element.
        inner: More loops inside, whose array has the same index.
    """
    terms = [str(start)] if start else []
    for depth, loop in enumerate((*loops, *inner)):
        stride = loop.strides[array]
        if stride:
            terms.append(f"i{depth}" if stride == 1 else f"i{depth} * {stride}")
    return " + ".join(terms) or "0"


def at(base: str, loops: Sequence[StridedLoop], array: int, start: int = 0) -> str:
    """Return the C expression of the pointer ``base`` moved to an element inside nested loops."""
    offset = index(loops, array, start)
    return base if offset == "0" else f"{base} + {offset}"


def times(expression: str, factor: int) -> str:
    """Return the C product of an expression and an integer."""
    return expression if factor == 1 or expression == "0" else f"{expression} * {factor}"


def plus(expression: str, number: int) -> str:
    """Return the C sum of an expression and an integer."""
    if number == 0:
        return expression
    if expression == "0":
        return str(number)
    return f"{expression} {'+' if number > 0 else '-'} {abs(number)}"


def moved(expression: str, offset: str) -> str:
    """Return the C sum of two expressions, the second of which may be 0."""
    return expression if offset == "0" else f"{expression} + {offset}"


def pixel(row: str, column: str, width: int, size: int = 1) -> str:
    """Return the C sum ``(row * width + column) * size``; row and column may be 0."""
    if row == "0" or column == "0":
        return times(column, size) if row == "0" else times(row, width * size)
    place = f"{times(row, width)} + {column}"
    return place if size == 1 else f"({place}) * {size}"


def affine(expression: str, factor: int, number: int) -> str:
    """Return the C expression ``expression * factor + number``."""
    return plus(times(expression, factor), number)


def steps(loops: Sequence[StridedLoop]) -> str:
    """Return the trip counts of nested loops, for a comment."""
    return " by ".join(str(loop.extent) for loop in loops) + " elements" if loops else "1 element"


def breaks(
    items: Sequence[str],
    head: str,
    separator: str,
    tail: str,
    form: str = "%s",
    indent: int = 0,
) -> str:
    """Return ``head``, the items and ``tail`` on as many lines as they need.

    Args:
        items: Never broken themselves.
        head: Text before the first item.
        separator: Between items; ends a line.
        tail: Text after the last item.
        form: Format of an item; ``%s`` is replaced by its text.
        indent: Columns before ``head``, which are not part of the result; further lines are
            indented by four more columns.
    """
    parts = [form % item + separator for item in items[:-1]] + [form % items[-1] + tail]
    lines = [head]
    for part in parts:
        column = indent if len(lines) == 1 else 0
        if column + len(lines[-1] + part.rstrip()) > MAX_COLUMNS and lines[-1].strip():
            lines.append(" " * (indent + 4))
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


_FILTERS: Final = (affine, at, breaks, c_array, index, moved, pixel, plus, steps, times)


def environment(*folders: Path) -> jinja2.Environment:
    """Return an environment of the C templates in ``folders``, by their paths below these."""
    return templates.environment(*folders, filters=_FILTERS)
