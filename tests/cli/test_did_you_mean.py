"""A name that is typed wrong gets the one that was meant."""

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.support.text.suggest import closest, did_you_mean
from support import ROOT

FLOAT = ROOT / "examples/mnist/tinyconv_float.rlx"

ESTIMATE = ("estimate", "{model}", "--target")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["verfy", "out"], "verify"),
        (["Emit"], "emit"),
        ([*ESTIMATE, "cortex-m"], "cortexm"),
        ([*ESTIMATE, "cortexm", "--cpu", "cortex-k4"], "cortex-m4"),
        ([*ESTIMATE, "cortexm", "--optimize", "sped"], "speed"),
        ([*ESTIMATE, "cortexm", "--io", "arenas"], "arena"),
        ([*ESTIMATE, "cortexm", "--package", "zepyhr"], "zephyr"),
        ([*ESTIMATE, "fpga", "--device", "icebraker"], "icebreaker"),
        ([*ESTIMATE, "fpga", "--architecture", "engin"], "engine"),
        ([*ESTIMATE, "fpga", "--policy", "comon"], "common"),
        ([*ESTIMATE, "fpga", "--policy", "q.requantise=common"], "q.requantize"),
        ([*ESTIMATE, "fpga", "--limit", "operatons=3"], "operations"),
        (["inspect", "{model}", "--format", "rxl"], "rlx"),
        (["passes", "{model}", "--pipeline", "defualt"], "default"),
        (["check", "{model}", "--backend", "nunpy"], "numpy"),
    ],
)
def test_the_closest_name_is_suggested(capsys, digits_model, arguments, meant):
    assert main([a.format(model=digits_model) for a in arguments]) in (2, 6)
    assert f"did you mean {meant!r}? " in capsys.readouterr().err


def test_choices_are_listed_once(capsys, digits_model):
    assert main([ESTIMATE[0], str(digits_model), "--target", "cortexm", "--cpu", "m99"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error[RLX-E001]: --cpu: no CPU is called 'm99'\n")
    assert printed.count("cortex-m55") == 1


@pytest.mark.parametrize("command", ["estimate", "check", "quantize"])
def test_a_width_that_weights_cannot_have_is_refused_with_the_reason(capsys, tmp_path, command):
    model = tmp_path / "net.rlx"
    rlx.save(rlx.load(FLOAT), model)
    np.savez(tmp_path / "s.npz", x=np.zeros((2, 28, 28, 1), np.float32))
    arguments = {
        "estimate": ["--target", "cortexm", "--weight-bits", "16"],
        "check": ["--target", "cortexm", "--weight-bits", "16"],
        "quantize": ["--calib", str(tmp_path / "s.npz"), "-o", "q.rlx", "--weights", "16"],
    }[command]
    assert main([command, str(model), *arguments]) == 2
    assert "; int16 is not supported" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "typed", "meant"),
    [("cortexm", "qemuu", "qemu"), ("fpga", "verilater", "verilator")],
)
def test_simulators(capsys, tmp_path, digits_model, target, typed, meant):
    folder = str(tmp_path / "out")
    assert main(["emit", str(digits_model), "--target", target, "-o", folder]) == 0
    capsys.readouterr()
    assert main(["verify", folder, "--with", typed]) == 2
    assert f"did you mean {meant!r}? simulators: " in capsys.readouterr().err


def test_commands_of_other_programs(capsys):
    assert main(["compile", "m.tflite"]) == 2
    assert "  try: did you mean rlx emit?\n" in capsys.readouterr().err


def test_a_model_in_place_of_a_command(capsys, digits_model):
    assert main([str(digits_model)]) == 2
    assert f"a command comes first, such as: rlx inspect {digits_model}" in capsys.readouterr().err


def test_a_file_that_is_called_alike(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kws_int8.tflite").write_bytes(b"")
    assert main(["inspect", "kws_int.tflite"]) == 2
    assert capsys.readouterr().err == (
        "error[RLX-E001]: no file 'kws_int.tflite'\n  try: did you mean 'kws_int8.tflite'?\n"
    )


def test_nothing_alike_lists_what_there_is():
    assert closest("asic", ["cortexm", "fpga"]) is None
    assert did_you_mean("asic", ["cortexm", "fpga"], what="targets") == "targets: cortexm, fpga"
