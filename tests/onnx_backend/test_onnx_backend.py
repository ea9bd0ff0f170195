"""The node cases of ``onnx.backend.test``, and the page about them."""

from __future__ import annotations

import pytest

from onnx_backend import page
from onnx_backend.backend import CONSTANT_INPUTS, RlxBackend
from onnx_backend.cases import cases, stored, summary
from rlx.errors import RlxError
from rlx.frontends.onnx_ops import IMPORTERS

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
    assert found.passing >= 1178


def test_numbers_differ_only_where_it_is_explained(found):
    """Whatever else does not pass is refused: nothing is wrong in silence."""
    assert not [name for name, reason in found.reasons.items() if reason.startswith("result ")]


def test_every_importer_has_a_case_that_passes_or_a_test(found):
    passing = {
        tuple(n.rpartition(".")[::2]) for n, (passed, _) in found.operators.items() if passed
    }
    # tests/unit/frontends/onnx_ops: test_windows.py and test_qonnx.py
    qonnx = {key for key in IMPORTERS if key[1] in ("Quant", "IntQuant", "BipolarQuant", "Trunc")}
    elsewhere = {("", "GlobalLpPool"), *qonnx}
    assert set(IMPORTERS) - passing == elsewhere


def test_inputs_made_constants_are_refused_otherwise():
    """Each operator of which the cases get constants needs them."""
    most, seen = {}, {}
    for case in cases():
        node, *others = case.model.graph.node or [None]
        if node is None or others:
            continue
        count = sum(bool(n) for n in node.input)
        if node.op_type in CONSTANT_INPUTS and count > most.get(node.op_type, 0):
            most[node.op_type], seen[node.op_type] = count, case
    assert set(seen) == set(CONSTANT_INPUTS)
    accepted = []
    for name, case in seen.items():
        try:
            RlxBackend.prepare(case.model)
        except RlxError:
            continue
        accepted.append(name)
    assert accepted == []


def test_page_is_current():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()
