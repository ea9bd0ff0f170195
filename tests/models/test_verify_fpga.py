"""The networks of MLPerf Tiny as hardware: reference inputs through the simulated core."""

import numpy as np
import pytest

from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import given_inputs
from rlx.targets import target
from rlx_fpga import FpgaOptions
from rlx_sim.hardware.fpga import read_report
from rlx_sim.synthesis.build import FPGA as BUILDER
from rlx_sim.verify import FPGA

pytestmark = [pytest.mark.models, pytest.mark.sim]

VECTORS = 64
MULTIPLIERS = 156
# Cycles for each frame with that budget; a better choice of foldings may lower them.
INTERVALS = {
    "kws_ref_model": 20_000,
    "ad01_int8": 1_728,
    "pretrainedResnet_quant": 92_160,
    "vww_96_int8": 28_620,
}


def emitted(shared_models, name, place, **options):
    """Emit a model with its reference vectors; return its folder."""
    module = frontends.load(shared_models / f"{name}.tflite")
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        given = {key: vectors[key] for key in ("x", "y")}
    golden = given_inputs(module.graph, given, None)
    chosen = FpgaOptions(dsp=MULTIPLIERS, **options)
    driver.emit(module, target.load("fpga"), place, options=chosen, golden=golden)
    return place


@pytest.fixture(scope="module")
def kws(shared_models, tmp_path_factory):
    return emitted(shared_models, "kws_ref_model", tmp_path_factory.mktemp("kws") / "kws")


def test_keyword_spotting_gives_every_reference_output(kws):
    result = FPGA.verify(kws)
    found = result.as_json()
    assert result.passed, found["mismatches"]
    assert (found["inputs"], found["equal"]) == (VECTORS, VECTORS)
    assert found["stalled"] == {"inputs": 2, "equal": 2}
    assert found["interval"] == found["predicted_interval"]
    assert found["interval"] <= INTERVALS["kws_ref_model"]
    assert found["latency"] < 2 * found["interval"]
    bench = found["cocotb"]
    assert (bench["tests"], bench["passed"]) == (3, 3)
    assert bench["equal"] == bench["inputs"] >= 4
    assert (bench["latency"], bench["interval"]) == (found["latency"], found["interval"])


@pytest.mark.parametrize("name", ["ad01_int8", "pretrainedResnet_quant", "vww_96_int8"])
def test_other_networks_give_reference_outputs(name, shared_models, tmp_path):
    folder = emitted(shared_models, name, tmp_path / "out", prefix="net")
    found = FPGA.verify(folder, inputs_limit=4, tools=["verilator"]).as_json()
    assert (found["inputs"], found["equal"], found["mismatches"]) == (4, 4, [])
    assert found["interval"] == found["predicted_interval"] <= INTERVALS[name]


@pytest.mark.synth
def test_keyword_spotting_has_the_cells_that_were_predicted(kws):
    rows = {row["resource"]: row for row in BUILDER.build(kws, seeds=0).resources}
    assert rows["dsp"]["synthesis"] == read_report(kws)["multipliers"] <= MULTIPLIERS
    assert rows["bram"]["synthesis"] == rows["bram"]["estimate"]
    for name in ("lut", "ff"):
        assert rows[name]["estimate"] == pytest.approx(rows[name]["synthesis"], rel=0.2)
