"""The table of MISRA deviations: it names every rule that cppcheck reports, with a reason."""

import sys
from collections import Counter
from importlib import util

import pytest
from targets.cortexm.graph_builder import emit_graph, write
from targets.cortexm.kernel_graphs import classifier

from support import ROOT, require_program


def _script():
    spec = util.spec_from_file_location("misra", ROOT / "tools" / "misra.py")
    module = util.module_from_spec(spec)
    sys.modules["misra"] = module  # its dataclass looks there for the types of its fields
    spec.loader.exec_module(module)
    return module


misra = _script()


def test_the_page_has_a_row_for_each_rule_with_a_reason():
    counts = misra.rules_of(misra.PAGE.read_text(encoding="utf-8"))
    assert set(counts) == set(misra.RULES)
    assert all(number > 0 for number in counts.values())
    assert misra.with_table(misra.PAGE.read_text(encoding="utf-8"), misra.table(counts)) == (
        misra.PAGE.read_text(encoding="utf-8")
    )


def test_rows_are_sorted_by_number():
    text = misra.table({"10.1": 2, "2.5": 1})
    assert [line.split(" | ")[:3] for line in text.splitlines()[2:]] == [
        ["| 2.5", "advisory", "1"], ["| 10.1", "required", "2"],
    ]  # fmt: skip


def test_the_largest_count_of_each_rule_is_taken():
    assert misra.most([Counter(a=2, b=1), Counter(a=1, c=3)]) == {"a": 2, "b": 1, "c": 3}


def test_assembly_is_taken_out():
    text = '__asm__ volatile("ldr %[x], (\\n\\t" : [x] "=r"(x) : [y] "r"(at(y)));\nx = (y);\n'
    assert misra.without_assembly(text) == ";\nx = (y);\n"


@pytest.mark.slow
@pytest.mark.parametrize("macros", misra.CONFIGURATIONS.values(), ids=misra.CONFIGURATIONS)
def test_cppcheck_reports_no_other_rule(tmp_path, macros):
    program = require_program("cppcheck")
    folder = write(tmp_path, emit_graph(classifier(), prefix="net"))
    found = misra.hits(folder, macros, program)
    assert found
    assert set(found) <= set(misra.RULES)
