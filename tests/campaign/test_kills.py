"""The short form of the campaign of kills: a few dozen of its cases."""

import pytest

from campaign import kills


# From Python 3.12 on fork warns where the test runner has threads; the child only writes files.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("case", kills.short_cases())
def test_nothing_is_lost_and_nothing_left(case):
    assert kills.run(case) is None


def test_long_form_is_whole_and_always_the_same():
    every = list(kills.cases())
    assert len(every) == kills.LONG
    assert every == list(kills.cases())
    assert len({case.split(maxsplit=1)[1] for case in every}) > 0.95 * kills.LONG
    assert {case.split()[1] for case in every} == {"kill", "error", "race", "signal"}
