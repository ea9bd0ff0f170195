"""``rlx report``: tables on the terminal, files beside the folder, refusals."""

import csv
import json

import numpy as np
import pytest

from rlx.cli import main
from support import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory, digits_model):
    path = tmp_path_factory.mktemp("emitted") / "c"
    arguments = ["emit", str(digits_model), "--target", "cortexm", "--frames", "2"]
    assert main([*arguments, "-o", str(path)]) == 0
    return path


def test_tables_are_printed(folder, capsys):
    assert main(["report", str(folder), "--no-run"]) == 0
    out = capsys.readouterr().out
    assert "digits: layers, instructions" in out
    assert "conv2" in out
    assert out.endswith("not verified\n")


def test_files_are_written_beside_the_folder(folder, tmp_path, capsys):
    files = [tmp_path / name for name in ("r.html", "r.csv", "r.md")]
    options = [f"--{path.suffix[1:]}={path}" for path in files]
    assert main(["report", str(folder), "--no-run", *options]) == 0
    assert "wrote" in capsys.readouterr().out
    assert files[0].read_text().startswith("<!DOCTYPE html>")
    assert len(list(csv.reader(files[1].read_text().splitlines()))) == 7
    assert files[2].read_text().startswith("### digits: cortexm cortex-m4")
    before = [path.read_bytes() for path in files]
    assert main(["report", str(folder), "--no-run", *options]) == 0
    assert [path.read_bytes() for path in files] == before


def test_losses_of_another_network_are_said_on_the_terminal(folder, tmp_path, digits_model, capsys):
    samples = tmp_path / "x.npz"
    np.savez(samples, image=np.random.default_rng(0).random((20, 1, 8, 8)).astype(np.float32))
    model = ROOT / "examples/onnx_to_firmware/digits.onnx"
    quantize = ["quantize", str(model), "--calib", str(samples), "--min-sqnr", "-inf"]
    assert main([*quantize, "--min-agreement", "0", "-o", str(tmp_path / "other.q.rlx")]) == 0
    capsys.readouterr()
    losses = ["--quantization", str(tmp_path / "other.q.json"), "--html", str(tmp_path / "r.html")]
    assert main(["report", str(folder), "--no-run", *losses]) == 0
    assert "warning: losses are of another file of the network" in capsys.readouterr().out


def test_json_holds_every_layer(folder, capsys):
    assert main(["report", str(folder), "--no-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [layer["name"] for layer in found["layers"]][:2] == ["conv1", "pool"]
    assert found["memory"]["bytes"] == 640


def test_nothing_is_written_into_the_folder(folder, capsys):
    assert main(["report", str(folder), "--no-run", "--html", str(folder / "x.html")]) == 2
    assert "is inside the output folder" in capsys.readouterr().err
    assert not (folder / "x.html").exists()


def test_outputs_that_differ_give_status_1(folder, tmp_path, capsys):
    kept = {"inputs": 2, "equal": 1, "mismatches": [{"frame": 1}], "runs": [], "tools": {}}
    (tmp_path / "v.json").write_text(json.dumps(kept))
    assert main(["report", str(folder), "--verified", str(tmp_path / "v.json")]) == 1
    assert "1 of 2 outputs equal" in capsys.readouterr().out


def test_names_of_classes_must_be_a_text(folder, tmp_path, capsys):
    (tmp_path / "l.txt").write_bytes(b"\xff\xfe")
    arguments = ["report", str(folder), "--no-run", "--labels", str(tmp_path / "l.txt")]
    assert main(arguments) == 4
    assert "l.txt: is not valid UTF-8" in capsys.readouterr().err
    assert main([*arguments[:-1], "two.txt"]) == 2
    assert "no file 'two.txt'" in capsys.readouterr().err


@pytest.mark.qemu
@pytest.mark.slow
def test_layers_are_measured(folder, capsys):
    assert main(["report", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    measured = [layer["measured"] for layer in found["layers"]]
    total = next(one for one in found["figures"] if one["name"] == "instructions")
    assert sum(measured) == pytest.approx(total["measured"], rel=0.01)
    assert all(abs(layer["predicted"] - layer["measured"]) < 0.15 * layer["measured"] + 100
               for layer in found["layers"])  # fmt: skip
    assert found["verification"]["passed"]
