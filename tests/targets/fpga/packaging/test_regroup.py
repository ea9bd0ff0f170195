"""Cells of the module between a port of another width and the core, in the totals."""

from __future__ import annotations

import json
import subprocess

import pytest
from dense_designs import dense

from rlx.errors import DoesNotFitError
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.regroup import regroup_cells
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import find_yosys, resources

PORTS = [(1, 4, "in"), (1, 16, "out"), (3, 4, "out"), (4, 4, "in")]
"""Bytes of a beat at the core and at the port, and direction."""


def port(core, outside, direction):
    return StreamPort(
        name="s_axis", member="i", direction=direction, shape=(48 * core,), bits=8, lanes=core,
        stream_bits=8 * outside,
    )  # fmt: skip


@pytest.mark.synth
@pytest.mark.parametrize("name", ["ecp5-25k", "ice40-up5k"])
def test_flip_flops_are_exact_and_luts_near(tmp_path, name):
    chosen = device(name)
    text = render("regroup.sv.j2", interface=Interface("net", (), ()))
    (tmp_path / "regroup.sv").write_text(text)
    script = ["read_verilog -sv regroup.sv", "design -save all"]
    for index, values in enumerate(PORTS):
        sizes = " ".join(f"-set {key} {value}" for key, value in port(*values).regroup.items())
        script += ["design -load all", f"chparam {sizes} net_regroup",
                   f"{chosen.synth} -top net_regroup",
                   f"tee -q -o {index}.json stat -json"]  # fmt: skip
    (tmp_path / "run.ys").write_text("\n".join(script))
    subprocess.run([*find_yosys().command, "-q", "-s", "run.ys"], cwd=tmp_path, check=True)
    for index, values in enumerate(PORTS):
        modules = json.loads((tmp_path / f"{index}.json").read_text())["modules"]
        (counts,) = modules.values()
        found = resources(counts["num_cells_by_type"], chosen.family)
        predicted = regroup_cells(port(*values), chosen.family)
        assert predicted.ff == found["ff"]
        assert found["lut"] / 2 < predicted.lut < found["lut"] * 2
        assert (found["dsp"], found["bram"]) == (predicted.dsp, predicted.bram) == (0, 0)


@pytest.mark.parametrize(
    ("architecture", "name"),
    [("dataflow", "ecp5-25k"), ("engine", "ice40-up5k"), ("parallel", "ecp5-85k")],
)
def test_totals_include_them(architecture, name):
    options = {"architecture": architecture, "device": name}
    files = TARGET.emit(dense(), FpgaOptions(**options)).files
    plain = json.loads(files["report.json"])
    ports = [port(plain["interface"][f"{way}puts"][0]["lanes"], 4, way) for way in ("in", "out")]
    wide = TARGET.estimate(dense(), FpgaOptions(**options, stream_bits=32))
    cells = [regroup_cells(one, device(name).family) for one in ports]
    assert wide["ff"] == plain["ff"] + sum(one.ff for one in cells)
    assert wide["lut"] == plain["lut"] + sum(one.lut for one in cells)
    assert wide["lut_percent"] > plain["lut_percent"]
    assert ("logic_cells" in plain) == (wide.get("logic_cells", 0) > plain.get("logic_cells", 0))
    assert wide["layers"] == plain["layers"]
    assert wide["fps"] == round(1e6 * wide["clock_mhz"] / wide["interval"], 2)


def test_what_fits_only_without_them_is_refused():
    options = {"architecture": "engine", "device": "ecp5-25k"}
    plain = TARGET.estimate(dense(), FpgaOptions(**options))
    wide = FpgaOptions(**options, stream_bits=128, lut=plain["lut"])
    TARGET.emit(dense(), FpgaOptions(**options, lut=plain["lut"]))
    with pytest.raises(DoesNotFitError, match=rf"needs [\d,]+ LUTs, {plain['lut']:,} available"):
        TARGET.emit(dense(), wide)
    assert TARGET.estimate(dense(), wide)["fits"] is False
