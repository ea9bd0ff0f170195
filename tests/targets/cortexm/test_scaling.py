"""Requantization at compile time."""

import numpy as np

from rlx.numerics.fixed_point import Rescale, Rounding
from rlx_cortexm.scaling import AccumulatorScaling, folded, level, scaling


def test_usual_factors_take_the_short_way():
    rescale = Rescale((2**30, 2**31 - 1), (-1, -31))
    chosen = scaling(rescale, 2**30 - 1)
    assert chosen == AccumulatorScaling("requantize_narrow", (2**30, 2**31 - 1), (1, 31))
    assert chosen.per_channel


def test_a_large_accumulator_takes_the_long_way():
    rescale = Rescale((2**30,), (-1,))
    assert scaling(rescale, 2**30) == AccumulatorScaling("requantize_wide", (2**30,), (-1,))


def test_a_factor_that_does_not_shift_right_takes_the_long_way():
    rescale = Rescale((2**30, 2**30), (-1, 0))
    assert scaling(rescale, 5).function == "requantize_wide"


def test_a_factor_of_zero_does_not_force_the_long_way():
    rescale = Rescale((2**30, 0), (-1, 0))
    assert scaling(rescale, 5) == AccumulatorScaling("requantize_narrow", (2**30, 0), (1, 1))


def test_single_rounding_counts_all_bits_of_the_shift():
    rescale = Rescale((2**30,), (-3,), Rounding.SINGLE)
    assert scaling(rescale, 5) == AccumulatorScaling("requantize_single", (2**30,), (34,))


def bounds(*numbers):
    return np.array(numbers, np.int64)


def test_half_and_zero_point_are_added_at_once():
    chosen = AccumulatorScaling("requantize_narrow", (2**30, 2**31 - 1), (1, 9))
    assert folded(chosen, bounds(5000, 5000), -128) == AccumulatorScaling(
        "requantize_folded", chosen.multiplier, chosen.shift
    )
    one = AccumulatorScaling("requantize_narrow", (2**30,), (3,))
    assert folded(one, bounds(1, 5000), 3).function == "requantize_folded"


def test_a_channel_that_always_gives_zero_needs_no_shift():
    chosen = AccumulatorScaling("requantize_narrow", (2**30, 2**30, 0), (30, 10, 31))
    shifts = folded(chosen, bounds(2**20, 1022, 2**29), 100)
    assert shifts == AccumulatorScaling("requantize_folded", (0, 0, 0), (1, 1, 1))
    # 1023 / 2 is rounded up to 512, which is half of a step.
    assert folded(chosen, bounds(2**20, 1023, 2**29), 100).shift == (1, 10, 1)


def test_constants_beyond_int32_are_not_added():
    chosen = AccumulatorScaling("requantize_narrow", (2**31 - 1,), (24,))
    assert folded(chosen, bounds(2**30 - 1), -128) == chosen
    assert folded(chosen, bounds(2**30 - 1), 0).function == "requantize_folded"


def test_other_functions_stay():
    wide = AccumulatorScaling("requantize_wide", (2**30,), (1,))
    assert folded(wide, bounds(5), 0) == wide


def test_channels_are_pre_scaled_to_shift_alike():
    chosen = AccumulatorScaling("requantize_folded", (2**30, 2**31 - 1, 0), (5, 8, 1))
    assert level(chosen, bounds(5000, 5000, 5000), -128) == AccumulatorScaling(
        "requantize_level_12", chosen.multiplier, (8, 5, 2)
    )
    assert level(chosen, bounds(5000, 5000, 5000), -128).is_level
    assert not chosen.is_level


def test_places_are_round_numbers_if_they_fit():
    chosen = AccumulatorScaling("requantize_folded", (2**30, 2**30), (5, 8))
    functions = [level(chosen, bounds(50, 50), 3, most).function for most in (8, 6, 5, 4)]
    assert functions == [
        "requantize_level_12", "requantize_level_10", "requantize_level_9", "requantize_folded",
    ]  # fmt: skip
    own = level(chosen, bounds(50, 50), 3, np.array([8, 3]))
    assert own.function == "requantize_level_10"


def test_layers_share_one_number_of_places_where_it_fits():
    few = AccumulatorScaling("requantize_folded", (2**30,), (3,))
    assert level(few, bounds(50), -128).function == "requantize_level_12"
    assert level(few, bounds(2**22), -128).function == "requantize_level_4"


def test_accumulators_that_come_too_large_stay():
    chosen = AccumulatorScaling("requantize_folded", (2**30,), (7,))
    assert level(chosen, bounds(2**29 - 1), 0).shift == (2,)
    assert level(chosen, bounds(2**29), 0) == chosen
    # The zero point is too large in the higher place.
    high = AccumulatorScaling("requantize_folded", (2**30,), (24,))
    assert level(high, bounds(5), -128) == high
    assert level(high, bounds(5), 0).function == "requantize_level_28"


def test_only_folded_scalings_become_level():
    narrow = AccumulatorScaling("requantize_narrow", (2**30,), (7,))
    assert level(narrow, bounds(5), 0) == narrow
    nothing = AccumulatorScaling("requantize_folded", (0,), (1,))
    assert level(nothing, bounds(5), 0).function == "requantize_level_12"
