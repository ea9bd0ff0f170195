"""The guide from an ONNX file to verified firmware: every command runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

pytestmark = [pytest.mark.sim, pytest.mark.qemu]

PAGE = ROOT / "docs/guide/onnx-to-firmware.md"


def commands() -> list[str]:
    """Return the commands of the page, in its order."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_the_commands_of_the_page_run(tmp_path):
    bin_folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    printed = {}
    for command in commands():
        result = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
        printed[command] = result.stdout
    assert len(printed) >= 9
    for command, text in printed.items():
        if command.startswith("rlx verify"):
            assert "all equal: " in text, command
