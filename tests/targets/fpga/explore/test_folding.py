import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.support.errors import UsageError
from rlx_fpga.explore.fold import Fold
from rlx_fpga.explore.folding import Folding, first_step, multipliers_only
from rlx_fpga.explore.solver import Amount, Option
from support.messages import raises

CHOICES = {
    "a": [Fold(1, 1, 80, 1), Fold(2, 1, 40, 2), Fold(2, 4, 10, 8)],
    "b": [Fold(1, 1, 30, 1), Fold(1, 3, 10, 3)],
}

folds = st.builds(Fold, st.integers(1, 4), st.integers(1, 4), st.integers(0, 20), st.integers(0, 9))
layers_of = st.lists(st.lists(folds, min_size=1, max_size=4), min_size=1, max_size=3)


def price(name, fold):
    """More lanes take more memory, more results more logic."""
    del name
    amount = Amount(fold.multipliers, fold.pe * fold.simd % 5, 3 * fold.pe)
    return Option(amount, 3 * amount.dsp + 2 * amount.bram + amount.lut)


def slowest(chosen):
    return max(fold.cycles for fold in chosen)


def amount(chosen):
    return sum((price("", fold).amount for fold in chosen), Amount())


@given(layers_of, st.builds(Amount, st.integers(0, 20), st.integers(0, 9), st.integers(3, 30)))
def test_every_goal_is_reached_as_by_trying_all_combinations(layers, limit):
    choices = {f"n{index}": layer for index, layer in enumerate(layers)}
    folding = Folding(choices, price=price)
    fitting = [c for c in itertools.product(*layers) if amount(c).fits(limit)]
    found = folding.fastest(limit)
    if not fitting:
        assert found is None
        assert folding.min_cycles(limit) is None
        assert folding.lowest_energy(limit) is None
        return

    def cost(chosen):
        return sum(folding.cost("", fold) for fold in chosen)

    minimum = min(map(slowest, fitting))
    assert all(fold in choices[name] for name, fold in found.items())
    assert folding.amount(found).fits(limit)
    assert slowest(found.values()) == minimum == folding.min_cycles(limit)
    assert cost(found.values()) == min(cost(c) for c in fitting if slowest(c) == minimum)
    for cycles in {slowest(c) for c in fitting}:
        cheap = folding.cheapest(limit, cycles)
        assert cost(cheap.values()) == min(cost(c) for c in fitting if slowest(c) <= cycles)
    if min(map(slowest, fitting)):
        lowest = folding.lowest_energy(limit)
        products = [cost(c) * slowest(c) for c in fitting]
        assert cost(lowest.values()) * slowest(lowest.values()) == min(products)


def test_the_fastest_makes_nobody_faster_than_needed():
    found = Folding(CHOICES).fastest(Amount(dsp=3))
    assert (found["a"].cycles, found["b"].cycles) == (40, 30)


def test_the_quickest_spends_what_is_left_on_delay():
    folding = Folding(CHOICES)
    found = folding.lowest_latency(Amount(dsp=6), lambda name, fold: fold.cycles)
    assert (found["a"].cycles, found["b"].cycles) == (40, 10)
    assert folding.lowest_latency(Amount(dsp=1), lambda name, fold: fold.cycles) is None


def test_no_layer_is_slower_than_asked():
    folding = Folding(CHOICES)
    assert folding.cheapest(Amount(dsp=99), 30)["a"].cycles == 10
    assert folding.cheapest(Amount(dsp=99), 9) is None


