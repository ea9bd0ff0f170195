"""``rlx inspect --memory`` and ``--roofline`` as a user types them."""

import json

import pytest

from rlx.cli import main

MACHINE = {
    "name": "flat",
    "flops": {"f32": 1e9},
    "bandwidth": [[1 << 40, 1e9]],
    "overhead_s": 0.0,
}


@pytest.fixture
def rlx_inspect(digits_model, capsys):
    def run(*arguments):
        status = main(["inspect", str(digits_model), *arguments])
        return (status, *capsys.readouterr())

    return run


def test_memory(rlx_inspect):
    status, out, _ = rlx_inspect("--memory")
    assert status == 0
    assert out.splitlines()[0] == "memory of digits"
    assert "weights    3,920 B  constants, equal ones once" in out
    data = json.loads(rlx_inspect("--memory", "--json")[1])
    assert data["workspace"] > 0
    assert data["total"] == data["arena"] + data["weights"] + data["workspace"]


def test_roofline_with_the_limits_of_a_file(rlx_inspect, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(MACHINE))
    status, out, _ = rlx_inspect("--roofline", "--machine", str(path))
    assert status == 0
    assert out.splitlines()[0] == "digits on flat: lower bounds"
    assert "compute" in out
    printed = rlx_inspect("--roofline", "--machine", str(path), "--json")[1]
    assert json.loads(printed)["macs"] == 25600
    path.write_text(printed)  # what was printed is a description too
    assert rlx_inspect("--roofline", "--machine", str(path))[1] == out


def test_a_machine_that_is_none(rlx_inspect, tmp_path):
    status, _, err = rlx_inspect("--roofline", "--machine", str(tmp_path / "nothing.json"))
    assert (status, "no file" in err) == (2, True)
    path = tmp_path / "machine.json"
    missing = f"{path}: is no description of a machine: has no 'name'"
    for text, message in (("{", "is no JSON"), ("[]", missing)):
        path.write_text(text)
        status, _, err = rlx_inspect("--roofline", "--machine", str(path))
        assert status == 2
        assert message in err
