"""The wheel, and clean environments into which only it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from installed.pages import Reader
from support import ROOT, missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCK = ROOT / "requirements" / "dev.lock"
UNREACHABLE = "Could not find a version|Failed to establish a new connection|NewConnectionError"
"""Message of pip without a connection to a package index."""


@dataclass(frozen=True)
class Machine:
    """A machine without a checkout of rlx.

    Attributes:
        folder: Folder in which environments and working folders are made.
        wheel: The wheel of rlx.
        constraints: File that makes pip take the version of that wheel, and the locked versions.
    """

    folder: Path
    wheel: Path
    constraints: Path

    def reader(self, name: str, skipped: Mapping[str, str]) -> Reader:
        """Return a shell with a new, empty Python environment."""
        place = self.folder / name
        work = place / "work"
        work.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        return Reader(work, self.environment(place), skipped)

    def plain(self, name: str, programs: Path, names: Sequence[str]) -> Reader:
        """Return the shell of a machine on which nothing but some programs is installed.

        Args:
            name: Name of its folder.
            programs: New folder for links to the programs.
            names: Names of the programs.
        """
        reader = self.reader(name, {})
        programs.mkdir()
        for program in names:
            path = shutil.which(program)
            assert path, f"no {program}"
            (programs / program).symlink_to(path)
        own = self.folder / name / "venv" / "bin"
        path = os.pathsep.join(map(str, (own, programs)))
        return Reader(reader.folder, {**reader.environment, "PATH": path})

    def environment(self, place: Path) -> dict[str, str]:
        """Return variables of a shell in which the environment in ``place`` is active."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "RLX_", "VIRTUAL_ENV", "PYTEST"))
        }
        outside = [p for p in kept["PATH"].split(os.pathsep) if Path(p) != Path(sys.prefix) / "bin"]
        return kept | {
            "PATH": os.pathsep.join([str(place / "venv" / "bin"), *outside]),
            "COLUMNS": "80",
            "XDG_CACHE_HOME": str(place / "cache"),
            "PIP_CACHE_DIR": _pip_cache(),
            "PIP_CONSTRAINT": str(self.constraints),
            "PIP_FIND_LINKS": str(self.wheel.parent),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "PIP_QUIET": "1",
        }


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine on which the wheel was built; skips where there is no package index."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build_wheel(folder / "dist")
    constraints = folder / "constraints.txt"
    pins = re.findall(r"^[A-Za-z0-9._-]+==[^ ;\\]+(?: ;[^\\\n]*)?", LOCK.read_text(), re.MULTILINE)
    constraints.write_text("\n".join([*pins, f"rlx=={wheel.name.split('-')[1]}", ""]))
    machine = Machine(folder, wheel, constraints)
    probe = machine.reader("probe", {})
    done = subprocess.run(
        ["pip", "download", "--no-deps", "-d", folder / "probe", "click"],
        env=dict(probe.environment), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode and re.search(UNREACHABLE, done.stderr):
        missing("no package index can be reached")
    return machine


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into ``folder`` and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _pip_cache() -> str:
    """Return pip's cache of this user, so that nothing is downloaded twice."""
    command = [sys.executable, "-m", "pip", "cache", "dir"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()
