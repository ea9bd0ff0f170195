"""In one emission every installed target runs its rules once for each node."""

from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from rlx import frontends
from rlx.driver import driver
from rlx.targets import target
from rlx_cortexm.tactic import CoreTactic

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.rlx"

CASES = [
    ("cortexm", {}, "rlx_cortexm.kernels.rules"),
    ("cortexm", {"cpu": "cortex-m55", "optimize": "ram"}, "rlx_cortexm.kernels.rules"),
    ("fpga", {}, "rlx_fpga.architectures.dataflow.lower"),
]


def counting(rules, monkeypatch):
    """Return the runs of each rule of a table for each node; counts from now on."""
    runs = Counter()

    def counted(rule):
        def run(node, *core):
            runs[node] += 1
            return rule(node, *core)

        return run

    def counted_rule(rule):
        if callable(rule):
            return counted(rule)
        # A list of tactics, all of which look at each node.
        *others, plain = rule
        name = "on" if isinstance(plain, CoreTactic) else "candidates"
        return (*others, replace(plain, **{name: counted(getattr(plain, name))}))

    counted_rules = {op: counted_rule(rule) for op, rule in rules._rules.items()}
    monkeypatch.setattr(rules, "_rules", counted_rules)
    return runs


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "module"), CASES)
def test_a_rule_runs_once_for_each_node_of_an_emission(name, options, module, monkeypatch):
    found = target.load(name)
    runs = counting(import_module(module).RULES, monkeypatch)
    options = found.options(**options)
    lowered = driver.lower(frontends.load(DIGITS), found, options=options)
    found.emit(lowered.module, options)
    assert set(runs.values()) == {1}
    assert set(lowered.module.graph.op_nodes) <= set(runs)


@pytest.mark.parametrize(("name", "module"), [(n, m) for n, given, m in CASES if not given])
def test_no_node_is_looked_at_before_the_graph_is_simplified(name, module, monkeypatch):
    """The nodes that are looked at are those that are emitted, and no others."""
    found = target.load(name)
    runs = counting(import_module(module).RULES, monkeypatch)
    lowered = driver.lower(frontends.load(DIGITS), found)
    assert set(runs) == set(lowered.module.graph.op_nodes)
