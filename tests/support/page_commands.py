"""The commands on a page of the documentation, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def commands(page: Path) -> list[tuple[str, str]]:
    """Return each command of a page's console blocks, with what it prints."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found = [c for block in blocks for c in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, output) for command, _, output in (c.partition("\n") for c in found)]


def assert_prints(command: str, wanted: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Fail unless a command prints what the page shows; ``...`` matches anything."""
    own = {
        "COLUMNS": "80",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    result = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=os.environ | own | environment, timeout=300,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    same = OutputChecker().check_output(wanted, result.stdout, ELLIPSIS)
    assert same, f"$ {command}\n{result.stdout}"
