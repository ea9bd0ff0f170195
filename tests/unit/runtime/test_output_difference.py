"""Differences between the outputs of two engines."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.runtime.output_difference import difference_of, summary

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("ours", "theirs", "differing", "largest"),
    [
        ([1, 2, 3], [1, 2, 3], 0, 0.0),
        ([1, 2, 3], [1, 5, 2], 2, 3.0),
        ([NAN, INF, -INF], [NAN, INF, -INF], 0, 0.0),
        ([NAN, 1.0], [0.0, 1.5], 2, INF),
        ([INF], [-INF], 1, INF),
        ([], [], 0, 0.0),
    ],
)
def test_differences(ours, theirs, differing, largest):
    found = difference_of("y", np.array(ours, np.float32), np.array(theirs, np.float32))
    assert (found.elements, found.differing, found.largest) == (len(ours), differing, largest)


def test_shapes_and_types_may_differ_but_not_sizes():
    ours = np.array([[1, -2]], np.int8)
    assert difference_of("y", ours, np.array([1, -2], np.int64)).differing == 0
    with pytest.raises(ValueError, match=r"^output 'y': .* differ in size$"):
        difference_of("y", ours, np.zeros(3))


def test_a_line_names_the_outputs_that_differ():
    a, b = np.array([1, 2]), np.array([1, 4])
    both = [difference_of("same", a, a), difference_of("other", a, b)]
    assert summary(both) == "output 'other' differs in 1 of 2 elements, by 2 at most"
    assert summary(both[:1]) == "outputs are equal"
    assert str(both[0]) == "output 'same' is equal"
