"""Layouts of waveforms: what they name exists in the emitted files, in the order of the network.

``tests/sim/hardware/test_waves.py`` holds them against real waveforms.
"""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from pyslang import ast, syntax

from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.packaging.axi import CoreInstance, Interface, PortSignal, StreamPort, WeightPort
from rlx_fpga.packaging.registers import Control
from rlx_fpga.packaging.waves import wave_layouts
from support.networks.dense_designs import DESIGNS, dense

CHOSEN = {
    "files": DESIGNS["files"], "netlist": DESIGNS["netlist"],
    "stream": {**DESIGNS["stream"], "stream_bits": 32},
}  # fmt: skip


@cache
def emitted(name):
    return TARGET.emit(dense(), FpgaOptions(prefix="net", **CHOSEN[name])).files


@cache
def elaborated(name, top):
    """Return the root of a design, elaborated by slang with ``top`` at the top."""
    files = emitted(name)
    sources = json.loads(files["report.json"])["interface"]["sources"]
    texts = [files[path] for path in sources] + [files["tb/net_tb.sv"]] * (top == "net_tb")
    compilation = ast.Compilation()
    for text in texts:
        compilation.addSyntaxTree(syntax.SyntaxTree.fromText(text))
    return compilation.getRoot()


def gtkwave(text):
    """Return the signals of a save file, with the number of bits that their range has."""
    lines = [line for line in text.splitlines() if line[0] not in "[@-"]
    found = [re.fullmatch(r"([\w.]+)(?:\[(\d+):0\])?", line) for line in lines]
    return [(one[1], int(one[2] or 0) + 1) for one in found]


@pytest.mark.parametrize("top", ["net_top", "net_tb"])
@pytest.mark.parametrize("name", CHOSEN)
def test_every_signal_exists_with_its_width(name, top):
    signals = gtkwave(emitted(name)[f"tb/{top}.gtkw"])
    root = elaborated(name, top)
    for path, bits in signals:
        found = root.lookupName(path)
        assert found is not None, path
        assert found.type.bitWidth == bits, path
    commands = emitted(name)[f"tb/{top}.sucl"]
    assert re.findall(r"^variable_add (.*)$", commands, re.M) == [path for path, _ in signals]


def stream(name, member, direction, lanes):
    return StreamPort(
        name=name, member=member, direction=direction, shape=(1, 12), bits=8, lanes=lanes,
        stream_bits=32,
    )  # fmt: skip


def interface(**changes):
    return Interface(
        "net",
        (stream("s0_axis", "i0", "in", 1), stream("s1_axis", "i1", "in", 2)),
        (stream("m_axis", "o", "out", 3),),
        parts=(CoreInstance("block_Add", (PortSignal("in0_data", 8, "in"),)),
               CoreInstance("queue", (PortSignal("in_valid", 1, "in"),
                                      PortSignal("out_data", 24, "out")))),
        **changes,
    )  # fmt: skip


REPORT = {"layers": [{"name": "block/Add", "instance": "block_Add", "op": "q.add"}]}


def groups(text):
    """Return the names of the groups of a save file, in order."""
    titles = [line.removeprefix("-") for line in text.splitlines() if line[0] == "-"]
    assert titles[::2] == titles[1::2], "each group is opened and closed"
    return titles[::2]


def test_groups_are_in_the_order_of_the_network():
    weights = WeightPort(stream("s_axis_weights", "w", "in", 4), "mem/net_weights.bin", True)
    layouts = wave_layouts(interface(control=Control(1, 2, framed=True), weights=weights), REPORT)
    assert sorted(layouts) == [
        f"tb/net_{bench}.{kind}" for bench in ("tb", "top") for kind in ("gtkw", "sucl")
    ]
    names = [
        "clock_and_reset", "s0_axis", "s1_axis", "s_axis_weights", "block/Add: q.add",
        "queue", "m_axis", "control",
    ]  # fmt: skip
    assert groups(layouts["tb/net_tb.gtkw"]) == groups(layouts["tb/net_top.gtkw"]) == names
    dividers = re.findall(r"^divider_add (.*)$", layouts["tb/net_top.sucl"], re.M)
    assert dividers == [re.sub(r"\W+", "_", name) for name in names]


def test_control_shows_the_bus_the_interrupt_and_framing_errors():
    for control, last in ((None, []), (Control(1, 2), ["s_axil_rready", "irq_o"])):
        signals = [path for path, _ in gtkwave(
            wave_layouts(interface(control=control), {"layers": []})["tb/net_top.gtkw"]
        )]  # fmt: skip
        place = signals.index("net_top.m_axis_tlast")
        shown = [path.removeprefix("net_top.") for path in signals[place + 1 :]]
        assert shown[-1 - len(last) :] == [*last, "frame_error_o"]
        assert len(shown) == (1 if control is None else 21)


def test_numbers_are_hexadecimal_and_single_bits_binary():
    text = wave_layouts(interface(), REPORT)["tb/net_tb.gtkw"]
    formats = re.findall(r"^@(\d+)\nnet_tb\.dut\.([\w.]+)(\[\d+:0\])?$", text, re.M)
    found = {name: int(flags, 16) for flags, name, _ in formats}
    # GTKWave: bit 1 is hexadecimal, bit 3 binary.
    assert found["s0_axis_tdata"] & 0b1010 == 0b0010
    assert found["s0_axis_tvalid"] & 0b1010 == 0b1000
