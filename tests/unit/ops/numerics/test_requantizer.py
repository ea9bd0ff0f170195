"""The floating-point form of scaling against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale, Rounding
from rlx.ops.numerics.requantizer import AccumulatorRequantizer, Requantization


def of(rounding: Rounding, multiplier: int) -> int:
    """Return a multiplier that the rounding takes: 24 bits of one in float32."""
    return multiplier & ~127 if rounding is Rounding.FLOAT32 else multiplier


@st.composite
def cases(draw) -> tuple[Requantization, np.ndarray, np.ndarray]:
    """Scalings of some channels, with the range of their accumulators."""
    channels = draw(st.integers(1, 4))
    bits = draw(st.integers(8, 28))
    shifts = st.integers(-31, 30 - bits - 1) | st.integers(4 - bits, 12 - bits)
    multipliers = st.integers(2**30, INT32_MAX) | st.sampled_from((0, 2**29 + 7, 2**30, INT32_MAX))
    low, high = sorted((draw(st.integers(-128, 127)), draw(st.integers(-128, 127))))
    rounding = draw(st.sampled_from(Rounding))
    own = draw(st.lists(multipliers, min_size=channels, max_size=channels))
    rescale = Rescale(
        tuple(of(rounding, m) for m in own),
        tuple(draw(st.lists(shifts, min_size=channels, max_size=channels))),
        rounding,
    )
    half = 2 ** (bits - 1)
    what = Requantization(
        rescale=rescale,
        offset=np.array(draw(st.lists(st.integers(-half, half), min_size=channels,
                                      max_size=channels))),
        zero_point=draw(st.integers(-128, 127)),
        **draw(st.sampled_from(({"low": -128, "high": 127}, {"low": low, "high": high}))),
    )  # fmt: skip
    least = np.array([draw(st.integers(-half, 0)) for _ in range(channels)])
    greatest = np.array([draw(st.integers(0, half)) for _ in range(channels)])
    return what, least, greatest


@given(cases(), st.integers(0, 2**16), st.sampled_from((np.float32, np.float64, np.int64)))
def test_codes_equal_definition(case, seed: int, dtype) -> None:
    what, least, greatest = case
    requantizer = AccumulatorRequantizer(what, least, greatest)
    assert requantizer.is_fast
    x = np.random.default_rng(seed).integers(least, greatest, (300, len(least)), endpoint=True)
    x[0], x[1] = least, greatest
    if dtype is np.float32:
        # What a sum in float32 can hold.
        x = np.clip(x, -(2**24), 2**24)
    codes = requantizer(x.astype(dtype))
    assert codes.dtype == np.int8
    assert np.array_equal(codes, what.exact(x))


def whole(shift: int, rounding: Rounding, *, zero_point: int, low: int, high: int) -> None:
    """Compare every accumulator of a range."""
    rescale = Rescale((of(rounding, 1518500250),), (shift,), rounding)
    what = Requantization(
        rescale=rescale, offset=np.array([-3]), zero_point=zero_point, low=low, high=high
    )
    ends = np.array([-60_000]), np.array([60_000])
    x = np.arange(-60_000, 60_001)[:, np.newaxis]
    requantizer = AccumulatorRequantizer(what, *ends)
    assert requantizer.is_fast
    assert np.array_equal(requantizer(x), what.exact(x))


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("shift", [-10, -8, -5, -1, 0, 3])
def test_every_accumulator_of_a_range(rounding: Rounding, shift: int) -> None:
    whole(shift, rounding, zero_point=11, low=-128, high=127)
    whole(shift, rounding, zero_point=-128, low=-128, high=127)
    whole(shift, rounding, zero_point=0, low=0, high=60)
    whole(shift, rounding, zero_point=0, low=5, high=5)


def test_accumulators_that_may_wrap_are_left_to_the_definition() -> None:
    what = Requantization(
        rescale=Rescale((2**30,), (4,)), offset=np.array([0]), zero_point=0, low=-128, high=127
    )
    ends = np.array([-(2**27)]), np.array([2**27])
    requantizer = AccumulatorRequantizer(what, *ends)
    assert not requantizer.is_fast
    x = np.stack([*ends, np.array([2**27 - 1]), np.array([5])])
    assert np.array_equal(requantizer(x.astype(np.float64)), what.exact(x))


def test_a_wrong_form_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If arithmetic is less exact than it should be, the check fails and the definition runs."""
    approximate = AccumulatorRequantizer._approximate

    def coarse(self: AccumulatorRequantizer, x):
        return approximate(self, x * (1 + 2.0**-20))

    monkeypatch.setattr(AccumulatorRequantizer, "_approximate", coarse)
    what = Requantization(
        rescale=Rescale.of(0.0031415926535), offset=np.array([0]), zero_point=0, low=-128, high=127
    )
    ends = np.array([-(2**22)]), np.array([2**22])
    assert not AccumulatorRequantizer(what, *ends).is_fast
