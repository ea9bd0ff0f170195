"""``rlx inspect`` as a user types it."""

import shlex

import numpy as np
import pytest

from rlx.cli import main
from rlx.ir import Dim, Graph, GraphModule, f32
from rlx.ir.file import save
from rlx.ops import nn
from support.messages import said


@pytest.fixture
def rlx_inspect(digits_model, monkeypatch, capsys):
    monkeypatch.chdir(digits_model.parent)

    def run(*arguments):
        status = main(["inspect", *arguments])
        return (status, *capsys.readouterr())

    return run


def test_layers(rlx_inspect):
    status, out, _ = rlx_inspect("digits.tflite")
    assert status == 0
    assert out.startswith("digits: 6 ops (q.conv2d 2, ")
    assert out.splitlines()[-2].split()[:2] == ["all", "25,600"]


def test_the_text_form(rlx_inspect):
    status, out, _ = rlx_inspect("digits.tflite", "--text")
    assert (status, out.splitlines()[0]) == (0, 'graph "digits" {')
    assert "= q.conv2d(" in out


def test_the_text_is_no_json(rlx_inspect):
    status, _, err = rlx_inspect("digits.tflite", "--text", "--json")
    assert status == 2
    assert "error[RLX-E001]: --text and --json exclude each other\n" in err


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ("--svg net.svg digits.tflite", "draw digits.tflite -o net.svg"),
        ("digits.tflite --html 'a b.html'", "draw digits.tflite -o 'a b.html'"),
        ("digits.tflite --diff old.tflite", "diff digits.tflite old.tflite"),
        ("digits.tflite --manifest", "host digits.tflite --bindings"),
        ("digits.tflite --memory", "host digits.tflite --memory"),
        ("digits.tflite --roofline", "host digits.tflite --roofline measured"),
        ("digits.tflite --machine m.json", "host digits.tflite --roofline m.json"),
        ("digits.tflite --fusion", "host digits.tflite --fusion"),
        ("digits.tflite --fusion-policy keep",
         "host digits.tflite --fusion --fusion-policy keep"),
        ("digits.tflite --passes", "passes digits.tflite --pipeline default"),
        ("digits.tflite --dump-dir d", "passes digits.tflite --dump-dir d"),
        ("digits.tflite --print-ir-after fit --json",
         "passes digits.tflite --print-ir-after fit"),
        ("digits.tflite --verify-each", "passes digits.tflite --verify-each"),
    ],
)  # fmt: skip
def test_options_of_other_commands_name_these(rlx_inspect, arguments, command):
    status, _, err = rlx_inspect(*shlex.split(arguments))
    assert status == 2
    assert "error[RLX-E001]: rlx inspect has no option --" in err
    assert f"  try: use rlx {command}\n" in err


def test_the_help_has_no_options_of_other_commands(rlx_inspect):
    out = rlx_inspect("--help")[1]
    assert "--text" in out
    assert "--svg" not in out


@pytest.mark.parametrize("shape", [(Dim("batch"), 4), (Dim("batch"), Dim("length"), 4)], ids=str)
def test_an_open_batch_is_one(shape, tmp_path, capsys):
    graph = Graph("net")
    x = graph.input("x", f32(*shape))
    weights = graph.constant(np.ones((3, 4), np.float32))
    graph.output(graph.apply(nn.NnLinear(), x, weights, name="dense"))
    path = str(tmp_path / "net.rlx")
    save(GraphModule.hir(graph), path)
    assert main(["inspect", path]) == 0
    captured = capsys.readouterr()
    said(captured.out)
    said(captured.err)
    assert main(["inspect", path, "--text"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "batch" in captured.out
