import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.errors import DoesNotFitError, UsageError
from rlx_fpga.folding import fold_layers
from rlx_fpga.lower import Fold

CHOICES = {
    "a": [Fold(1, 1, 80, 1), Fold(2, 1, 40, 2), Fold(2, 4, 10, 8)],
    "b": [Fold(1, 1, 30, 1), Fold(1, 3, 10, 3)],
}

folds = st.builds(Fold, st.integers(1, 4), st.integers(1, 4), st.integers(0, 20), st.integers(0, 9))


@given(
    st.lists(st.lists(folds, min_size=1, max_size=4), min_size=1, max_size=3), st.integers(0, 20)
)
def test_fold_layers_is_as_fast_as_the_best_of_all_combinations(layers, budget):
    choices = {f"n{index}": layer for index, layer in enumerate(layers)}
    fitting = [
        chosen
        for chosen in itertools.product(*layers)
        if sum(fold.multipliers for fold in chosen) <= budget
    ]
    if not fitting:
        with pytest.raises(DoesNotFitError):
            fold_layers(choices, multipliers=budget)
        return
    best = min(max(fold.cycles for fold in chosen) for chosen in fitting)
    found = fold_layers(choices, multipliers=budget)
    assert all(fold in choices[name] for name, fold in found.items())
    assert max(fold.cycles for fold in found.values()) == best
    assert sum(fold.multipliers for fold in found.values()) <= budget


def test_fold_layers_makes_nobody_faster_than_needed():
    found = fold_layers(CHOICES, multipliers=3)
    assert (found["a"].cycles, found["b"].cycles) == (40, 30)


def test_fold_layers_takes_what_is_given():
    found = fold_layers(CHOICES, multipliers=20, given={"a": (1, 1)})
    assert found["a"].cycles == 80
    assert found["b"].multipliers == 1


def test_fold_layers_of_nothing():
    assert fold_layers({}, multipliers=1) == {}


def test_fold_layers_tells_how_many_multipliers_it_needs():
    with pytest.raises(
        DoesNotFitError,
        match=r"^the layers need at least 2 multipliers, the budget is 1\n"
        r"  hint: raise the budget$",
    ):
        fold_layers(CHOICES, multipliers=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": (1, 1)}, r"^no layer is called 'c'\n  hint: layers: a, b$"),
        ({"a": (3, 1)}, r"^layer 'a' cannot have pe 3 and simd 1\n  hint: pe: 1, 2; simd: 1, 4$"),
    ],
)
def test_fold_layers_refuses_what_does_not_exist(given, message):
    with pytest.raises(UsageError, match=message):
        fold_layers(CHOICES, multipliers=9, given=given)
