"""Numbers with nouns."""

import pytest

from rlx.support.text.units import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "op", "0 ops"),
        (1, "op", "1 op"),
        (1234, "value", "1,234 values"),
        (1, "kind of op", "1 kind of op"),
        (2, "kind of op", "2 kinds of op"),
        (2, "entry", "2 entries"),
        (2, "pass", "2 passes"),
        (2, "array", "2 arrays"),
    ],
)
def test_a_noun_is_in_the_plural_except_for_one(number, noun, text):
    assert counted(number, noun) == text
