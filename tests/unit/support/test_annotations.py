"""Arguments are checked by the text of their annotation."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.runtime import CompileOptions
from rlx.support.annotations import mismatch

CHECKED_BY_THE_FUNCTION = {
    "Any",
    "Array | str | PathLike[str] | None",
    "CriteriaLike | None",
    "DeviceLike",
    "ExecutorLike",
    "Given",
    "GraphModule | Graph | HasModule | Builder",
    "Inputs",
    "Inputs | None",
    "Model",
    "Model | Compared",
    "Model | None",
    "ObserverName",
    "PoliciesLike | None",
    "WeightBits | None",
    "Weights",
    "bool | EqualizeName | None",
}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 3), ("int", np.int64(3)), ("float", 3), ("float", np.float32(0.5)),
        ("bool", np.bool_(True)), ("str | None", None), ("str | Path", Path("x")),
        ("str | os.PathLike[str]", "x"), ("str | Sequence[str] | None", ["a"]),
        ("Mapping[str, tuple[int, int]]", {}), ("Callable[[str], None] | None", print),
        ("Progress | None", None), ("CompileOptions | None", CompileOptions()),
        ("Model", 3), ("bool | Unknown", 3), (None, 3),
    ],
)  # fmt: skip
def test_values_that_fit(annotation, value):
    assert mismatch(annotation, value) is None


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        ("float | None", "5", "expected a number or None, got '5'"),
        ("int", 1.5, "expected an integer, got 1.5"),
        ("int", True, "expected an integer, got True"),
        ("bool", "no", "expected True or False, got 'no'"),
        ("str | Path | Mapping[str, Any] | None", 5, "expected a path, a mapping or None, got 5"),
        ("str | Sequence[str]", 5, "expected a text or a list, got 5"),
        ("Sequence[str]", "abc", "expected a list, got 'abc'"),
        ("Progress | None", True, "expected a function or None, got True"),
        ("CompileOptions", {}, "expected rlx.CompileOptions, got an object of type dict"),
        ("int", "x" * 99, "expected an integer, got an object of type str"),
    ],
)
def test_values_that_do_not_fit(annotation, value, problem):
    assert mismatch(annotation, value) == problem


def test_every_argument_of_the_functions_is_checked_by_its_annotation_or_by_the_function():
    functions = [getattr(rlx, name) for name in rlx.__all__]
    checked = [f for f in functions if inspect.isfunction(f) and hasattr(f, "__wrapped__")]
    annotations = {p.annotation for f in checked for p in inspect.signature(f).parameters.values()}
    unchecked = {one for one in annotations if mismatch(one, object()) is None}
    assert unchecked == CHECKED_BY_THE_FUNCTION


@pytest.mark.parametrize(
    ("annotation", "allowed", "refused"),
    [
        ("Count", (1, np.int8(3)), (0, -1, True, 1.0, "1", None)),
        ("Seconds", (0, 0.5, np.float32(2)), (-0.1, float("inf"), float("nan"), False, "1", None)),
    ],
)
def test_numbers_with_a_bound(annotation, allowed, refused):
    assert [mismatch(annotation, value) for value in allowed] == [None] * len(allowed)
    assert all(mismatch(annotation, value) for value in refused)
