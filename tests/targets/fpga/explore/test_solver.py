"""The solver against all combinations."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rlx_fpga.explore import solver
from rlx_fpga.explore.solver import Amount, Option, choose, min_amount

amounts = st.builds(Amount, st.integers(0, 4), st.integers(0, 3), st.integers(0, 9))


def costs(amount):
    """A cost that grows with everything that is taken."""
    return 5 * amount.dsp + 3 * amount.bram + 2 * amount.lut


layers_of = st.lists(
    st.lists(amounts.map(lambda a: Option(a, costs(a))), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)
limits = st.builds(Amount, st.integers(0, 8), st.integers(0, 6), st.integers(0, 16))


def total(layers, places):
    return sum((layer[n].amount for layer, n in zip(layers, places, strict=True)), Amount())


def value(layers, places):
    return sum(layer[n].value for layer, n in zip(layers, places, strict=True))


def fitting(layers, limit):
    """All combinations that fit."""
    every = itertools.product(*(range(len(layer)) for layer in layers))
    return [places for places in every if total(layers, places).fits(limit)]


@given(layers_of, limits)
def test_choose_is_as_cheap_as_the_best_of_all_combinations(layers, limit):
    found = choose(layers, limit)
    possible = fitting(layers, limit)
    if not possible:
        assert found is None
        return
    assert total(layers, found).fits(limit)
    assert value(layers, found) == min(value(layers, places) for places in possible)


@given(layers_of, limits, st.randoms(use_true_random=False))
def test_choose_is_exact_for_any_value_where_lookup_tables_are_not_short(layers, limit, random):
    free = [[Option(o.amount, random.randrange(9)) for o in layer] for layer in layers]
    wide = Amount(limit.dsp, limit.bram, 99)
    found = choose(free, wide)
    possible = fitting(free, wide)
    assert (found is None) == (not possible)
    if found is not None:
        assert total(free, found).fits(wide)
        assert value(free, found) == min(value(free, places) for places in possible)


@given(layers_of)
def test_nothing_fits_below_the_minimum_amount(layers):
    minimum = min_amount(layers)
    if minimum.dsp:
        assert choose(layers, Amount(minimum.dsp - 1, 99, 99)) is None
    assert choose(layers, Amount(99, 99, 99)) is not None


def test_two_resources_that_are_short_together_are_found_without_a_table(monkeypatch):
    """Each layer takes many DSP slices or many block RAMs; there is enough of neither for all."""
    monkeypatch.setattr(solver, "_solve_by_table", no_table)
    layer = [Option(Amount(dsp=900), 3), Option(Amount(bram=900), 2), Option(Amount(450, 460), 1)]
    assert solver.choose([layer] * 60, Amount(24000, 24000, 99)) is None


def no_table(layers, space):
    if space.bram:
        raise AssertionError("a table of many cells was built")


def test_choose_of_nothing():
    assert choose([], Amount()) == []
    assert choose([[]], Amount(9, 9, 9)) is None


triples = st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 9))


@given(st.lists(st.lists(triples, min_size=1, max_size=4), min_size=1, max_size=4), triples)
def test_choices_and_minimums_are_those_of_plain_sums(layers, extra):
    """Each resource is limited on its own; the limit is that of some choice and a little more."""
    options = [[Option(Amount(*t), costs(Amount(*t))) for t in layer] for layer in layers]
    sums = [tuple(map(sum, zip(*chosen, strict=True))) for chosen in itertools.product(*layers)]
    low = [min(column) for column in zip(*sums, strict=True)]
    assert min_amount(options) == Amount(*low)
    limit = [a + b for a, b in zip(low, extra, strict=True)]
    possible = [
        (5 * d + 3 * b + 2 * t, (d, b, t))
        for d, b, t in sums
        if all(n <= most for n, most in zip((d, b, t), limit, strict=True))
    ]
    found = choose(options, Amount(*limit))
    assert (found is None) == (not possible)
    if found is not None:
        chosen = [layer[n] for layer, n in zip(layers, found, strict=True)]
        taken = tuple(map(sum, zip(*chosen, strict=True)))
        assert (5 * taken[0] + 3 * taken[1] + 2 * taken[2], taken) in possible
        assert min(possible)[0] == 5 * taken[0] + 3 * taken[1] + 2 * taken[2]


@given(triples, triples)
def test_amounts_are_added_and_subtracted_resource_by_resource(one, other):
    total = Amount(*one) + Amount(*other)
    assert (total.dsp, total.bram, total.lut) == tuple(map(sum, zip(one, other, strict=True)))
    assert total - Amount(*other) == Amount(*one)
    assert Amount(*one).fits(Amount(*other)) == all(map(int.__le__, one, other))
