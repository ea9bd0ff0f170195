"""Rule tables."""

import re
from importlib import import_module

import pytest

from rlx.ir import RuleTable
from rlx.ops.q import QClamp, QPad, QSlice
from rlx.support.errors import UnsupportedOpError
from support.messages import raises


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
    with raises(UnsupportedOpError):
        rules[QPad]
    with raises(UnsupportedOpError):
        rules[QSlice]


def test_hint_is_that_of_the_table():
    with raises(UnsupportedOpError):
        RuleTable("the toaster", hint="slice it first")[QSlice]


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("rlx.passes.ranges", None),
        ("rlx.passes.quantize.convert", None),
        ("rlx.passes.transforms.batch", None),
        ("rlx_cortexm.kernels.rules", "cortexm"),
        ("rlx_fpga.architectures.dataflow.lower.rules", "fpga"),
        ("rlx_fpga.architectures.engine.lower", "fpga"),
        ("rlx_fpga.architectures.parallel.rules", "fpga"),
    ],
)
def test_tables_of_targets_alone_hint_at_targets(module, target):
    tables = [t for t in vars(import_module(module)).values() if isinstance(t, RuleTable)]
    assert tables
    for table in tables:
        found = re.findall(r"'rlx targets (\w*)'", table.hint)
        assert found == ([] if target is None else [target])


def test_table_knows_what_it_was_told(rules):
    assert rules.knows(QClamp)
    assert rules.knows(QPad)
    assert not rules.knows(QSlice)


def test_two_rules_for_one_op_are_refused(rules):
    with raises(ValueError):
        rules.rule(QSlice, QClamp)(print)
