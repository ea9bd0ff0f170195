"""The pytest plugin, as another project's tests use it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support import ROOT

pytestmark = pytest.mark.slow  # Each runs pytest in a process of its own.

DIGITS = ROOT / "examples/digits/digits.rlx"


@pytest.fixture
def project(tmp_path):
    """Return a function that runs pytest in a project with some models and one test."""

    def run(models: str, test: str, *arguments: str) -> list[str]:
        (tmp_path / "pytest.ini").write_text(f"[pytest]\nrlx_models =\n{models}")
        (tmp_path / "test_it.py").write_text(test)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        result = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        return (result.stdout + result.stderr).splitlines()

    return run


def test_a_build_is_made_once_and_kept(project, tmp_path):
    lines = project(
        f"    digits = {DIGITS}\n",
        "def test_figures(rlx_network, rlx):\n"
        "    build = rlx['digits'].on('cortexm', frames=1, tools=('host',))\n"
        "    assert build is rlx_network.on('cortexm', frames=1, tools=('host',))\n"
        "    assert build is not rlx_network.on('cortexm', frames=2, tools=('host',))\n"
        "    assert build.passed\n"
        "    assert build.macs == 25600\n",
        "--rlx-keep",
        "kept",
    )
    assert lines[-1].startswith("1 passed")
    assert (tmp_path / "kept/0-digits/0-cortexm/manifest.json").is_file()


@pytest.mark.parametrize(
    ("folder", "why"), [("kept", "'kept' exists already"), ("a_file/kept", "Not a directory")]
)
def test_a_folder_that_cannot_be_made_is_refused(project, tmp_path, folder, why):
    (tmp_path / "kept").mkdir()
    (tmp_path / "a_file").touch()
    lines = project(
        f"    digits = {DIGITS}\n",
        "def test_model(rlx):\n    rlx['digits']\n",
        "--rlx-keep",
        folder,
    )
    assert any("--rlx-keep: " in line and why in line for line in lines), lines


def test_names_that_are_not_there_are_listed(project):
    lines = "\n".join(
        project(
            f"    digits = {DIGITS}\n",
            "def test_model(rlx):\n    rlx['digit']\n"
            "def test_target(rlx):\n    rlx['digits'].cortexa\n"
            "def test_figure(rlx):\n"
            "    rlx['digits'].on('cortexm', frames=1, tools=('host',)).cycles\n",
        )
    )
    assert "no model is called 'digit'; did you mean 'digits'? rlx_models names: digits" in lines
    assert "no attribute or target 'cortexa'; targets: cortexm, fpga, host" in lines
    assert "has no figure 'cycles'; figures: " in lines


def test_a_wrong_program_has_no_figures(project):
    lines = "\n".join(
        project(
            f"    digits = {DIGITS}\n",
            "import pathlib\n"
            "def test_wrong(rlx, monkeypatch):\n"
            "    build = rlx['digits'].on('cortexm', frames=2, tools=('host',))\n"
            "    build.emission\n"
            "    class Wrong:\n"
            "        passed = False\n"
            "        def as_json(self):\n"
            "            return {'equal': 1, 'inputs': 2, 'mismatches': [{'byte': 3}], 'macs': 1}\n"
            "    build.__dict__['_verification'] = Wrong()\n"
            "    build.macs\n",
        )
    )
    assert "1 of 2 vectors give the reference's bits" in lines
    assert "byte 3" in lines


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("    digits\n", "rlx_models: 'digits' is not 'name = path'"),
        ("    a = b.tflite\n", "rlx_models: model 'a': no file"),
        ("", "test_it runs for each model, but rlx_models names none; in pytest.ini: rlx_models ="),
        (f"    a = {DIGITS}\n    a = {DIGITS}\n", "rlx_models: two models are called 'a'"),
    ],
)
def test_a_wrong_configuration_is_refused(project, models, message):
    lines = project(models, "def test_it(rlx_network):\n    pass\n")
    assert message in "\n".join(lines)


def test_a_project_without_networks_imports_nothing(project):
    lines = project("", "import sys\ndef test_it():\n    assert 'rlx.api' not in sys.modules\n")
    assert lines[-1].startswith("1 passed")


def test_an_error_of_a_run_shows_the_test_alone(project):
    lines = project(
        f"    digits = {DIGITS}\n",
        "import numpy as np\n"
        "def test_run(rlx):\n"
        "    assert rlx['digits'].run(np.zeros((96, 8, 8, 1)))[0].shape == (96, 10)\n"
        "    rlx['digits'].run(np.zeros((96, 3)))\n",
    )
    text = "\n".join(lines)
    assert "rlx.support.errors.UsageError: data, input 'image':" in text
    assert "hint: " in text
    places = [line for line in lines if re.match(r"\S+\.py:\d+", line)]
    assert [place.split(": ")[0] for place in places] == ["test_it.py:4"], text
