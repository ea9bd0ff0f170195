"""``rlx profile`` as a user types it."""

import json
import re

import pytest

from rlx.cli import main


@pytest.fixture
def profile(digits_model, capsys):
    def run(*arguments):
        status = main(["profile", str(digits_model), "--runs", "2", *arguments])
        return (status, *capsys.readouterr())

    return run


def test_table(profile):
    status, out, _ = profile()
    lines = out.splitlines()
    assert (status, lines[0]) == (0, "digits on cpu by numpy: 2 runs")
    assert lines[1].startswith("node ")
    assert lines[2].split()[:2] == ["conv1", "q.conv2d"]
    assert lines[-2].startswith("all ")
    assert re.fullmatch(
        r"a call takes [\d.,e+]+ us; [\d.,e+-]+ us of it are between the nodes", lines[-1]
    )


def test_layers_and_batch(profile):
    status, out, _ = profile("--by-layer", "--batch", "3")
    assert status == 0
    assert out.splitlines()[1].startswith("layer ")
    assert "probabilities" in out


def test_trace_and_machine(profile, tmp_path):
    path = tmp_path / "trace.json"
    machine = tmp_path / "machine.json"
    flat = {"name": "flat", "flops": {"f32": 1e9}, "bandwidth": [[1 << 40, 1e9]]}
    machine.write_text(json.dumps(flat))
    status, out, _ = profile("--trace", str(path), "--machine", str(machine))
    assert status == 0
    assert out.endswith(f"wrote {path}\n")
    assert "of roofline, %" in out
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(e.get("cat") == "run" for e in events) == 2


def test_json(profile):
    found = json.loads(profile("--json")[1])
    assert found["runs"] == 2
    assert sum(node["share"] for node in found["nodes"]) == pytest.approx(1)
    assert found["nodes"][0]["macs"] == 4608


def test_a_machine_that_is_not_there(profile):
    status, _, err = profile("--machine", "nothing.json")
    assert status == 2
    assert "no file 'nothing.json'" in err


def test_backends_are_chosen_by_name(capsys, digits_model):
    command = ["profile", str(digits_model), "--runs", "2", "--json"]
    assert main([*command, "--backend", "numpy"]) == 0
    assert json.loads(capsys.readouterr().out)["where"] == "on cpu by numpy"
    assert main([*command, "--device", "tpu", "--backend", "numpy"]) == 6
