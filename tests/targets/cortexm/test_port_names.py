"""Names of several inputs and outputs in the header of an emitted network."""

import re

import pytest
from targets.cortexm.graph_builder import emit_graph, golden_of, write

from rlx.driver import driver
from rlx.ir import Graph, GraphModule, QuantParams, Stage, f32, i8
from rlx.ops.q import QClamp
from rlx.ops.real import RealQuantize
from rlx.support.process import run
from rlx.targets import target
from rlx_c.ports import ports
from rlx_cortexm import CortexMOptions
from rlx_sim.firmware.host_c import WARNINGS, HostC
from rlx_sim.protocol import compare
from support import require_program


def network(inputs, outputs=("scores",)):
    """Return a network that clamps every input; the outputs of the first have the names."""
    graph = Graph("net")
    values = [
        graph.apply(QClamp(low=-k), graph.input(name, i8(1, k + 2)))
        for k, name in enumerate(inputs)
    ]
    graph.output(*values[: len(outputs)], names=outputs)
    return graph


def parameters(kind, names, prefix="net"):
    """Return the C names of several ports."""
    values = [Graph("net").input(name, i8(1, 4)) for name in names]
    return [port.parameter for port in ports(kind, values, names, prefix)]


def macros(header):
    return dict(re.findall(r"^#define NET_(\w+) (\S.*)$", header, re.MULTILINE))


def test_names_of_several_ports_reach_the_header():
    files = emit_graph(network(("audio", "Motion Sensor"), ("class", "level"))).files
    header = files["include/net.h"]
    assert "input0" not in header.lower()
    assert macros(header)["INPUT_AUDIO_BYTES"] == "2"
    assert macros(header)["INPUT_MOTION_SENSOR_SHAPE"] == "{1, 3}"
    assert macros(header)["OUTPUT_CLASS_ELEMENTS"] == "2"
    assert macros(header)["OUTPUT_LEVEL_ELEMENTS"] == "3"
    signature = re.search(r"int32_t net_run\((.*?)\);", header, re.DOTALL)[1].split()
    assert " ".join(signature) == (
        "const int8_t *input_audio, const int8_t *input_motion_sensor, int8_t *output_class,"
        " int8_t *output_level, void *arena"
    )
    assert " * input_motion_sensor: i8[1, 3], Motion_Sensor in the model\n" in header
    assert " * input_audio: i8[1, 2]\n" in header


def test_elements_are_counted_for_every_type():
    graph = Graph("net")
    x = graph.input("x", f32(1, 3, 5))
    quant = QuantParams.per_tensor(0.5, 3)
    graph.output(graph.apply(RealQuantize(quant=quant), x), names=["y"])
    values = macros(emit_graph(graph).files["include/net.h"])
    assert (values["INPUT_BYTES"], values["INPUT_ELEMENTS"]) == ("60", "15")
    assert (values["OUTPUT_BYTES"], values["OUTPUT_ELEMENTS"]) == ("15", "15")


def test_a_single_port_keeps_its_name_and_shows_that_of_the_model():
    header = emit_graph(network(("accel",), ("scores",))).files["include/net.h"]
    assert "int32_t net_run(const int8_t *input, int8_t *output, void *arena);" in header
    assert " * input: i8[1, 2], accel in the model\n" in header
    assert " * output: i8[1, 2], scores in the model\n" in header
    plain = emit_graph(network(("x",), ("Identity_1",))).files["include/net.h"]
    assert "in the model" not in plain


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("x0", "x1"), ["input0", "input1"]),
        (("serving_default_audio:0", "serving_default_x:0"), ["input_audio", "input1"]),
        (("Audio", "audio", "AUDIO!"), ["input_audio", "input_audio_2", "input_audio_3"]),
        (("audio", "audio_2", "audio"), ["input_audio", "input_audio_2", "input_audio_3"]),
        (("", "\u97f3\u58f0", "42"), ["input0", "input1", "input2"]),
        (("return", "int", "arena"), ["input_return", "input_int", "input_arena"]),
    ],
)
def test_names_are_mangled_and_differ(names, expected):
    assert parameters("input", names) == expected


@pytest.mark.parametrize("prefix", ["n", "n" * 32])
def test_long_names_stay_within_what_c99_distinguishes(prefix):
    names = ["a" * 500 + str(k) for k in range(12)]
    c_names = parameters("output", names, prefix)
    assert len(set(c_names)) == 12
    assert max(len(f"{prefix}_dequantize_{name}") for name in c_names) <= 63


HOSTILE = (
    ("*/ int evil(void) { return 0; } /*", "\n#define net_run evil\n"),
    ("??/", "a\\"), ("memcpy", "stdin"), ("audio", "Audio"), ("run", "self_test"),
    ("%s%n", '"); system("x'), ("bytes", "bytes_shape"), ("memory", "status"),
)  # fmt: skip


@pytest.mark.parametrize("names", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("io", ["caller", "arena"])
def test_hostile_names_compile_and_compute(names, io, tmp_path):
    graph = network(names, names)
    golden = golden_of(graph, 3)
    folder = tmp_path / "net"
    driver.emit(
        GraphModule(graph, Stage.MIR), target.load("cortexm"), folder,
        options=CortexMOptions(prefix="net", io=io, self_test=2), golden=golden,
    )  # fmt: skip
    text = (folder / "include/net.h").read_text()
    defined = re.findall(r"^#define (\w+)", text, re.MULTILINE)
    settings = {name for name in defined if name.endswith(("_SECTION", "_HOOK"))}
    assert sorted(set(defined) - settings) == sorted(n for n in defined if n not in settings)
    assert " evil(" not in text
    assert compare("", HostC(sanitize=True).simulate(folder, golden, timeout_s=120), golden) == []


def test_the_header_of_named_ports_is_cplusplus(tmp_path):
    folder = write(tmp_path, emit_graph(network(("class", "new"), ("this", "delete"))))
    (tmp_path / "use.cpp").write_text('#include "net.h"\nint main() { return NET_INPUTS - 2; }\n')
    command = [require_program("g++"), "-std=c++17", *WARNINGS[1:], "-fsyntax-only", "-I",
               folder / "include", tmp_path / "use.cpp"]  # fmt: skip
    run(command, timeout_s=60)
