"""Names that ``import rlx`` offers, and their cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rlx
from support import ROOT
from support.messages import raises


def run(program: str) -> list[str]:
    """Return the words that a Python program prints."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout.split()


def test_public_names_are_all_there_is_after_use_too():
    program = "import rlx; rlx.load; rlx.run; import rlx.cli; print(*dir(rlx))"
    assert set(run(program)) == {*rlx.__all__, "config", "__version__"}


def test_help_of_load_fits_a_screen():
    program = "import pydoc, rlx; print(pydoc.plain(pydoc.render_doc(rlx.load)))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert len(result.stdout.splitlines()) <= 25


@pytest.mark.parametrize("name", rlx.__all__)
def test_public_name_is_there(name):
    assert getattr(rlx, name).__name__ == name
    assert name in dir(rlx)


def test_every_name_has_a_home():
    assert set(rlx._HOMES) == set(rlx.__all__)


def test_other_names_are_not():
    with raises(AttributeError):
        _ = rlx.nothing


def test_importing_costs_nothing_until_a_name_is_used():
    there = "print('numpy' in sys.modules)"
    assert run(f"import sys, rlx; {there}; rlx.Graph; {there}") == ["False", "True"]


def test_a_session_brings_no_optional_engine_and_no_target():
    modules = run("import sys, rlx; rlx.Session(); print(*sys.modules)")
    loaded = {name.partition(".")[0] for name in modules}
    assert not loaded & {"rlx_fpga", "rlx_cortexm", "rlx_sim", "amaranth", "jinja2", "jax", "scipy"}


PROGRAM = """
from pathlib import Path
from typing import assert_type

import numpy as np

import rlx

module = rlx.load("model.tflite")
assert_type(module, rlx.Network)
result = module.run(np.zeros((2, 8, 8, 1)))
assert_type(result, rlx.Result)
assert_type(rlx.run("model.tflite", [1.0, 2.0]), rlx.Result)
assert_type(result.top(3), list[list[rlx.Ranked]])
assert_type(result.top()[0][0].score, float)
assert_type(result.accuracy([1, 2]).top1, float)
layers = module.layers({"x": np.zeros(3)}, against=module)
assert_type(layers, rlx.Layers)
assert_type(layers["conv"], rlx.LayerValues)
assert_type(layers["conv"].sqnr_db, float | None)
estimate = rlx.estimate(module, "cortexm", cpu="cortex-m4")
assert_type(estimate, rlx.Estimate)
assert_type(estimate.totals, dict[str, int | float | str])
assert_type(rlx.emit(module, "cortexm", Path("out")), rlx.Emission)
found = rlx.verify("out")
assert_type(found, rlx.Verification)
assert_type(found.passed, bool)
assert_type(rlx.compare(module, "model.q.rlx", "data.npz"), rlx.Comparison)
quantized = rlx.quantize(module, np.zeros((4, 8)))
assert_type(quantized, rlx.Quantized)
assert_type(rlx.run(quantized, "data.npz"), rlx.Result)
module.run(data=3, batch=2)
result.best
"""


@pytest.mark.slow
def test_a_type_checker_sees_what_functions_return(tmp_path):
    assert checked(PROGRAM, tmp_path) == [
        '32: error: Unexpected keyword argument "batch" for "run" of "Network"  [call-arg]',
        '33: error: "Result" has no attribute "best"  [attr-defined]',
    ]


WORDS = """
import rlx

rlx.quantize("m.onnx", "calib.npz", weights="auto", observer="kl")
rlx.quantize("m.onnx", "calib.npz", weights="atuo")
rlx.quantize("m.onnx", "calib.npz", weights=3)
rlx.quantize("m.onnx", "calib.npz", observer="mean")
rlx.quantize("m.onnx")
rlx.compare("a.onnx", "b.onnx", "data.npz", criteria="exakt")
rlx.memory_estimate("a.onnx", device="cpu0")
rlx.estimate("a.onnx", "cortexm", weight_bits=6)
rlx.verify("out", inputs=3)
rlx.emit("a.rlx", "cortexm", "out", vectors="test.npz", frames="3")
"""


@pytest.mark.slow
def test_a_type_checker_finds_misspelled_words(tmp_path):
    found = checked(WORDS, tmp_path)
    lines = [int(line.partition(":")[0]) for line in found]
    kinds = [line.rpartition("  ")[2] for line in found]
    assert lines == list(range(5, 14))
    assert set(kinds) == {"[arg-type]", "[call-arg]"}


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_no_other(tmp_path):
    assert checked("import rlx\n\nrlx.load\nrlx.nothing\n", tmp_path) == [
        '4: error: Module has no attribute "nothing"  [attr-defined]'
    ]


def checked(text, tmp_path):
    """Return the messages of mypy about a program, without its file's name."""
    program = tmp_path / "program.py"
    program.write_text(text)
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(program)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert not result.stderr
    found = [line for line in result.stdout.splitlines() if ": error: " in line]
    return [line.removeprefix(f"{program}:") for line in found]
