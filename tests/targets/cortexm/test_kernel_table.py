"""The table of ``RLX_DEBUG=kernels``."""

import re

import pytest

import rlx
from rlx.driver import driver
from rlx.support import config
from rlx.targets import target
from rlx_c.candidate import Candidate
from rlx_c.choice import MemoryLimits, Need, Objective
from rlx_c.losers import KernelChoice, losers
from rlx_cortexm.code_size import code_sizes
from rlx_cortexm.core import CORES
from rlx_cortexm.kernel_table import kernel_table
from rlx_cortexm.program import KernelSettings, choice_of, program
from support import ROOT

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"


def candidate(name, instructions, table_bytes=0, scratch_bytes=0):
    return Candidate(name, None, lambda: None, instructions, table_bytes, scratch_bytes)


def why(first, *others, **limits):
    """Return the reasons why others than the first candidate were not chosen, by name."""
    need = Need([first, *others], lambda nbytes: 100 + nbytes)
    choice = KernelChoice([need], 100, Objective(flash=10, ram=8), MemoryLimits(**limits), (first,))
    (found,) = losers(choice, code_sizes)
    return {loser.candidate.name: loser.reason for loser in found}


def test_losers_are_sorted_by_what_they_cost_more():
    a = candidate("a", 1000, 50, 4)
    found = why(
        a, candidate("b", 900, 61, 8), candidate("c", 1000, 50, 4), candidate("d", 990, 52, 4)
    )
    assert list(found.items()) == [
        ("c", "costs the same"),
        ("d", "costs 10 more: -10 instructions, +2 B of flash at 10"),
        ("b", "costs 42 more: -100 instructions, +11 B of flash at 10, +4 B of RAM at 8"),
    ]  # fmt: skip


def test_limits_that_losers_do_not_keep():
    a, b = candidate("a", 1000), candidate("b", 0, 60, 2500)
    assert why(a, b) == {"b": "makes the arena 2,600 B, over 2,148 B"}
    assert why(a, b, ram=1000) == {"b": "makes the arena 2,600 B, over 1,000 B"}
    assert why(a, b, ram=9999, flash=59) == {"b": "makes the flash 60 B, over 59 B"}


def test_a_better_choice_that_was_missed_is_not_hidden():
    found = why(candidate("a", 1000), candidate("b", 990))
    assert found == {"b": "costs 10 less (-10 instructions), but the search did not find it"}


@pytest.mark.parametrize("optimize", ["balanced", "speed", "size", "ram"])
@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_every_layer_has_one_kernel_and_reasons_for_the_others(cpu, optimize):
    module = driver.lower(rlx.load(DIGITS).module, target.load("cortexm")).module
    settings = KernelSettings(optimize, core=CORES[cpu])
    choice, table = choice_of(module.plan, settings), kernel_table(module, settings, cpu)
    chosen = [row[2] for row in table.rows if row[-1] == "chosen"]
    assert chosen == [c.name for c in choice.candidates]
    with_kernel = [row for row in table.rows if row[3] is not None]
    assert len(with_kernel) == sum(len(need.candidates) for need in choice.needs)
    # A fixed number of arena sizes is tried, so that speed may miss one.
    more = "(more|less)" if optimize == "speed" else "more"
    pattern = re.compile(rf"chosen|costs ([\d,]+ {more}\b|the same)|makes the (arena|flash) ")
    assert [row for row in with_kernel if not pattern.match(row[-1])] == []
    assert [step.layer.kernel for step in program(module, settings).steps] == [
        c.kernel for c in choice.candidates
    ]  # fmt: skip
    vectors = [row for row in table.rows if row[-1] == "needs the vector extension MVE"]
    assert bool(vectors) == (cpu == "cortex-m4")


def test_the_setting_prints_the_table_and_changes_no_byte(tmp_path, capsys):
    plain = rlx.emit(DIGITS, "cortexm", tmp_path / "plain")
    assert capsys.readouterr().err == ""
    with config.override(debug="kernels"):
        assert rlx.emit(DIGITS, "cortexm", tmp_path / "shown").files == plain.files
        rlx.estimate(DIGITS, "cortexm", cpu="cortex-m55")
    lines = capsys.readouterr().err.splitlines()
    titles = [line for line in lines if line.startswith("Kernels on a ")]
    assert titles == [
        f"Kernels on a {cpu}: a byte of flash counts as 10 instructions, one of RAM as 8"
        for cpu in ("cortex-m4", "cortex-m55")
    ]
    assert lines[1].split()[:3] == ["layer", "op", "kernel"]
    assert re.match(r"conv1 +q.conv2d +conv2d +[\d,]+ +[\d,]+ +\d+ +chosen$", lines[2])
