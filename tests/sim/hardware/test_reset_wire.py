"""ECP5: the reset of a core by one of the device's global wires, in the netlist for nextpnr."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from rlx_fpga.cells.divide import Divide
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.netlist import design_files
from rlx_fpga.packaging.registers import Control
from rlx_fpga.packaging.synthesis import synthesize
from rlx_sim.synthesis.nextpnr import place_and_route
from support.design_report import TOTALS

DEVICE = device("ecp5-25k")
IN = StreamPort(name="s_axis", member="i", direction="in", shape=(4, 2), bits=16, lanes=2)
OUT = StreamPort(name="m_axis", member="o", direction="out", shape=(4, 2), bits=8, lanes=2)
REPORT = {**TOTALS, "interval": 8, "layers": []}
REGISTERS = Control(model=1, version=1)


@pytest.fixture(scope="module", params=[None, REGISTERS], ids=["plain", "control"])
def folder(request, tmp_path_factory):
    """Return a folder with the netlist of a small core, with and without AXI4-Lite registers."""
    kept = tmp_path_factory.mktemp("netlist")
    interface = Interface("t", (IN,), (OUT,), request.param)
    files = design_files(Divide(2, 16, (125,)), interface, REPORT, DEVICE)
    sources = [path for path in files if path.startswith("rtl/")]
    synthesize(files, sources, interface.top, DEVICE, keep=kept)
    return kept


def pins(folder):
    """Return the cells of the netlist, and the cell types and pins at each of its wires."""
    modules = json.loads((folder / f"{DEVICE.name}.json").read_text())["modules"]
    cells = modules["t_top_pins"]["cells"].values()
    return cells, lambda wire: Counter(
        (cell["type"], pin)
        for cell in cells
        for pin, wires in cell["connections"].items()
        if wire in wires
    )


@pytest.mark.synth
def test_one_buffer_drives_the_resets_of_flip_flops(folder):
    cells, at = pins(folder)
    (buffer,) = [cell for cell in cells if cell["type"] == "DCCA"]
    (before,), (behind,) = (buffer["connections"][pin] for pin in ("CLKI", "CLKO"))
    # No reader is left before the buffer.
    assert at(before) == {("DCCA", "CLKI"): 1, ("LUT4", "Z"): 1}
    # The reset of the core is that of most flip-flops. Logic may read it too.
    flops = (cell["connections"] for cell in cells if cell["type"] == "TRELLIS_FF")
    resets = Counter(wire for flop in flops for wire in flop["LSR"])
    del resets["0"]
    assert resets.most_common(1) == [(behind, at(behind)["TRELLIS_FF", "LSR"])]


@pytest.mark.synth
def test_nextpnr_lays_it_as_a_global_wire(folder):
    place_and_route(folder, DEVICE, seed=1, target_mhz=50)
    log = (folder / f"{DEVICE.name}_seed1.log").read_text()
    assert re.findall(r"routing clock net .* using global (\d)", log) == ["0", "1"]
