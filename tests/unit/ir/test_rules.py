"""Rule tables."""

import re

import pytest

from rlx.errors import UnsupportedOpError
from rlx.ir import RuleTable
from rlx.ops.q import QClamp, QPad, QSlice


@pytest.fixture
def rules():
    table = RuleTable("the toaster")

    @table.rule(QClamp)
    def toast_clamp(node):
        return f"toasted {node}"

    table.refuse("bread only", QPad)
    return table


def test_rule_is_found_by_class(rules):
    assert rules[QClamp]("x") == "toasted x"
    assert QClamp in rules
    assert QPad not in rules


def test_missing_rules_are_refused_with_the_reason(rules):
    assert rules.reason(QClamp) is None
    assert rules.reason(QPad) == "bread only"
    assert rules.reason(QSlice) == "it has no rule"
    message = (
        "the toaster cannot handle q.pad: bread only\n"
        "  hint: see what the toaster supports with 'rlx targets', or pick another target"
    )
    with pytest.raises(UnsupportedOpError, match=f"^{re.escape(message)}$"):
        rules[QPad]
    with pytest.raises(UnsupportedOpError, match=r"^the toaster cannot handle q\.slice: it has no"):
        rules[QSlice]


def test_table_knows_what_it_was_told(rules):
    assert rules.knows(QClamp)
    assert rules.knows(QPad)
    assert not rules.knows(QSlice)


def test_two_rules_for_one_op_are_refused(rules):
    with pytest.raises(ValueError, match=r"^the toaster has two rules for q\.clamp$"):
        rules.rule(QSlice, QClamp)(print)
