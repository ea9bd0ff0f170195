"""Widths for layers: against all choices there are, on networks small enough to try them all."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.calibration import widths as module
from rlx.calibration.widths import (
    WIDTHS,
    front,
    hull,
    last_accepted,
    mean_bits,
    weight_bytes,
    within,
)
from rlx.support.errors import DoesNotFitError
from support.messages import raises

LOSSES = st.floats(0, 9, width=16)


@st.composite
def tables(draw):
    """Return errors and sizes of one to five layers."""
    names = "abcde"[: draw(st.integers(1, 5))]
    errors = {n: {bits: draw(LOSSES) for bits in WIDTHS} for n in names}
    return errors, {n: draw(st.integers(1, 40)) for n in names}


def every_choice(errors, sizes):
    """Yield bits, error and widths of every choice."""
    for widths in product(WIDTHS, repeat=len(errors)):
        chosen = dict(zip(errors, widths, strict=True))
        bits = sum(width * sizes[n] for n, width in chosen.items())
        yield bits, sum(errors[n][width] for n, width in chosen.items()), chosen


@given(tables())
def test_nothing_beats_a_choice_of_the_front(case):
    errors, sizes = case
    found = front(errors, sizes)
    assert [c.bits for c in found] == sorted({c.bits for c in found}, reverse=True)
    for bits, error, _ in every_choice(errors, sizes):
        assert any(c.bits <= bits and c.error <= error + 1e-9 for c in found)


@given(tables(), st.floats(2, 8))
def test_mean_bits_are_kept_with_the_smallest_error(case, bits):
    errors, sizes = case
    chosen = within(front(errors, sizes), [*errors], sizes, bits=bits, flash=None)
    assert mean_bits(chosen, sizes) <= bits
    best = min(e for _, e, c in every_choice(errors, sizes) if mean_bits(c, sizes) <= bits)
    assert sum(errors[n][width] for n, width in chosen.items()) == pytest.approx(best)


def test_bytes_are_kept_to_the_last():
    errors = {"a": {8: 0.0, 4: 1.0, 2: 9.0}, "b": {8: 0.0, 4: 2.0, 2: 3.0}}
    sizes = {"a": 10, "b": 10}
    assert within(front(errors, sizes), ["a", "b"], sizes, bits=None, flash=11) == {"a": 4, "b": 4}
    assert weight_bytes({"a": 4, "b": 2}, {"a": 10, "b": 11}) == 5 + 3
    with raises(DoesNotFitError):
        within(front(errors, sizes), ["a", "b"], sizes, bits=None, flash=5)


@given(tables())
def test_slopes_of_the_hull_grow(case):
    choices = front(*case)
    found = hull(choices)
    assert (found[0], found[-1]) == (choices[0], choices[-1])
    slopes = [(b.error - a.error) / (a.bits - b.bits) for a, b in pairwise(found)]
    assert slopes == sorted(slopes)


def test_many_layers_keep_a_front_of_bounded_length(monkeypatch):
    monkeypatch.setattr(module, "MAX_CHOICES", 50)
    rng = np.random.default_rng(0)
    names = range(40)
    errors = {n: dict(zip(WIDTHS, np.sort(rng.random(3)), strict=True)) for n in names}
    sizes = {n: int(rng.integers(1, 9999)) for n in names}
    found = front(errors, sizes)
    assert len(found) <= 50
    total = sum(sizes.values())
    assert (found[0].bits, found[-1].bits) == (8 * total, 2 * total)


@pytest.mark.parametrize("count", [1, 2, 3, 11, 16])
@pytest.mark.parametrize("limit", range(-1, 17))
def test_the_last_accepted_index_is_found(count, limit):
    assert last_accepted(count, lambda n: n <= limit) == min(max(limit, 0), count - 1)


def test_what_is_accepted_by_chance_is_not_reached():
    assert last_accepted(40, lambda n: n <= 5 or n in (20, 39)) == 5
