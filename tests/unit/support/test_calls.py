"""Calls that do not fit a signature are errors with what the argument is."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import rlx
from rlx.support.calls import checked_call
from rlx.support.errors import UsageError
from support import ROOT
from support.messages import raises


@checked_call
def scale(numbers, factor, *, offset=0):
    """Return scaled numbers.

    Args:
        numbers: A list, or the path of a ``.npz`` file; see :func:`rlx.run`.
        factor: Name of a factor, such as ``"two"``, or a number. It may be
            negative.
        offset: Is added.
    """
    return [factor * number + offset for number in numbers]


@checked_call
def free(first, **options):
    """Return the options."""
    return first, options


@pytest.mark.parametrize(
    "call",
    [
        lambda: scale(), lambda: scale([1]), lambda: scale([1], 2, 3),
        lambda: scale([1], numbers=2, factor=2),
        lambda: scale([1], 2, ofset=3), lambda: scale(factor=2), lambda: free(x=3),
    ],
    ids=["none", "one", "too many", "twice", "misspelled", "first", "without a docstring"],
)  # fmt: skip
def test_refusals(call):
    with raises(UsageError):
        call()


def test_other_calls_are_unchanged():
    assert scale([1, 2], 3, offset=1) == [4, 7]
    assert free(1, x=2) == (1, {"x": 2})
    assert list(inspect.signature(scale).parameters) == ["numbers", "factor", "offset"]
    assert scale.__doc__.startswith("Return scaled")


def test_errors_inside_stay():
    with pytest.raises(TypeError, match="unsupported operand"):
        scale([None], 2, offset=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rlx.load(np.zeros(3)),
        lambda: rlx.load(None),
        lambda: rlx.verify(rlx.load(ROOT / "examples" / "digits" / "digits.rlx")),
        lambda: rlx.report("folder", old=3),
        lambda: rlx.emit(ROOT / "examples" / "digits" / "digits.rlx", "cortexm", b"folder"),
    ],
    ids=["load an array", "load None", "verify", "old", "emit"],
)
def test_arguments_that_are_no_paths_are_refused(call):
    with raises(UsageError):
        call()
