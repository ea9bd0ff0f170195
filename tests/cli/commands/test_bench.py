"""``rlx bench``: the table, and what goes to the other engine."""

import json
import re
from unittest.mock import ANY

import onnx
import pytest

import rlx
from benchmarks.host.networks.mlp import mlp
from rlx.cli import main
from rlx.runtime.latency import Benchmark, Latency
from rlx.runtime.output_difference import OutputDifference


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mlp.onnx"
    onnx.save(mlp(1, (6, 4, 3)).model, path)
    return str(path)


def test_table(capsys, digits_model):
    assert main(["bench", str(digits_model), "--seconds", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "digits, milliseconds"
    assert lines[1].split() == ["engine", "minimum", "median", "p90", "calls"]
    minimum, median, p90 = map(float, lines[2].split()[2:5])
    assert 0 < minimum <= median <= p90
    assert re.fullmatch(
        r"\d+ ops, [\d,]+ MACs and [\d,]+ bytes of constants in a call of 1", lines[3]
    )
    assert re.fullmatch(rf"rlx \(\w+\): rlx {rlx.__version__}, .+", lines[-2])
    assert re.fullmatch(r"on cpu: .+, \d+ cores?, \w+", lines[-1])


def test_other_engine(capsys, file):
    assert main(["bench", file, "--seconds", "0", "--against", "onnxruntime"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["rlx", "onnxruntime"]
    assert re.fullmatch(
        r"rlx takes [\d.]+ times as long as onnxruntime, by medians [\d.]+", lines[5]
    )
    assert lines[6].startswith("output")
    assert re.fullmatch(r"onnxruntime: onnxruntime [\d.]+, ORT_ENABLE_ALL, .*thread.*", lines[8])


def test_another_backend(capsys, digits_model):
    command = ["bench", str(digits_model), "--seconds", "0", "--backend", "native"]
    assert main([*command, "--against", "numpy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [["rlx", "(native)"], ["numpy", ANY]]
    assert lines[6] == "outputs are equal"


def test_figures_that_json_lacks_are_none():
    latency = Latency.of([1000])
    outputs = (OutputDifference(name="y", elements=1, differing=1, largest=float("inf")),)
    found = Benchmark(
        name="n", batch=1, ops=1, macs=None, constant_bytes=0, latency=latency,
        engine="numpy", other=latency, difference=float("inf"), outputs=outputs,
    )  # fmt: skip
    data = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert (data["difference"], data["outputs"][0]["largest"]) == (None, None)


def test_json_and_batch(capsys, digits_model):
    assert main(["bench", str(digits_model), "--seconds", "0", "--batch", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["batch"] == 3
    assert found["latency"]["calls"] >= 10


def test_unknown_engine(capsys, file):
    assert main(["bench", file, "--against", "tvm"]) == 2
    assert "engines: onnxruntime, " in capsys.readouterr().err


def test_threads(capsys, digits_model):
    command = ["bench", str(digits_model), "--seconds", "0", "--backend", "native", "--threads"]
    assert main([*command, "2", "--against", "numpy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "outputs are equal" in lines
    (native,) = (line for line in lines if line.startswith("rlx (native): "))
    assert native.endswith(", 2 threads")
    (numpy,) = (line for line in lines if line.startswith("numpy: "))
    assert "2 threads" not in numpy
    assert main([*command, "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"] == 2
    numpy_alone = ["bench", str(digits_model), "--seconds", "0", "--backend", "numpy"]
    assert main([*numpy_alone, "--threads", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"] is None


@pytest.mark.parametrize("number", ["0", "-1", "1000000", "two"])
@pytest.mark.parametrize("command", ["run", "bench", "profile"])
def test_numbers_of_threads_that_are_refused(capsys, digits_model, command, number):
    assert main([command, str(digits_model), "--threads", number]) == 2
    assert capsys.readouterr().err.splitlines()[0] == (
        "error[RLX-E001]: invalid value for '--threads': expected an integer from 1 to 256, got"
        f" {number if number.lstrip('-').isdecimal() else repr(number)}"
    )
