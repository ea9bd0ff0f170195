"""The frontend of docs/how-to/add-a-frontend.md: installed, used by every command of the page."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, RlxError
from rlx.support.limits import DEFAULT_LIMITS
from support import ROOT
from support.files.mutation import mutate_text
from support.messages import raises
from support.page_commands import assert_prints, commands

FOLDER = ROOT / "examples" / "mlp_frontend"
PAGE = ROOT / "docs" / "how-to" / "add-a-frontend.md"
XOR = (FOLDER / "xor.mlp").read_text()


@pytest.fixture(scope="module")
def mlp():
    """The frontend's module."""
    sys.path.insert(0, str(FOLDER))
    try:
        import mlp_frontend

        yield mlp_frontend
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("mlp_frontend", None)


def load(mlp, path, text, batch=1):
    path = path / "net.mlp"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return mlp.FRONTEND.load(path, mlp.MlpOptions(batch), DEFAULT_LIMITS).graph


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # pip installs into a folder of the test's own, with the build tool that is there already.
    environment = {
        "PYTHONPATH": str(tmp_path / "installed"),
        "PIP_TARGET": str(tmp_path / "installed"),
        "PIP_NO_BUILD_ISOLATION": "false",
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_QUIET": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    pairs = commands(PAGE)
    assert len(pairs) == 9
    for command, wanted in pairs:
        assert_prints(command, wanted, tmp_path, environment)
    assert (tmp_path / "out" / "xor" / "manifest.json").is_file()


def test_the_graph_computes_xor(mlp, tmp_path):
    graph = load(mlp, tmp_path, XOR, batch=4)
    (found,) = evaluate(graph, {"x": np.array([[0, 0], [0, 127], [127, 0], [127, 127]], np.int8)})
    assert found.ravel().tolist() == [0, 126, 126, 2]
    assert {str(n.origin) for n in graph.op_nodes} == {"net.mlp layer 0", "net.mlp layer 1"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"inputs": 2', '"inputs": 0'),
        ('"inputs": 2', '"inputs": "2"'),
        ('"inputs": 2', '"inputs": 3'),
        ('"scale": 0.015625', '"scale": 1e-60'),
        ('"zero_point": -128', '"zero_point": 128'),
        ("[127, 127], [127", "[127, 127], [128"),
        ("[[64, -127]]", "[[64, -127], [1]]"),
        ("[[64, -127]]", "7"),
        ("{", "["),
    ],
)
def test_malformed_files_are_refused(mlp, tmp_path, old, new):
    text = XOR.replace(old, new)
    assert text != XOR
    with raises(FrontendError):
        load(mlp, tmp_path, text)


def test_damaged_files_are_refused_or_read(mlp, tmp_path):
    for seed in range(300):
        try:
            graph = load(mlp, tmp_path, mutate_text(XOR.encode(), seed))
        except RlxError:
            continue
        assert json.dumps(graph.output_names) == '["y"]'
