"""Requantization at compile time."""

import numpy as np

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx_cortexm.scaling import (
    CENTRED,
    AccumulatorScaling,
    fold_offset,
    for_doubled_sums,
    level,
    scaling,
    scaling_of_values,
)


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


def test_one_rounding_takes_the_high_word_if_the_low_one_decides_nothing():
    rescale = Rescale((2**30, 0), (-3, 9), Rounding.SINGLE)
    assert scaling(rescale, 5) == AccumulatorScaling("requantize_high", (2**30, 0), (2, 1))
    rescale = Rescale((2**30,), (-1,), Rounding.SINGLE)
    assert scaling(rescale, 5) == AccumulatorScaling("requantize_single", (2**30,), (32,))


def test_halves_of_powers_of_two_need_no_product():
    rescale = Rescale((2**30, 2**30, 0), (-3, -31, 5), Rounding.EVEN)
    chosen = scaling(rescale, 1000)
    # Nothing reaches half of 2^11.
    assert chosen == AccumulatorScaling("requantize_power_even", rescale.multiplier, (4, 11, 11))
    assert scaling(rescale, 2**30).function == "requantize_even"
    for multiplier, shift in ((3 * 2**29, -3), (2**30, 1)):
        rescale = Rescale((multiplier,), (shift,), Rounding.ODD)
        assert scaling(rescale, 5).function == "requantize_odd"


def test_factors_in_float32_have_functions_of_their_own():
    rescale = Rescale((3 * 2**29, 0), (-3, 9), Rounding.FLOAT32)
    chosen = scaling(rescale, 5)
    assert chosen == AccumulatorScaling("requantize_float32", (3 * 2**29, 0), (2, 1))
    assert not chosen.rounds_twice
    assert not chosen.to_parity
    assert level(chosen, bounds(5, 5), 0) == chosen
    assert for_doubled_sums(chosen, 5) is None
    rescale = Rescale((2**30,), (-1,), Rounding.FLOAT32)
    assert scaling(rescale, 5) == AccumulatorScaling("requantize_float32_wide", (2**30,), (32,))


def test_one_rounding_shifts_all_channels_alike():
    chosen = AccumulatorScaling("requantize_high", (2**31 - 1, 2**30, 2**30), (5, 8, 30))
    assert level(chosen, bounds(5000, 5000, 5000), -128) == AccumulatorScaling(
        "requantize_level_single_12", (2**31 - 1, 2**30, 0), (7, 4, 0)
    )
    # 1023 / 4 and one more is half of a step, 1019 / 4 is not.
    for bound, multiplier in ((1023, 2**30), (1018, 0)):
        own = level(AccumulatorScaling("requantize_high", (2**30,), (9,)), bounds(bound), 0)
        assert own.multiplier == (multiplier,)
    power = AccumulatorScaling("requantize_power_odd", (2**30, 2**30), (4, 11))
    assert level(power, bounds(900, 900), 3) == AccumulatorScaling(
        "requantize_level_odd_12", power.multiplier, (8, 1)
    )
    assert level(power, bounds(2**23, 900), 3).function == "requantize_level_odd_11"
    assert level(power, bounds(2**24, 900), 3) == power


def test_accumulators_may_come_doubled():
    high = AccumulatorScaling("requantize_high", (2**31 - 1, 0), (5, 1))
    assert for_doubled_sums(high, 2**30) == AccumulatorScaling(
        "requantize_high", (2**31 - 1, 0), (6, 2)
    )
    assert for_doubled_sums(AccumulatorScaling("requantize_high", (2**30,), (30,)), 5) is None
    power = AccumulatorScaling("requantize_power_even", (2**30,), (30,))
    doubled = for_doubled_sums(power, 2**29 - 1)
    assert doubled is not None
    assert doubled.shift == (31,)
    assert for_doubled_sums(power, 2**29) is None
    assert for_doubled_sums(AccumulatorScaling("requantize_power_odd", (2**30,), (31,)), 5) is None
    assert for_doubled_sums(AccumulatorScaling("requantize_even", (2**30,), (31,)), 5) is None
    folded_one = AccumulatorScaling("requantize_folded", (2**30,), (3,))
    assert for_doubled_sums(folded_one, 5) is folded_one


def test_a_few_numbers_are_rounded_as_it_is_cheapest():
    rescale = Rescale((2**30,), (0,), Rounding.EVEN)
    assert scaling_of_values(rescale, CENTRED << 20).function == "requantize_wide"
    assert scaling_of_values(rescale, CENTRED).function == "requantize_power_even"


def bounds(*numbers):
    return np.array(numbers, np.int64)


def test_half_and_zero_point_are_added_at_once():
    chosen = AccumulatorScaling("requantize_narrow", (2**30, 2**31 - 1), (1, 9))
    assert fold_offset(chosen, bounds(5000, 5000), -128) == AccumulatorScaling(
        "requantize_folded", chosen.multiplier, chosen.shift
    )
    one = AccumulatorScaling("requantize_narrow", (2**30,), (3,))
    assert fold_offset(one, bounds(1, 5000), 3).function == "requantize_folded"


def test_a_channel_that_always_gives_zero_needs_no_shift():
    chosen = AccumulatorScaling("requantize_narrow", (2**30, 2**30, 0), (30, 10, 31))
    shifts = fold_offset(chosen, bounds(2**20, 1022, 2**29), 100)
    assert shifts == AccumulatorScaling("requantize_folded", (0, 0, 0), (1, 1, 1))
    # 1023 / 2 is rounded up to 512, which is half of a step.
    assert fold_offset(chosen, bounds(2**20, 1023, 2**29), 100).shift == (1, 10, 1)


def test_constants_beyond_int32_are_not_added():
    chosen = AccumulatorScaling("requantize_narrow", (2**31 - 1,), (24,))
    assert fold_offset(chosen, bounds(2**30 - 1), -128) == chosen
    assert fold_offset(chosen, bounds(2**30 - 1), 0).function == "requantize_folded"


def test_other_functions_stay():
    wide = AccumulatorScaling("requantize_wide", (2**30,), (1,))
    assert fold_offset(wide, bounds(5), 0) == wide


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
