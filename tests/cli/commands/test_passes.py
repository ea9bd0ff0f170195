"""``rlx passes`` as a user types it."""

import json

import numpy as np
import pytest

from rlx.cli import main
from rlx.ir import Dim, Graph, GraphModule, f32
from rlx.ir.file import save
from rlx.ir.parser import parse_graph
from rlx.ops import nn


def network(*shape):
    graph = Graph("net")
    x = graph.input("x", f32(*shape))
    y = graph.apply(nn.NnLinear(), x, graph.constant(np.ones((3, 4), np.float32)), name="dense")
    graph.output(graph.apply(nn.NnSoftmax(), graph.apply(nn.NnRelu(), y)))
    return GraphModule.hir(graph)


@pytest.fixture
def passes(tmp_path, capsys):
    def run(*arguments, shape=(2, 4)):
        path = tmp_path / "net.rlx"
        save(network(*shape), path)
        status = main(["passes", str(path), *arguments])
        return (status, *capsys.readouterr())

    return run


def steps_of(text):
    return [line[3:].partition(":")[0] for line in text.splitlines() if line.startswith("== ")]


def test_steps_of_compilation_for_the_host(passes):
    status, out, err = passes()
    assert (status, err) == (0, "")
    assert steps_of(out) == ["given", "fit", "fold-constants, round 1",
                             "dead-code, round 1", "fuse"]  # fmt: skip
    assert any(line.startswith("+ ") and "fused.softmax" in line for line in out.splitlines())


def test_a_pipeline_alone(passes):
    status, out, _ = passes("--pipeline", "decompose", shape=(Dim("n"), 4))
    assert (status, steps_of(out)) == (0, ["given", "decompose"])
    assert "f32[n, 3]" in out
    assert passes("--pipeline", "none")[1].endswith("\nno pass changes it\n")


def test_changes_as_json(passes):
    report = json.loads(passes("--json")[1])
    assert [step["name"] for step in report["steps"]][-1] == "fuse"
    assert report["steps"][0]["diff"] is None
    assert "files" not in report


def test_every_stage_is_dumped(passes, tmp_path):
    folder = tmp_path / "stages"
    status, out, _ = passes("--dump-dir", str(folder))
    files = sorted(folder.glob("*.txt"))
    assert status == 0
    assert out.splitlines()[-len(files) :] == [f"wrote {path}" for path in files]
    assert steps_of(out)[0] == "given"
    assert [f.name for f in files][:2] == ["00-given.txt", "01-fit.txt"]
    assert files[-1].name.endswith("-plan.txt")
    assert parse_graph(files[1].read_text()).name == "net"
    report = json.loads(passes("--dump-dir", str(folder), "--json")[1])
    assert report["files"] == [str(path) for path in files]


def test_stages_of_a_pipeline_are_dumped(passes, tmp_path):
    assert passes("--pipeline", "decompose", "--dump-dir", str(tmp_path / "stages"))[0] == 0
    files = sorted(path.name for path in tmp_path.glob("stages/*.txt"))
    assert files == ["00-given.txt", "01-decompose.txt"]


def test_graphs_are_printed_in_place_of_changes(passes):
    status, out, err = passes("--print-ir-after", "fit", "--print-ir-before", "fuse")
    assert (status, err) == (0, "")
    assert out.startswith('# after fit\ngraph "net" {\n')
    assert "# before fuse\n" in out
    assert "== " not in out
    out, err = passes("--print-ir-after", "fit", "--json")[1:]
    assert err.startswith("# after fit\n")
    assert json.loads(out)["steps"]


def test_a_batch_is_one_and_other_sizes_must_be_numbers(passes):
    status, out, err = passes(shape=(Dim("batch"), 4))
    assert status == 0
    assert "the batch is 1" in err
    assert "f32[1, 3]" in out
    status, _, err = passes(shape=(2, Dim("length"), 4))
    assert status == 2
    assert "sizes must be numbers, but there is length" in err


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ("--pipeline defualt", "no pipeline is called 'defualt'", "did you mean 'default'?"),
        ("--print-ir-after fus", "no step is called 'fus'", "did you mean 'fuse'?"),
        ("--pipeline host --print-ir-after fuse", "no step is called 'fuse'", ""),
    ],
)
def test_names_that_do_not_exist(passes, options, message, hint):
    status, out, err = passes(*options.split())
    assert (status, out) == (2, "")
    assert f"error[RLX-E001]: {message}\n" in err
    assert hint in err
