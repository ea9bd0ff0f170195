"""Halves that accumulators reach, against trying every one of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.numerics.halves import Accumulators, rounds_up

ends = st.integers(-3000, 3000)
steps = st.integers(1, 40) | st.sampled_from([64, 96, 1024])


def numbers(own: Accumulators) -> list[int]:
    if not own.step:
        return [own.base] if own.low <= own.base <= own.high else []
    first = own.base + -((own.base - own.low) // own.step) * own.step
    return list(range(first, own.high + 1, own.step))


@given(ends, ends, ends, steps | st.just(0), st.integers(0, 4096), st.integers(0, 12))
def test_a_residue_is_held(low, high, base, step, residue, bits) -> None:
    own = Accumulators(low, high, base, step)
    expected = any((n - residue) % 2**bits == 0 for n in numbers(own))
    assert own.hold(residue, 2**bits) == expected


@given(
    st.integers(1, 127).map(lambda n: n << (31 - n.bit_length())) | st.sampled_from([0, 2**31 - 1]),
    st.integers(-14, 4),
    st.sampled_from([Rounding.EVEN, Rounding.ODD]),
    ends, ends, ends, steps,
    st.integers(-140, 100), st.integers(0, 255),
)  # fmt: skip
def test_halves_are_found(multiplier, shift, rounding, low, high, base, step, least, reach) -> None:
    own = Accumulators(low, high, base, step)
    x = np.array(numbers(own), np.int64)
    limits = least, least + reach
    exact, up = (
        np.clip(Rescale((multiplier,), (shift,), r).apply(x), *limits)
        for r in (rounding, Rounding.SINGLE)
    )
    rescale = Rescale((2**30, multiplier), (0, shift), rounding)
    assert rounds_up(rescale, 1, own, limits) == np.array_equal(exact, up)
