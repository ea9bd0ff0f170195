"""Each public function has an example in its help, which runs and fits a screen."""

from __future__ import annotations

import doctest
import inspect
import os
import pydoc
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.support.files import shipped

FUNCTIONS = [name for name in rlx.__all__ if inspect.isfunction(getattr(rlx, name))]
MAX_LINES = 60
"""Lines of help: a screen of a laptop."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Return a folder with the examples that docstrings name."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("digits", "onnx_to_firmware"):
        shipped.copy(name, folder)
    return folder


@pytest.fixture
def here(examples):
    """Run in that folder."""
    before = Path.cwd()
    os.chdir(examples)
    yield
    os.chdir(before)


def run(text: str, name: str) -> str:
    """Run the examples in a docstring; return what differs."""
    found = []
    names = {"rlx": rlx, "np": np, "Path": Path}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    doctest.DocTestRunner(verbose=False).run(test, out=found.append)
    return "".join(found)


@pytest.mark.complete
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_runs(name, here):
    text = inspect.getdoc(getattr(rlx, name)) or ""
    assert ">>> " in text
    assert f"rlx.{name}" in text
    assert "SKIP" not in text
    assert run(text, name) == ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_fits_a_screen(name):
    shown = pydoc.plain(pydoc.render_doc(getattr(rlx, name)))
    assert len(shown.splitlines()) <= MAX_LINES


def test_a_wrong_example_is_found():
    assert "Expected:" in run(">>> 1 + 1\n3\n", "sum")
