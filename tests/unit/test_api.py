"""``rlx.emit``, ``rlx.estimate`` and ``rlx.verify`` do what the commands do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.support.errors import UsageError
from rlx.targets.estimation import Estimate
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples/digits/digits.rlx"


@pytest.mark.complete
def test_a_folder_is_the_same_from_python_and_from_the_command_line(tmp_path):
    emission = rlx.emit(DIGITS, "cortexm", tmp_path / "python", frames=3, cpu="cortex-m7")
    command = [str(DIGITS), "--target", "cortexm", "-o", str(tmp_path / "command")]
    assert main(["emit", *command, "--frames", "3", "--cpu", "cortex-m7"]) == 0
    files = {
        path.relative_to(tmp_path / "python"): path.read_bytes()
        for path in (tmp_path / "python").rglob("*")
        if path.is_file()
    }
    assert {str(path) for path in files} > set(emission.files)
    for path, content in files.items():
        assert (tmp_path / "command" / path).read_bytes() == content, path


@pytest.mark.complete
def test_an_estimate_is_that_of_the_command(capsys):
    estimate = rlx.estimate(str(DIGITS), "fpga", device="ecp5-25k", clock="12MHz")
    command = ["estimate", str(DIGITS), "--target", "fpga", "--json"]
    assert main([*command, "--device", "ecp5-25k", "--clock", "12MHz"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps({"target": "fpga", **estimate})
    )


def test_an_estimate_has_attributes_and_keys():
    estimate = rlx.estimate(DIGITS, "cortexm")
    assert estimate.target == "cortexm"
    assert [row["op"] for row in estimate.layers][:2] == ["q.conv2d", "q.max_pool2d"]
    assert estimate.totals["macs"] == estimate["macs"] == 25600
    assert "layers" in estimate
    assert "layers" not in estimate.totals
    assert estimate.fits
    assert estimate.short is None
    assert repr(estimate) == f"<Estimate for cortexm: {len(estimate.layers)} layers>"


def test_an_estimate_says_what_does_not_fit():
    estimate = Estimate("fpga", {"fits": False, "short": "6 block RAMs of 4"})
    assert not estimate.fits
    assert estimate.short == "6 block RAMs of 4"
    assert repr(estimate).endswith(", does not fit: 6 block RAMs of 4>")


def test_a_verification_has_attributes(tmp_path):
    rlx.emit(DIGITS, "cortexm", tmp_path / "out", frames=2)
    found = rlx.verify(tmp_path / "out", tools=["host"])
    assert (found.passed, found.inputs, found.equal, list(found.mismatches)) == (True, 2, 2, [])
    assert found.figures["runs"]
    assert found.tools == found.as_json()["tools"]


def test_a_loaded_model_is_emitted_with_own_vectors_and_verified(tmp_path):
    module = rlx.load(DIGITS)
    (image,) = module.graph.inputs
    vectors = {"x": np.zeros((2, *image.type.static_shape), image.type.dtype.numpy)}
    rlx.emit(module, "cortexm", tmp_path / "out", vectors=vectors)
    found = rlx.verify(tmp_path / "out", tools=["host"])
    assert found.passed
    assert found.as_json()["inputs"] == 2


def test_values_of_parameters_come_along():
    graph = rlx.Graph("product")
    x = graph.input("x", (2, 3))
    graph.output(x @ graph.param("w", value=np.eye(3, dtype=np.float32)))
    assert rlx.estimate(graph, "cortexm")["macs"] == 18


def test_an_unknown_option_is_named(tmp_path):
    with raises(UsageError):
        rlx.emit(DIGITS, "cortexm", tmp_path / "out", core="cortex-m4")
    assert not (tmp_path / "out").exists()
