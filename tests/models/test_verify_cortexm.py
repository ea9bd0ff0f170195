"""The keyword-spotting network of MLPerf Tiny as C: every reference input, on every simulator."""

import numpy as np
import pytest

from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import given_inputs
from rlx.targets import target
from rlx_sim.verify import CORTEXM

pytestmark = [pytest.mark.models, pytest.mark.qemu]

VECTORS = 64


@pytest.fixture(scope="module")
def folder(shared_models, tmp_path_factory):
    module = frontends.load(shared_models / "kws_ref_model.tflite")
    with np.load(shared_models / "vectors" / "kws_ref_model.npz") as vectors:
        given = {name: vectors[name] for name in ("x", "y")}
    golden = given_inputs(module.graph, given, None)
    place = tmp_path_factory.mktemp("kws") / "kws"
    driver.emit(module, target.load("cortexm"), place, golden=golden)
    return place


def test_all_reference_inputs_are_equal(folder):
    result = CORTEXM.verify(folder, tools=["host", "sanitize", "qemu"]).as_json()
    assert (result["inputs"], result["equal"], result["mismatches"]) == (VECTORS, VECTORS, [])
    assert [run["equal"] for run in result["runs"]] == [VECTORS] * 3
    # ANCHORS-CORTEXM: constants of the network alone, and the least arena it can run in.
    assert 24_000 < result["const_bytes"] < 40_000
    assert 16_000 <= result["ram_bytes"] < 18_000
    assert 0 < result["stack_bytes"] < 1024
    assert 2_000_000 < result["instructions"] < 8_000_000


def test_pip_alone_gives_the_same_bits(folder):
    result = CORTEXM.verify(folder, tools=["unicorn:zig"], inputs_limit=8).as_json()
    assert (result["inputs"], result["equal"]) == (8, 8)


def test_both_emulators_count_the_same(folder):
    result = CORTEXM.verify(folder, tools=["qemu:gcc", "unicorn:gcc"], inputs_limit=2).as_json()
    qemu, unicorn = result["runs"]
    assert qemu.pop("simulator") != unicorn.pop("simulator")
    assert qemu == unicorn
