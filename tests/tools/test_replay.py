"""``tools/replay.py``: equal commits are equal, and one byte more is seen."""

from __future__ import annotations

import subprocess
import sys
from importlib import util

import pytest

from support import ROOT

SCRIPT = ROOT / "tools" / "replay.py"


def _replay(*arguments):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_commit_is_equal_to_itself(tmp_path):
    done = _replay("HEAD", "HEAD", "--only", "digits/cortexm-m0", "--keep", str(tmp_path))
    assert done.stdout.splitlines()[-1] == "1 emissions compared, 0 files differ", done.stderr
    assert done.returncode == 0
    folder = tmp_path / "new" / "digits" / "cortexm-m0-size"
    assert (folder / "src" / "digits.c").is_file()


def test_what_differs_is_named(tmp_path):
    spec = util.spec_from_file_location("replay", SCRIPT)
    replay = util.module_from_spec(spec)
    spec.loader.exec_module(replay)
    for side, files in {"old": {"a/x.c": "1", "gone": ""}, "new": {"a/x.c": "2"}}.items():
        for name, text in files.items():
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    assert replay._differing(tmp_path / "old", tmp_path / "new") == ["a/x.c", "gone"]
