"""Kernels of every op read and write only their own arrays, and compute nothing undefined."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rlx_host.instruction_set import available
from support import ROOT, require_program


@pytest.mark.slow
@pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)
def test_sanitizers_find_nothing(instructions):
    require_program("gcc")
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
        "RLX_CC": "gcc",
        "RLX_COMPILE_CACHE": "off",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]),
        "PYTHONMALLOC": "malloc",
    }
    done = subprocess.run(
        [sys.executable, "-m", "targets.host.sanitized", instructions.name],
        env=environment, cwd=ROOT / "tests", capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("nothing found\n", 0), done.stderr[-3000:]
