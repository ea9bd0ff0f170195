"""Ports, wrapper and the other rendered files of a folder."""

import random
import re
from dataclasses import replace

import pytest

from rlx_fpga.cells.concat import Concat
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import (
    Interface,
    StreamPort,
    WeightPort,
    harness_cpp,
    pins_verilog,
    port_names,
    top_verilog,
)
from rlx_fpga.packaging.netlist import design_files, sources_of
from rlx_fpga.packaging.registers import Control
from rlx_fpga.packaging.regroup import with_stream_bits
from rlx_fpga.packaging.render import render
from support.messages import raises


def port(name, member, direction, **changes):
    fields = {"shape": (1, 4, 3, 6), "bits": 8, "lanes": 3} | changes
    return StreamPort(name=name, member=member, direction=direction, **fields)


def interface():
    return Interface(
        "net",
        (port("s0_axis", "i0", "in"), port("s1_axis", "i1", "in")),
        (port("m_axis", "o", "out", shape=(1, 4, 3, 12), quant=(0.25, -3)),),
    )


REPORT = {
    "interval": 48,
    "columns": ["name", "op", "cycles", "lut", "ff", "dsp", "bram"],
    **{"lut": 900, "ff": 700, "dsp": 3, "bram": 1.5, "device": "ecp5-85k", "lut_percent": 1.1},
    **{"ff_percent": 0.8, "dsp_percent": 1.9, "bram_percent": 0.7, "fps": 2.5, "clock_mhz": 75.0},
    "layers": [
        {"name": "n3", "op": "q.concat", "cycles": 48, "lut": 900, "ff": 700, "dsp": 3, "bram": 1.5}
    ],
}


def test_port_counts_beats_and_bytes():
    one = port("s_axis", "i", "in", bits=32, lanes=2)
    assert (one.elements, one.beats, one.width) == (72, 36, 64)
    assert (one.beat_bytes, one.frame_bytes) == (8, 288)
    assert port("s_axis", "i", "in", quant=(0.5, 3)).to_json()["zero_point"] == 3
    assert one.to_json() == {
        "name": "s_axis", "direction": "in", "shape": [1, 4, 3, 6], "dtype": "int32",
        "lanes": 2, "beats": 36, "tdata_bits": 64,
    }  # fmt: skip


def test_port_refuses_lanes_that_do_not_divide():
    with raises(ValueError):
        port("s_axis", "i", "in", lanes=5)


@pytest.mark.parametrize(
    ("names", "prefixes"),
    [
        (["audio"], ("s_axis",)),
        (["audio", "Motion Sensor"], ("s_axis_audio", "s_axis_motion_sensor")),
        (["input_1", "mask"], ("s0_axis", "s_axis_mask")),
        (["x", ""], ("s0_axis", "s1_axis")),
        (["a/b", "a b"], ("s_axis_a_b", "s_axis_a_b_2")),
        # The port for weights has that name already.
        (["weights", "audio"], ("s_axis_weights_2", "s_axis_audio")),
        (["k" * 300, "serving_default_mel:0"], ("s_axis_" + "k" * 32, "s_axis_mel")),
        (["tdata; endmodule", "wire"], ("s_axis_tdata_endmodule", "s_axis_wire")),
    ],
)
def test_several_ports_have_the_names_of_the_model(names, prefixes):
    assert port_names("s", names) == prefixes


def test_rendered_files_are_golden(golden):
    files = design_files(Concat(3, (2, 2)), interface(), REPORT, device("ecp5-85k"))
    golden("fpga/two_inputs", files)


def test_core_has_ports_and_no_foreign_text():
    text = sources_of(Concat(3, (2, 2)), interface()).core
    assert text.startswith("// net_core: the hardware of the network")
    assert re.search(r"^module net_core \(", text, re.MULTILINE)
    assert "amaranth" not in text.lower()


def test_templates_render_with_a_beat_that_is_a_frame():
    one = Interface("net", (port("s_axis", "i", "in"),), (port("m_axis", "o", "out", lanes=72),))
    assert "assign m_axis_tlast = m_axis_tvalid;" in top_verilog(one)
    assert "beat_q" not in top_verilog(one)
    assert "{72, 1}" in harness_cpp(one)


def test_every_value_of_a_template_must_be_given():
    with pytest.raises(Exception, match=r"'interface' is undefined"):
        render("top.sv.j2")


