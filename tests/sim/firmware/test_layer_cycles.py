"""The emitted example that measures the cycles of layers on a board."""

import json
from dataclasses import replace

import pytest

import rlx
from rlx.support.files.golden import read_golden
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.qemu import Qemu
from support import ROOT

pytestmark = pytest.mark.qemu

MODEL = ROOT / "examples" / "digits" / "digits.rlx"
CONFIG = '-DDIGITS_CONFIG="layer_cycles.h"'
# A counter that runs under QEMU too: of instructions, as eighths of five.
TIMER = """\
#include "platform.h"
#define LAYER_CYCLES_PRINT(text) platform_print(text)
#define LAYER_CYCLES_COUNTER() platform_counter()
"""
DWT = TIMER.partition("#define LAYER_CYCLES_COUNTER")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("digits") / "out"
    rlx.emit(MODEL, "cortexm", out, prefix="digits", frames=1, part="nucleo-f446re")
    return out


def log_of(folder, work, settings, cpu="cortex-m4"):
    """Return the output of the firmware with the hook."""
    (work / "settings.h").write_text(settings)
    flags = (CONFIG, "-I", str(folder / "test"), "-include", str(work / "settings.h"))
    build = FirmwareBuild(cpu)
    build = replace(build, flags=(*build.flags, *flags))
    source = folder / "test" / "layer_cycles.c"
    firmware = build.build(folder, work / "build", more=[source])
    vectors = read_golden(folder).first(1)
    return Qemu(build).run(firmware, vectors, work, timeout_s=60).log


def names(folder):
    content = json.loads((folder / "report" / "network.json").read_text())
    return [layer["name"] for layer in content["layers"]]


def table(log):
    return log.partition("layer,cycles\n")[2].partition("\n\n")[0].splitlines()


@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_cycles_are_not_available_under_qemu(folder, tmp_path, cpu):
    log = log_of(folder, tmp_path, DWT, cpu)
    assert table(log) == [f'"{name}",not available' for name in names(folder)]
    (tmp_path / "board.log").write_text(log)
    report = rlx.report(folder, run=False, board=tmp_path / "board.log")
    assert [layer.board for layer in report.layers] == [None] * len(report.layers)
    assert "cycles on the board are not available: no counter ran" in report.notes


def test_predicted_modelled_and_measured_stand_in_one_table(folder, tmp_path):
    log = log_of(folder, tmp_path, TIMER)
    rows = [line.rsplit(",", 1) for line in table(log)]
    assert [name.strip('"') for name, _ in rows] == names(folder)
    (tmp_path / "board.log").write_text(f"boot: ok\r\n{log}rest\n")
    modelled = rlx.verify(folder, tools="host", cache=False).as_json()
    counts = [{"layer": name, "cycles": 1000 + k} for k, name in enumerate(names(folder))]
    modelled["modelled"] = {"cycles": 6015, "memory": "flash", "layers": counts}
    (tmp_path / "verified.json").write_text(json.dumps(modelled))
    report = rlx.report(folder, verified=tmp_path / "verified.json", board=tmp_path / "board.log")
    for layer, (_, cycles), count in zip(report.layers, rows, counts, strict=True):
        assert (layer.board, layer.modelled) == (int(cycles), count["cycles"])
        assert (layer.cycles > 0) == (layer.op != "q.reshape")
    figure = next(one for one in report.figures if one.name == "cycles")
    assert figure.predicted == sum(layer.cycles for layer in report.layers)
    assert (figure.computed, figure.measured) == (6015, sum(int(cycles) for _, cycles in rows))
    for heading in ("cycles, predicted", "cycles, modelled", "board, measured"):
        assert heading in report.to_markdown()
        assert f"<button>{heading.replace(', ', '<br>')}</button>" in report.to_html()
