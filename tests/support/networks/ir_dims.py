"""Random dimensions: expressions of a few symbols and numbers."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from rlx.ir import Dim
from rlx.support.errors import ShapeError

NAMES = ("a", "b", "c", "not a word", "true")

sizes = st.fixed_dictionaries({name: st.integers(1, 50) for name in NAMES})


@st.composite
def recipes(draw, depth=3):
    """A nested tuple that says how to compute something from symbols and numbers."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(st.sampled_from(NAMES), st.integers(-9, 9)))
    operator = draw(st.sampled_from("+-*"))
    return operator, draw(recipes(depth - 1)), draw(recipes(depth - 1))


def computed(recipe, leaf):
    """Return the value of a recipe if ``leaf`` represents its symbols."""
    if isinstance(recipe, str):
        return leaf(recipe)
    if isinstance(recipe, int):
        return recipe
    operator, left, right = recipe
    x, y = computed(left, leaf), computed(right, leaf)
    return x + y if operator == "+" else x - y if operator == "-" else x * y


def expression(recipe):
    """Return a recipe's dimension; a few are larger than dimensions may be."""
    try:
        return computed(recipe, Dim)
    except ShapeError:
        assume(False)


expressions = recipes().map(expression)
dims = expressions.filter(lambda d: isinstance(d, Dim))
