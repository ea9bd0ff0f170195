"""The target and the backend that the how-to pages show, as an installed package."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rlx
from rlx import Graph
from rlx.cli import main
from rlx.passes.boundaries import Ports
from rlx.runtime import CompileOptions, Session, backend
from rlx.support import plugins
from rlx.targets import target
from support import ROOT

TOY = ROOT / "tests" / "packages" / "toy"
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.syspath_prepend(str(TOY))
    backend.backends.cache_clear()
    yield
    backend.backends.cache_clear()


def run(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("toy")
def test_target_works_with_every_command(tmp_path, capsys):
    assert "listing" in run(capsys, "targets")
    out = tmp_path / "out"
    run(capsys, "emit", DIGITS, "--target", "listing", "--indent", "2", "-o", out)
    lines = (out / "listing.txt").read_text().splitlines()
    assert len(lines) > 5
    assert all(line.startswith("  q.") for line in lines)
    assert (out / "golden" / "input_0.npy").exists()
    estimate = json.loads(run(capsys, "estimate", DIGITS, "--target", "listing", "--json"))
    assert estimate["ops"] == len(lines)
    checked = json.loads(run(capsys, "check", DIGITS, "--target", "listing", "--json"))
    assert {entry["path"] for entry in checked["ops"]} == {"native"}


@pytest.mark.usefixtures("toy")
def test_target_has_the_defaults():
    found = target.load("listing")
    options = found.options()
    assert found.ports(options) == Ports()
    assert (found.sweep, found.alternatives(options), found.pipeline) == (None, None, "default")
    assert found.reason(rlx.ir.Op.registry["q.dense"], options) is None
    assert found.reason(rlx.ir.Op.registry["nn.relu"], options) == "it has no rule"


def test_target_without_the_base_class_gets_the_defaults(installed, tmp_path, capsys):
    text = (TOY / "toy_target.py").read_text()
    assert "(Target)" in text
    text = text.replace("(Target)", "").replace('"listing"', '"plain"')
    text = text.replace("class Options:", "class Options:\n    deep: bool = False")
    text += "    \nListing.ports = lambda self, options: options.deep\n"
    installed({"plain_target.py": text}, {"rlx.targets": {"plain": "plain_target:TARGET"}})
    found = target.load("plain")
    assert isinstance(found, target.Target)
    assert found.ports(found.options(deep=True)) is True
    assert (found.name, found.sweep, found.pipeline) == ("plain", None, "default")
    raw = plugins.load("rlx.targets", "plain", missing="", hint="")
    assert not isinstance(raw, target.Target)
    del type(raw).ports
    run(capsys, "emit", DIGITS, "--target", "plain", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "listing.txt").exists()


def test_target_that_lacks_a_method_is_refused_with_its_name(installed):
    text = (TOY / "toy_target.py").read_text().replace("def emit", "def emits")
    installed({"lacking.py": text}, {"rlx.targets": {"lacking": "lacking:TARGET"}})
    (problem,) = (p.problem for p in plugins.survey("rlx.targets") if p.name == "lacking")
    assert problem.reason.startswith(
        "cannot be loaded: TypeError: Can't instantiate abstract class"
    )
    assert "emit" in problem.reason


@pytest.mark.usefixtures("toy")
def test_backend_computes_what_numpy_does():
    assert [b.name for b in backend.backends()] == ["numpy", "native", "toy", "wgpu", "xla"]
    graph = rlx.load(DIGITS).graph
    x = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    found = [
        Session("cpu", CompileOptions(backend=name))
        .compile(graph)
        .run({graph.inputs[0].name: x})[0]
        for name in ("toy", "numpy")
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("name", ["toy", "numpy"])
def test_backend_keeps_states_and_takes_params(name):
    graph = Graph("sums")
    x, total, w = graph.input("x", 2), graph.state("total", 2), graph.param("w", 2)
    graph.set_state(total, total + x * w)
    graph.output(y=total + 1.0)
    compiled = Session("cpu", CompileOptions(backend=name)).compile(graph)
    compiled.set_param("w", [2.0, 3.0])
    found = [compiled.run_named({"x": [1.0, 1.0]})["y"].tolist() for _ in range(3)]
    assert found == [[1.0, 1.0], [3.0, 4.0], [5.0, 7.0]]
    assert compiled.read_state("total").tolist() == [6.0, 9.0]
    compiled.bind_state("total", [0.0, 5.0])
    timed = [entry.node.op.name for entry in compiled.profile({"x": [0.0, 0.0]}, runs=2).nodes]
    assert timed == ["real.mul", "real.add", "real.add"] or name == "numpy"
    assert compiled.read_state("total").tolist() == [0.0, 5.0]


@pytest.mark.usefixtures("toy")
def test_backend_is_offered_by_check(capsys):
    out = run(capsys, "check", DIGITS, "--backend", "toy", "--json")
    assert json.loads(out)["ready"]
