"""Sizes among the attributes of ops: integers that lengths of loops and arrays follow from."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from rlx.ir.dims import Dim, factors

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = frozenset({
    "after", "before", "block", "count", "dilation", "groups", "interior", "kernel", "length",
    "max_iterations", "output_padding", "padding", "repeats", "shape", "size", "sizes", "start",
    "step", "stop", "stride",
})  # fmt: skip
"""Names of the attributes that are sizes, alone or in tuples, in an op or in a window of it."""


def sizes_of(value: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - any dataclass
    """Yield the path and the number of each size among the fields of a dataclass."""
    for field in fields(value):
        found = getattr(value, field.name)
        if field.name in SIZES:
            yield from _numbers(field.name, found)
        elif is_dataclass(found) and not isinstance(found, type):
            yield from ((f"{field.name}.{path}", n) for path, n in sizes_of(found))


def _numbers(path: str, value: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401 - plain data
    """Yield the integers of a value: an integer, a dimension or nested tuples of them."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, Dim):
        yield path, max(map(abs, factors(value)))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _numbers(f"{path}[{index}]", item)
