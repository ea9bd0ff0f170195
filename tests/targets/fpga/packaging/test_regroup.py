"""Cells of the module between a port of another width and the core, in the totals."""

from __future__ import annotations

import json
import subprocess

import pytest

from rlx.support.errors import DoesNotFitError
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort, WeightPort
from rlx_fpga.packaging.registers import Control
from rlx_fpga.packaging.regroup import regroup_cells, with_ports, with_stream_bits
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import find_yosys, resources
from support.messages import raises
from support.networks.dense_designs import dense

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


def interface(outside, *, lanes=(1, 1), each_frame=True, loaded=16):
    """Return ports of 48 elements in and 96 out, and a weight port, with streams of some bytes."""
    ways = zip(("in", "out"), (48, 96), lanes, strict=True)
    first, last = (
        StreamPort(name=way, member=way[0], direction=way, shape=(n,), bits=8, lanes=of)
        for way, n, of in ways
    )
    weights = StreamPort(
        name="w", member="w", direction="in", shape=(800 // loaded, loaded), bits=8, lanes=loaded
    )  # fmt: skip
    plain = Interface(
        "net", (first,), (last,), Control(1, 2), weights=WeightPort(weights, "w.bin", each_frame)
    )
    return with_stream_bits(plain, outside and 8 * outside)


REPORT = {"interval": 100, "latency": 30, "busy": 0.5, "lut": 9, "ff": 9, "dsp": 1, "bram": 0.5}


@pytest.mark.parametrize(
    ("outside", "lanes", "each_frame", "interval"),
    [
        # Weights take 50 beats at the core, and 200 or 50 at ports of 4 and 16 bytes.
        (4, (1, 1), True, 250), (4, (1, 1), False, 100), (16, (1, 1), True, 100),
        (8, (16, 16), True, 150), (8, (1, 1), False, 100),
        (4, (4, 4), False, 100),
    ],
)  # fmt: skip
def test_weights_for_every_frame_delay_it_by_their_further_beats(
    outside, lanes, each_frame, interval
):
    options = FpgaOptions(clock=1e6)
    found = with_ports(REPORT, interface(outside, lanes=lanes, each_frame=each_frame), options)
    assert found["interval"] == interval
    assert found["busy"] == round(0.5 * 100 / interval, 4)
    assert found.get("slowest") == (None if interval == 100 else "ports")
    assert found["fps"] == round(1e6 / interval, 2)
    # A module before and one behind the core; none where the ports have more beats than it.
    assert found.get("latency") == (None if lanes == (16, 16) else 32)


def test_weights_that_come_faster_than_the_core_takes_them_save_no_time():
    found = with_ports(REPORT, interface(16, loaded=4), FpgaOptions(clock=1e6))
    assert found["interval"] == 100


def test_a_port_with_more_beats_than_the_interval_sets_the_rate():
    report = {**REPORT, "interval": 23}
    # 96 bytes are 24 beats of 4 bytes.
    for needed, fits in ((23, False), (24, True)):
        options = FpgaOptions(clock=1e6, fps=1e6 / (needed + 0.5), stream_bits=32)
        assert options.max_cycles == needed
        if fits:
            assert with_ports(report, interface(4, each_frame=False), options)["interval"] == 24
        else:
            with raises(DoesNotFitError):  # fmt: skip
                with_ports(report, interface(4, each_frame=False), options)


def test_all_ports_get_the_width_and_registers_the_framing_error():
    wide, plain = interface(4), interface(None)
    assert [one.stream_bits for one in wide.ports] == [32, 32, 32]
    assert (wide.control.framed, plain.control.framed) == (True, False)
    assert with_ports(REPORT, plain, FpgaOptions()) == REPORT


@pytest.mark.parametrize(
    ("core", "outside", "ff"),
    # A buffer of the sum of both beats less one unit, and the number of units that it holds.
    [(4, 4, 32 + 1), (1, 4, 8 * 4 + 3), (8, 4, 2 * 32 + 2), (3, 4, 8 * 6 + 3), (6, 4, 16 * 4 + 3)],
)
def test_flip_flops_are_a_buffer_and_its_level(core, outside, ff):
    for direction in ("in", "out"):
        cells = regroup_cells(port(core, outside, direction), "ecp5")
        assert cells.ff == ff
        assert (cells.dsp, cells.bram) == (0, 0)
    # The more units both sides have, the more LUTs a bit of the buffer takes.
    rates = [regroup_cells(port(n, 4, "in"), "ecp5") for n in (4, 8, 3)]
    assert rates[0].lut / 32 < rates[1].lut / 64 < rates[2].lut / 48
