"""Fixed-point factors in place of float32 ones, against trying every accumulator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.float32 import fixed_point_form
from rlx.ops.numerics.halves import Accumulators

FLOAT32 = Rounding.FLOAT32

factors = (
    st.integers(1, 900).map(lambda n: 1 / n)
    | st.fractions(1, 40, max_denominator=30).map(lambda f: float(1 / f))
    | st.integers(-12, 1).map(lambda n: 2.0**n)
    | st.floats(2.0**-11, 1.5)
)


@st.composite
def layers(draw) -> tuple[Rescale, list[Accumulators], tuple[int, int]]:
    """Factors, what is scaled by them, and the ends of results."""
    count = draw(st.integers(1, 3))
    reals = draw(st.lists(factors, min_size=1, max_size=1) | st.lists(factors, min_size=count,
                                                                    max_size=count))  # fmt: skip
    own = []
    for _ in range(count):
        base, step = draw(st.integers(-90, 90)), draw(st.sampled_from([0, 1, 2, 3, 5, 64]))
        reach = draw(st.integers(0, 40_000)), draw(st.integers(0, 40_000))
        own.append(Accumulators(base - reach[0] * bool(step), base + reach[1] * bool(step), base,
                                step))  # fmt: skip
    low = draw(st.integers(-255, 200))
    return Rescale.of(*reals, rounding=FLOAT32), own, (low, low + draw(st.integers(0, 255)))


def numbers(own: Accumulators) -> np.ndarray:
    step = max(own.step, 1)
    return np.arange(own.base - (own.base - own.low) // step * step, own.high + 1, step)


def column(rescale: Rescale, channel: int) -> Rescale:
    return rescale.take([channel])


@given(layers())
def test_the_form_scales_every_accumulator_to_the_same(layer) -> None:
    rescale, own, ends = layer
    form = fixed_point_form(rescale, own, ends)
    if form is None:
        return
    assert form.channels == rescale.channels
    for channel, one in enumerate(own):
        x = numbers(one)
        expected, found = (np.clip(column(r, channel).apply(x), *ends) for r in (rescale, form))
        assert np.array_equal(expected, found)


@given(factors, st.integers(0, 3000), st.integers(-200, 200))
def test_there_is_none_only_where_halves_go_both_ways(real, reach, low) -> None:
    """Of few accumulators, every multiplier of 31 bits that might do is tried."""
    rescale, ends = Rescale.of(real, rounding=FLOAT32), (low, low + 5)
    own = [Accumulators(-reach, reach)]
    if fixed_point_form(rescale, own, ends) is not None:
        return
    x = np.arange(-reach, reach + 1)
    expected = np.clip(rescale.apply(x), *ends)
    near = range(-200, 201)
    for rounding in (Rounding.SINGLE, Rounding.EVEN):
        others = (Rescale((rescale.multiplier[0] + n,), rescale.shift, rounding) for n in near
                  if rescale.multiplier[0] + n < 2**31)  # fmt: skip
        assert not any(np.array_equal(np.clip(o.apply(x), *ends), expected) for o in others)


@pytest.mark.parametrize(
    ("real", "reach", "expected"),
    [
        (1 / 3, 300, Rounding.SINGLE),  # No half.
        (1 / 8, 300, Rounding.EVEN),
        (1 / 6, 300, None),  # Halves by the rounding of float32, to either side.
        (1 / 6, 8, Rounding.SINGLE),  # Those of 1/2 go down: a little less than the factor.
    ],
)
def test_the_cheapest_form(real, reach, expected) -> None:
    rescale = Rescale.of(real, rounding=FLOAT32)
    form = fixed_point_form(rescale, [Accumulators(0, reach)], (-128, 127))
    assert (form and form.rounding) == expected


def test_a_neighbour_of_the_multiplier_may_do() -> None:
    rescale = Rescale.of(1 / 6, rounding=FLOAT32)
    form = fixed_point_form(rescale, [Accumulators(0, 8)], (-128, 127))
    assert form is not None
    assert form.real[0] < rescale.real[0]
    assert form.real[0] == pytest.approx(rescale.real[0], rel=1e-7)
