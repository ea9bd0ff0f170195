"""``rlx bench``: the table, and what goes to the other engine."""

import json
import re

import onnx
import pytest

from benchmarks.host.networks.mlp import mlp
from rlx.cli import main


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(mlp(1, (6, 4, 3)).model, path)
    return str(path)


def test_table(capsys, digits_model):
    assert main(["bench", str(digits_model), "--seconds", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{digits_model.name}, milliseconds"
    assert lines[1].split() == ["engine", "minimum", "median", "p90", "calls"]
    minimum, median, p90 = map(float, lines[2].split()[1:4])
    assert 0 < minimum <= median <= p90
    assert re.fullmatch(
        r"\d+ ops, [\d,]+ MACs and [\d,]+ bytes of constants in a call of 1", lines[3]
    )


def test_other_engine(capsys, file):
    assert main(["bench", file, "--seconds", "0", "--against", "onnxruntime"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["rlx", "onnxruntime"]
    assert re.fullmatch(
        r"rlx takes [\d.]+ times as long as onnxruntime; outputs differ by [\d.e-]+ at most",
        lines[5],
    )


def test_json_and_batch(capsys, digits_model):
    assert main(["bench", str(digits_model), "--seconds", "0", "--batch", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["batch"] == 3
    assert found["latency"]["calls"] >= 10


def test_unknown_engine(capsys, file):
    assert main(["bench", file, "--against", "tvm"]) == 2
    assert "there is: onnxruntime" in capsys.readouterr().err
