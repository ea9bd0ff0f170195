"""What ``import rlx`` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

import rlx


def run(program: str) -> list[str]:
    """Return the words that a Python program prints."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout.split()


@pytest.mark.parametrize("name", rlx.__all__)
def test_public_name_is_there(name):
    assert getattr(rlx, name).__name__ == name
    assert name in dir(rlx)


def test_every_name_has_a_home():
    assert set(rlx._HOMES) == set(rlx.__all__)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match=r"^module 'rlx' has no attribute 'nothing'$"):
        _ = rlx.nothing


def test_importing_costs_nothing_until_a_name_is_used():
    there = "print('numpy' in sys.modules)"
    assert run(f"import sys, rlx; {there}; rlx.Graph; {there}") == ["False", "True"]


def test_a_session_brings_no_optional_engine_and_no_target():
    modules = run("import sys, rlx; rlx.Session(); print(*sys.modules)")
    loaded = {name.partition(".")[0] for name in modules}
    assert not loaded & {"rlx_fpga", "rlx_cortexm", "rlx_sim", "amaranth", "jinja2", "jax", "scipy"}


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_no_other(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import rlx\n\nrlx.load\nrlx.nothing\n")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(program)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.stdout.splitlines()[:-1] == [
        f'{program}:4: error: Module has no attribute "nothing"  [attr-defined]'
    ], result.stderr
