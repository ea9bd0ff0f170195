"""``rlx export`` and ``rlx.export``: what they write, say and refuse."""

import json

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.support.errors import UsageError
from support import ROOT
from support.files.tflite_builder import run_tflm
from support.messages import raises
from support.networks.exported_ops import GRAPHS
from support.networks.quantized_net import float_network

DIGITS = ROOT / "examples" / "digits" / "digits.tflite"


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.rlx"
    save(GraphModule(GRAPHS["conv-padded"](), Stage.MIR), path)
    return path


def test_an_exported_network_runs_in_the_interpreter(net, tmp_path, capsys):
    out = tmp_path / "net.tflite"
    assert main(["export", str(net), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"wrote {out}: ")
    assert said.endswith("; TensorFlow Lite Micro gives the bits of 'rlx run'\n")
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 5, 4)).astype(np.int8)
    (y,) = run_tflm(out.read_bytes(), x)
    assert np.array_equal(y, rlx.run(str(net), x).codes)


def test_differences_of_float_arithmetic_are_counted(tmp_path, capsys):
    out = tmp_path / "digits.onnx"
    assert main(["export", str(DIGITS), "-o", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["outputs_compared"] == 160
    assert report["outputs_differing"] < 16
    assert report["exact"] == (report["outputs_differing"] == 0)
    assert report["bytes"] == out.stat().st_size
    assert main(["inspect", str(out)]) == 0


def test_a_version_of_operators_is_chosen(tmp_path):
    files = [tmp_path / f"{opset}.onnx" for opset in (13, 21)]
    for path in files:
        assert main(["export", str(DIGITS), "-o", str(path), "--opset", path.stem]) == 0
    assert files[0].read_bytes() != files[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["-o", "net.h5"], 2, "cannot write .h5"),
        (["-o", "net"], 2, "cannot write a file without an ending"),
        (["-o", "net.tflite", "--opset", "17"], 2, "belongs to .onnx"),
        (["-o", "net.onnx", "--opset", "5"], 2, "opset 5 is out of range"),
    ],
)
def test_what_makes_no_sense_is_refused(
    net, tmp_path, monkeypatch, capsys, arguments, status, reason
):
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(net), *arguments]) == status
    assert reason in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.rlx"]


def test_a_float_network_is_refused_with_what_quantizes_it(tmp_path, capsys):
    path = tmp_path / "float.rlx"
    save(GraphModule(float_network(), Stage.HIR), path)
    assert main(["export", str(path), "-o", str(tmp_path / "net.tflite")]) == 5
    said = capsys.readouterr().err
    assert "the network computes in float (nn.average_pool, nn.conv, nn.linear" in said
    assert "try: quantize it first: rlx quantize" in said


def test_from_python(tmp_path):
    exported = rlx.export(DIGITS, tmp_path / "digits.tflite")
    assert (tmp_path / "digits.tflite").read_bytes() == exported.content
    assert exported.differences is None
    with raises(UsageError):
        rlx.export(DIGITS, tmp_path / "digits.pt")
