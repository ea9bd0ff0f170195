"""``rlx inspect --fusion`` and ``--dump-dir`` as a user types them."""

import json

import numpy as np
import pytest

from rlx.cli import main
from rlx.ir import Dim, Graph, GraphModule, f32
from rlx.ir.file import save
from rlx.ir.parser import parse_graph
from rlx.ops import nn


def network(size):
    graph = Graph("net")
    x = graph.input("x", f32(size, 4))
    y = graph.apply(nn.NnLinear(), x, graph.constant(np.ones((3, 4), np.float32)), name="dense")
    graph.output(y, graph.apply(nn.NnSoftmax(), graph.apply(nn.NnRelu(), y)), names=["y", "z"])
    return GraphModule.hir(graph)


@pytest.fixture
def rlx_inspect(tmp_path, capsys):
    def run(*arguments, size=2):
        path = tmp_path / "net.rlx"
        save(network(size), path)
        status = main(["inspect", str(path), *arguments])
        return (status, *capsys.readouterr())

    return run


@pytest.mark.parametrize("size", [2, Dim("batch")], ids=str)
def test_fusion(rlx_inspect, size):
    status, out, _ = rlx_inspect("--fusion", size=size)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "net: 7 ops become 3 (softmax 1; 1 missed)"
    assert any(line.startswith("softmax  fused.softmax    5  real.reduce_max") for line in lines)
    assert any("is an output of the graph" in line for line in lines)


def test_fusion_as_json(rlx_inspect):
    found = json.loads(rlx_inspect("--fusion", "--json")[1])
    assert (found["before"], found["after"], found["counts"]) == (7, 3, {"softmax": 1})
    assert found["missed"][0]["reason"] == "output of the graph"


def test_fusion_with_a_policy(rlx_inspect):
    _, out, _ = rlx_inspect("--fusion", "--fusion-policy", "softmax=keep")
    assert out.startswith("net: 7 ops become 6 (elementwise 1; 4 missed)")
    assert "the policy of softmax is keep" in out
    status, _, err = rlx_inspect("--fusion", "--fusion-policy", "softmix=keep")
    assert status == 2
    assert "no pattern of fusion is called 'softmix'" in err
    assert "did you mean 'softmax'?" in err


def test_every_stage_is_dumped(rlx_inspect, tmp_path):
    folder = tmp_path / "stages"
    status, out, _ = rlx_inspect("--dump-dir", str(folder))
    assert status == 0
    files = sorted(folder.glob("*.txt"))
    assert out.splitlines() == [f"wrote {path}" for path in files]
    assert [f.name for f in files][:2] == ["00-given.txt", "01-fit.txt"]
    assert files[-1].name.endswith("-plan.txt")
    assert parse_graph(files[1].read_text()).name == "net"


def test_stages_of_open_sizes_are_refused(rlx_inspect, tmp_path):
    status, _, err = rlx_inspect("--dump-dir", str(tmp_path / "stages"), size=Dim("batch"))
    assert status == 2
    assert "sizes must be numbers, but there is batch" in err


@pytest.mark.parametrize("way", ["--svg", "--html", "--dump-dir"])
def test_what_was_written_as_json(rlx_inspect, tmp_path, way):
    status, out, _ = rlx_inspect(way, str(tmp_path / "made"), "--json")
    assert status == 0
    files = [tmp_path / "made", *sorted(tmp_path.glob("made/*.txt"))]
    assert json.loads(out)["files"] == [str(f) for f in files if f.is_file()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--memory --fusion", "--memory and --fusion cannot be shown at once"),
        ("--text --passes --fusion", "--text and --passes cannot be shown at once"),
        ("--fusion --dump-dir d", "--fusion and --dump-dir cannot be shown at once"),
        ("--dump-dir d --memory", "--memory and --dump-dir cannot be shown at once"),
        ("--print-ir-after fit --text", "--text and --print-ir cannot be shown at once"),
        ("--memory --diff net.rlx", "--diff and --memory cannot be shown at once"),
        ("--memory --machine m.json", "--machine has no effect without --roofline"),
        ("--fusion-policy keep", "--fusion-policy has no effect without --fusion"),
        ("--text --json", "the text form is no JSON"),
    ],
)
def test_options_without_effect_are_refused(rlx_inspect, options, message):
    status, out, err = rlx_inspect(*options.split())
    assert (status, out if "--json" not in options else "") == (2, "")
    assert f"error[RLX-E001]: {message}\n" in err
