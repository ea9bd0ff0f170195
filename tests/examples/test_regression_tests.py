"""The example project's own tests pass, run by its own pytest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support import ROOT

pytestmark = [pytest.mark.sim, pytest.mark.qemu]


def test_the_projects_tests_pass(tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, "--rlx-keep", str(tmp_path / "out")],
        cwd=ROOT / "examples/regression_tests",
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "5 passed" in result.stdout
