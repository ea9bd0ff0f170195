"""Losses of ``rlx quantize`` in the report of what was emitted from its network."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.metrics.quantization_file import path_beside
from rlx.reports.losses import losses_of
from rlx.support.errors import UsageError
from support.messages import raises
from support.networks.quantized_net import float_network, samples


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A float network, the integer one with its losses, and what was emitted of it."""
    path = tmp_path_factory.mktemp("losses")
    save(GraphModule.hir(float_network()), path / "net.rlx")
    np.savez(path / "calib.npz", x=samples(40, 1))
    arguments = ["--calib", str(path / "calib.npz"), "--min-sqnr", "-inf", "--min-agreement", "0"]
    assert main(["quantize", str(path / "net.rlx"), *arguments, "-o", str(path / "net.q.rlx")]) == 0
    network, out = str(path / "net.q.rlx"), str(path / "out")
    assert main(["emit", network, "--target", "cortexm", "--frames", "1", "-o", out]) == 0
    return path


def values(folder):
    return json.loads((folder / "net.q.json").read_text())


def test_the_result_lies_beside_the_network(folder, tmp_path):
    assert path_beside(tmp_path / "a.q.rlx") == tmp_path / "a.q.json"
    assert path_beside(tmp_path / "a.tflite") == tmp_path / "a.q.json"
    found = values(folder)
    assert found["schema"] == 1
    assert [layer["name"] for layer in found["layers"]][:2] == ["conv1", "conv2"]
    assert len(found["layers"][0]["results"]["percentiles"]) == 5


def test_losses_are_those_of_the_same_layers(folder):
    report = rlx.report(folder / "out", run=False, quantization=folder / "net.q.json")
    rows = {row["name"]: row for row in values(folder)["layers"]}
    sources = [report.layers[one.index].source for one in report.losses.layers]
    assert sources == list(rows)
    for source, one in zip(sources, report.losses.layers, strict=True):
        assert one.name == report.layers[one.index].name
        assert one.sqnr_db == rows[source]["sqnr_db"]
        assert list(one.results.steps) == rows[source]["results"]["steps"]
    assert not [text for text in report.warnings if "loss" in text]


@pytest.mark.parametrize("name", ["net.q.rlx", "net.rlx"])
def test_losses_beside_the_model_are_shown_without_an_option(folder, name):
    report = rlx.report(folder / "out", run=False, model=folder / name)
    assert report.losses.graph == "net"


def test_without_a_file_nothing_is_shown(folder, tmp_path):
    (tmp_path / "net.rlx").write_bytes((folder / "net.rlx").read_bytes())
    assert rlx.report(folder / "out", run=False, model=tmp_path / "net.rlx").losses is None
    assert rlx.report(folder / "out", run=False).losses is None


def test_losses_of_another_file_are_not_taken_for_those_of_this_one(folder, tmp_path):
    other = tmp_path / "net.q.json"
    other.write_text(json.dumps({**values(folder), "sha256": "0" * 64}))
    (tmp_path / "net.rlx").write_bytes((folder / "net.rlx").read_bytes())
    report = rlx.report(folder / "out", run=False, model=tmp_path / "net.rlx")
    assert report.losses is None
    assert any("net.q.json is not shown" in text for text in report.warnings)
    report = rlx.report(folder / "out", run=False, quantization=other)
    assert report.losses is not None
    assert any("of another file of the network" in text for text in report.warnings)


def test_files_that_are_no_result_are_refused(folder, tmp_path):
    file = tmp_path / "x.q.json"
    layer = values(folder)["layers"][0]
    bad = [
        "{",
        "[]",
        json.dumps({"graph": "net"}),
        json.dumps({**values(folder), "schema": 2}),
        json.dumps({**values(folder), "layers": [{**layer, "results": {}}]}),
        json.dumps({**values(folder), "layers": [{**layer, "loss": None}]}),
        json.dumps({**values(folder), "layers": [{**layer, "name": "x"}]}),
    ]
    for text in bad:
        file.write_text(text)
        with raises(UsageError):
            rlx.report(folder / "out", run=False, quantization=file)


def test_layers_are_known_by_their_one_name(folder):
    report = rlx.report(folder / "out", run=False)
    renamed = [replace(one, source=f"model/{one.name}/Relu;x") for one in report.layers]
    content = values(folder)
    rows = [{**row, "place": f"operator {k} X"} for k, row in enumerate(content["layers"])]
    rows.append({**rows[0], "name": "gone"})
    file = folder / "named.q.json"
    file.write_text(json.dumps({**content, "layers": rows}))
    losses, _ = losses_of(file, renamed, None)
    assert [one.name for one in losses.layers] == [row["name"] for row in rows]
    names = [None if one.index is None else renamed[one.index].name for one in losses.layers]
    assert names == [*(row["name"] for row in content["layers"]), None]


def test_a_file_of_the_user_is_not_replaced(folder, tmp_path, capsys):
    mine = tmp_path / "net.q.json"
    mine.write_text("{}")
    arguments = ["--calib", str(folder / "calib.npz"), "-o", str(tmp_path / "net.q.rlx")]
    assert main(["quantize", str(folder / "net.rlx"), *arguments]) == 2
    assert "expected a result of 'rlx quantize'" in capsys.readouterr().err
    assert mine.read_text() == "{}"
    assert not (tmp_path / "net.q.rlx").exists()


def test_the_terminal_shows_losses(folder, capsys):
    arguments = ["--no-run", "--quantization", str(folder / "net.q.json")]
    assert main(["report", str(folder / "out"), *arguments]) == 0
    out = capsys.readouterr().out
    assert "losses by quantization" in out
    assert "on 40 samples (calibration data)" in out
