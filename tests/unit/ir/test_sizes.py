"""Sizes among the attributes of ops: every integer is known to be one, or not to be one."""

from __future__ import annotations

import typing
from dataclasses import is_dataclass
from typing import Any

import pytest

import rlx.ops  # noqa: F401 - fills the registry
from rlx.ir import Op
from rlx.ir.plain import annotations_of
from rlx.ir.sizes import SIZES, sizes_of
from rlx.ops.q import QMaxPool2d, QPad, Window
from rlx.ops.real import RealSlice

# Integers that no loop and no array is as long as.
OTHERS = {
    "axes", "axis", "clip", "diff_min", "h_zero_point", "high", "left_shift", "low", "multiplier",
    "power", "shift", "table", "value", "window", "x_batch", "x_contract", "x_zero_point",
    "y_batch", "y_contract", "y_zero_point", "zero_point",
}  # fmt: skip


def whole_numbers(cls: Any) -> set[str]:
    """Return the names of attributes that hold integers, alone or in tuples."""
    found: set[str] = set()
    for name, annotation in annotations_of(cls).items():
        if is_dataclass(annotation):
            found |= whole_numbers(annotation)
        elif "int" in _words(annotation):
            found.add(name)
    return found


def _words(annotation: Any) -> set[str]:
    inner = typing.get_args(annotation)
    return set().union(*map(_words, inner)) if inner else {getattr(annotation, "__name__", "")}


OURS = [c for n, c in Op.registry.items() if n.partition(".")[0] in ("q", "real", "nn")]


@pytest.mark.parametrize("cls", OURS, ids=lambda cls: cls.name)
def test_every_whole_number_is_known(cls: type[Op]) -> None:
    assert whole_numbers(cls) <= SIZES | OTHERS


def test_sizes_are_found_with_their_path() -> None:
    op = QMaxPool2d(window=Window((2, 3), padding=((4, 0), (0, 5))), low=-7)
    assert dict(sizes_of(op)) == {
        "window.kernel[0]": 2, "window.kernel[1]": 3,
        "window.stride[0]": 1, "window.stride[1]": 1,
        "window.dilation[0]": 1, "window.dilation[1]": 1,
        "window.padding[0][0]": 4, "window.padding[0][1]": 0,
        "window.padding[1][0]": 0, "window.padding[1][1]": 5,
    }  # fmt: skip
    assert dict(sizes_of(QPad(before=(1,), after=(2,), value=9))) == {"before[0]": 1, "after[0]": 2}
    part = RealSlice(start=(0,), stop=(None,), step=(1,))
    assert dict(sizes_of(part)) == {"start[0]": 0, "step[0]": 1}
