"""The node cases of ``onnx.backend.test``, and the page about them."""

from __future__ import annotations

import pytest

from onnx_backend import page
from onnx_backend.backend import CONSTANT_INPUTS, RlxBackend
from onnx_backend.cases import array_of, cases, stored, summary
from rlx.frontends.onnx.ops import IMPORTERS
from rlx.support.errors import RlxError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return summary()


def test_cases_pass_as_stored(found):
    """Fails where a case is worse than stored, and where one is better and not stored yet."""
    known = stored()
    assert found.onnx == known.onnx
    assert set(found.reasons) - set(known.reasons) == set()
    assert set(known.reasons) - set(found.reasons) == set()
    assert found == known


def test_enough_cases_pass(found):
    assert found.total == 1346
    assert found.passing >= 1180


def test_numbers_differ_only_where_it_is_explained(found):
    """Whatever else does not pass is refused: nothing is wrong in silence."""
    assert not [name for name, reason in found.reasons.items() if reason.startswith("result ")]


def test_every_importer_has_a_case_that_passes_or_a_test(found):
    passing = {
        tuple(n.rpartition(".")[::2]) for n, (passed, _) in found.operators.items() if passed
    }
    # Those of other domains, and GlobalLpPool, are tested in tests/unit/frontends/onnx/ops.
    standard = {name for domain, name in set(IMPORTERS) - passing if not domain}
    assert standard == {"GlobalLpPool"}


def test_inputs_made_constants_are_refused_otherwise():
    """Each input of which the cases get constants must be one."""
    most = {}
    for case in cases():
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in CONSTANT_INPUTS:
            for place in CONSTANT_INPUTS[nodes[0].op_type]:
                if place < len(nodes[0].input) and nodes[0].input[place]:
                    most[nodes[0].op_type, place] = case
    known = {(name, p) for name, places in CONSTANT_INPUTS.items() for p in places}
    assert known - set(most) == {("DFT", 1)}
    accepted = [key for key, case in most.items() if not _is_refused(case, key[1])]
    assert accepted == []


def _is_refused(case, place):
    """Whether rlx refuses a case of which one input is computed."""
    name = case.model.graph.node[0].input[place]
    inputs = [array_of(v) for v in case.data_sets[0][0]]
    try:
        RlxBackend.prepare(case.model, inputs=inputs, computed=name)
    except RlxError:
        return True
    return False


def test_page_is_current():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()