@pytest.mark.parametrize("seed", range(40))
def test_a_frame_is_cut_into_beats_the_last_of_which_may_be_short(seed):
    pick = random.Random(seed)
    lanes, bits = pick.randint(1, 9), pick.choice([8, 16, 32])
    one = port(
        "s_axis", "i", pick.choice(["in", "out"]), shape=(pick.randint(1, 40), lanes), bits=bits,
        lanes=lanes, stream_bits=pick.choice([32, 64, 128]),
    )  # fmt: skip
    frame = bytes(one.elements * bits // 8)
    beats = [frame[k : k + one.width // 8] for k in range(0, len(frame), one.width // 8)]
    assert (one.beats, one.last_bytes) == (len(beats), len(beats[-1]))
    keep = re.fullmatch(r"(\d+)'h([0-9a-f]+)", one.last_keep)
    assert int(keep[1]) == one.width // 8
    assert f"{int(keep[2], 16):b}" == "1" * len(beats[-1])
    assert one.beat_elements * bits == one.width
    found = one.to_json()
    shown = [found[name] for name in ("lanes", "beats", "last_bytes")]
    assert shown == [one.width // bits, len(beats), len(beats[-1])]
    inside, outside = [lanes * bits // 8] * 2, [one.width // 8, len(beats[-1])]
    ends = [*outside, *inside] if one.direction == "in" else [*inside, *outside]
    unit = max(n for n in range(1, 17) if not (inside[0] % n or outside[0] % n))
    names = ("InBytes", "InLast", "OutBytes", "OutLast", "UnitBytes")
    assert one.regroup == dict(zip(names, [*ends, unit], strict=True))


@pytest.mark.parametrize("zero_point", [-128, -1, 0, 1, 255])
def test_meaning_is_a_formula_that_can_be_evaluated(zero_point):
    one = port("s_axis", "i", "in", quant=(0.1, zero_point))
    for q in (-128, 0, 7):
        assert eval(one.meaning, {"q": q}) == 0.1 * (q - zero_point)
    assert port("s_axis", "i", "in").meaning == "unknown"


def test_an_unsigned_port_says_so():
    assert port("s_axis", "i", "in", unsigned=True).dtype == "uint8"
    inputs, outputs = (port("s_axis", "i", "in"),), (port("m_axis", "o", "out", unsigned=True),)
    assert Interface("net", inputs, outputs).inverted
    assert not Interface("net", inputs, inputs).inverted


def test_weights_are_a_port_between_inputs_and_outputs_with_their_file():
    weights = WeightPort(port("s_axis_weights", "w", "in"), "mem/net_weights.bin", True)
    found = replace(interface(), weights=weights)
    assert [one.name for one in found.ports] == ["s0_axis", "s1_axis", "s_axis_weights", "m_axis"]
    assert found.golden == (
        "golden/input_0.npy", "golden/input_1.npy", "golden/output_0.npy", "mem/net_weights.bin",
    )  # fmt: skip
    assert found.to_json()["weights"]["each_frame"] is True
    assert weights.occasion == "for every frame"
    assert replace(weights, each_frame=False).occasion == "once after each reset"


def test_the_shift_registers_of_the_pins_hold_each_signal_once():
    text = pins_verilog(replace(interface(), control=Control(1, 2)), "ice40")
    for direction in ("in", "out"):
        signals = [one for one in replace(interface(), control=Control(1, 2)).signals
                   if one.direction == direction]  # fmt: skip
        places = []
        for one in signals:
            (found,) = re.findall(rf"\.{one.name}\(\w+\[(\d+)(?::(\d+)| \+: (\d+))?\]\)", text)
            low = int(found[1] or found[0])
            high = int(found[0]) + (int(found[2]) - 1 if found[2] else 0)
            places += range(low, high + 1)
            assert high - low + 1 == one.bits
        assert sorted(places) == list(range(sum(one.bits for one in signals)))


def test_sources_come_after_those_that_they_use():
    plain = replace(interface(), modules=("rtl/cells/a.sv", "rtl/cells/b.sv"))
    cells = ["rtl/cells/a.sv", "rtl/cells/b.sv", "rtl/net_core.sv"]
    assert list(plain.sources) == [*cells, "rtl/net_top.sv"]
    full = with_stream_bits(replace(plain, memories=("mem/a.mem",), control=Control(1, 2)), 32)
    between = ["rtl/net_control.sv", "rtl/net_regroup.sv"]
    assert list(full.sources) == ["rtl/net_rom.sv", *cells, *between, "rtl/net_top.sv"]
