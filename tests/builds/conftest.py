"""Projects of others that build networks: what their tests share."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import rlx
from support import ROOT

PROJECTS = ROOT / "tests" / "projects"
MODEL = ROOT / "examples" / "digits" / "digits.rlx"


@pytest.fixture
def project(tmp_path):
    """Return a function that copies a project and gives it the digits network as ``kws.rlx``."""

    def copy(name):
        folder = tmp_path / "a project"  # a blank, as many folders of users have
        shutil.copytree(PROJECTS / name, folder)
        shutil.copyfile(MODEL, folder / "kws.rlx")
        return folder

    return copy


@pytest.fixture(scope="session")
def environment():
    """Return the environment of a shell in which rlx was installed and activated."""
    programs = Path(sys.executable).parent
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    # A checkout that is tested beside the installed one.
    sources = {k: v for k, v in os.environ.items() if k == "PYTHONPATH"}
    return {"PATH": path, **sources}


@pytest.fixture(scope="session")
def printed():
    """Return the output of the projects' programs."""
    module = rlx.load(MODEL)
    (value,) = module.graph.inputs
    compiled = rlx.Session(rlx.Device.CPU).compile(module)
    (output,) = compiled.run({value.name: np.zeros(value.type.shape, np.int8)})
    return "".join(f"{number} " for number in output.reshape(-1))