def test_only_foldings_within_the_margin_are_priced():
    asked = []

    def price(name, fold):
        asked.append(fold.cycles)
        return Option(Amount(dsp=fold.multipliers), fold.multipliers)

    choices = {"a": [Fold(pe, 1, 960 // pe, pe) for pe in (1, 2, 3, 4, 6, 12, 24, 48)]}
    folding = Folding(choices, price=price, margin=4)
    assert folding.cheapest(Amount(dsp=99), 160)["a"].cycles == 160
    assert sorted(asked) == [40, 80, 160]
    assert folding.cheapest(Amount(dsp=99), 80)["a"].cycles == 80
    assert sorted(asked) == [20, 40, 80, 160]


@pytest.mark.parametrize("factor", [1, 0.8, 1.3])
def test_a_guess_keeps_most_foldings_from_being_priced(factor):
    asked = []

    def price(name, fold):
        asked.append(fold.cycles)
        return multipliers_only(name, fold)

    def guess(name, fold):
        return Amount(dsp=int(fold.multipliers * factor))

    choices = {"a": [Fold(pe, 1, 6000 // pe, pe) for pe in range(1, 61)]}
    folding = Folding(choices, price=price, guess=guess, margin=2)
    assert folding.min_cycles(Amount(dsp=20)) == 300
    # The slowest ones show that something fits, those around the guess what is fastest.
    assert {6000, 3000, 300, 150} <= set(asked)
    assert len(asked) == len(set(asked)) < 45


@given(st.lists(st.integers(0, 50), unique=True), st.integers(-1, 51), st.data())
def test_first_step_is_the_first_that_can_be_built(steps, first, data):
    steps.sort()
    minimum = data.draw(st.integers(0, 60))
    tried = []

    def build(step):
        tried.append(step)
        return str(step) if step >= first else None

    wanted = [str(step) for step in steps if step >= max(first, minimum)]
    guess = data.draw(st.integers(0, 60))
    assert first_step(steps, build, minimum, guess) == (wanted[0] if wanted else None)
    assert len(tried) == len(set(tried))


def test_foldings_can_be_given():
    found = Folding(CHOICES, {"a": (1, 1)}).fastest(Amount(dsp=20))
    assert found["a"].cycles == 80
    assert found["b"].multipliers == 1


def test_folding_of_nothing():
    assert Folding({}).fastest(Amount(dsp=1)) == {}


def test_the_minimum_of_each_resource_is_reported():
    assert Folding(CHOICES).min_amount() == Amount(dsp=2)


@pytest.mark.parametrize(
    "given",
    [{"c": (1, 1)}, {"a": (3, 1)}],
)
def test_what_does_not_exist_is_refused(given):
    with raises(UsageError):
        Folding(CHOICES, given)


prices = st.integers(0, 60)
lanes = st.integers(1, 63)


@given(prices, prices, lanes, lanes, lanes, lanes)
def test_cost_is_price_then_lanes(one, other, pe, simd, other_pe, other_simd):
    cost = {"a": one, "b": other}
    folding = Folding({}, price=lambda name, fold: Option(Amount(), cost[name]))
    first = folding.cost("a", Fold(pe, simd, 9))
    second = folding.cost("b", Fold(other_pe, other_simd, 9))
    assert (first < second) == ((one, pe * simd) < (other, other_pe * other_simd))
    assert (first == second) == ((one, pe * simd) == (other, other_pe * other_simd))


def free_price(name, fold):
    """LUTs that have nothing to do with the cost."""
    del name
    return Option(Amount(fold.multipliers, 0, 7 * fold.pe % 5), 3 * fold.simd)


@given(layers_of, st.integers(0, 20), st.integers(0, 20))
def test_the_smallest_has_the_fewest_luts_and_then_the_minimum_cost(layers, dsp, cycles):
    limit = Amount(dsp, 0, 99)
    folding = Folding({f"n{n}": layer for n, layer in enumerate(layers)}, price=free_price)

    def measures(chosen):
        taken = folding.amount(dict(enumerate(chosen)))
        return taken.lut, sum(folding.cost("", fold) for fold in chosen)

    fitting = [
        measures(chosen)
        for chosen in itertools.product(*layers)
        if slowest(chosen) <= cycles and folding.amount(dict(enumerate(chosen))).fits(limit)
    ]
    found = folding.smallest(limit, cycles)
    assert (found and measures(found.values())) == min(fitting, default=None)


@given(layers_of, st.integers(0, 20), st.integers(0, 20))
def test_lowest_energy_and_latency_keep_the_limit_of_cycles(layers, dsp, cycles):
    limit = Amount(dsp, 99, 99)
    folding = Folding({f"n{n}": layer for n, layer in enumerate(layers)}, price=free_price)
    fitting = [
        chosen
        for chosen in itertools.product(*layers)
        if 0 < slowest(chosen) <= cycles and folding.amount(dict(enumerate(chosen))).fits(limit)
    ]
    if not fitting or folding.min_cycles(limit) == 0:
        return

    def energy(chosen):
        return slowest(chosen) * sum(folding.cost("", fold) for fold in chosen)

    def delay(chosen):
        return sum(fold.pe * fold.cycles for fold in chosen)

    found = folding.lowest_energy(limit, cycles).values()
    assert slowest(found) <= cycles
    assert energy(found) == min(map(energy, fitting))
    found = folding.lowest_latency(limit, lambda _, fold: fold.pe * fold.cycles, cycles).values()
    assert slowest(found) <= cycles
    assert delay(found) == min(map(delay, fitting))


def test_foldings_are_tried_from_small_to_large():
    """Of equal choices the first one is taken: fewer multipliers, LUT multipliers, lanes."""
    folds = [Fold(1, 6, 9, 2), Fold(6, 1, 9, 1, logic=1), Fold(3, 2, 9, 1), Fold(4, 1, 9, 1)]
    ordered = Folding({"a": folds}).allowed["a"]
    assert ordered == [folds[3], folds[2], folds[1], folds[0]]


def test_of_very_many_foldings_the_minimum_is_that_of_the_priced_ones(monkeypatch):
    choices = {"a": [Fold(pe, 1, 64 // pe, 65 - pe) for pe in (1, 2, 4, 8, 16)]}
    folding = Folding(choices, margin=4)
    assert folding.min_amount() == Amount(dsp=49)
    monkeypatch.setattr("rlx_fpga.explore.folding.MAX_PRICED_FOLDINGS", 5)
    assert folding.min_amount() == Amount(dsp=49)
    monkeypatch.setattr("rlx_fpga.explore.folding.MAX_PRICED_FOLDINGS", 4)
    # Those within the margin of the slowest one: 64, 32 and 16 cycles.
    assert folding.min_amount() == Amount(dsp=61)


def test_nothing_to_fold_takes_no_time():
    assert Folding({}).min_cycles(Amount()) == 0
    with raises(UsageError):
        Folding({}, {"a": (1, 1)})


def test_refusals_name_layers_by_their_labels():
    labels = {"a": "net.a", "b": "net.b"}
    with pytest.raises(UsageError, match=r"net\.a, net\.b$"):
        Folding(CHOICES, fixed={"quite_other": (1, 1)}, labels=labels)
    with pytest.raises(UsageError, match=r"^layer 'net\.a' cannot have pe 3"):
        Folding(CHOICES, fixed={"a": (3, 1)}, labels=labels)
