"""Formulas of indices against the indices, over many axes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rlx.ops.numerics.resampling import Resampling
from rlx_cortexm.kernels.resize.positions import index_formula

FLAGS = [(False, False), (True, False), (False, True), (True, True)]
SIZES = [*range(1, 50), 64, 80, 96, 127, 160, 257, 300, 640]


@pytest.mark.parametrize("flags", FLAGS)
def test_formulas_give_the_indices(flags):
    found = Counter()
    for old in SIZES:
        for new in SIZES:
            axis = Resampling(old, new, *flags)
            formula = index_formula(axis)
            found[formula is None] += 1
            if formula is not None:
                products = np.arange(new, dtype=np.int64) * formula.factor + formula.offset
                assert (np.abs(products) < 1 << 31).all()
                indices = products >> formula.shift
                if formula.last is not None:
                    indices = np.minimum(indices, formula.last)
                assert np.array_equal(indices, axis.nearest)
    assert found[True] < 0.01 * found[False]


@pytest.mark.parametrize(
    ("old", "new", "flags", "expected"),
    [
        (5, 10, FLAGS[0], (1, 0, 1, None)),
        (5, 20, FLAGS[2], (1, 0, 2, None)),
        (12, 4, FLAGS[0], (3, 0, 0, None)),
        (12, 4, FLAGS[2], (3, 1, 0, None)),
        (4, 4, FLAGS[3], (1, 1, 0, 3)),
        (43, 19, FLAGS[3], None),
    ],
)
def test_the_smallest_shift_is_chosen(old, new, flags, expected):
    assert index_formula(Resampling(old, new, *flags)) == expected
