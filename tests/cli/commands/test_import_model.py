import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from rlx.cli import main
from rlx.ir import DType, Graph, TensorType
from rlx.ir.file import load, save
from rlx.ir.module import GraphModule
from rlx.ops.nn import NnLinear
from support import ROOT
from support.files.onnx_builder import model, node


@pytest.fixture
def net(tmp_path):
    """A network of two inputs with an open batch, as a file."""
    random = np.random.default_rng(1)
    path = tmp_path / "net.onnx"
    path.write_bytes(
        model(
            [
                node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
                node("Add", "c z", "s"),
                node("Relu", "s", "y"),
            ],
            {"x": ["n", 3, 4, 4], "z": ["n", 2, 4, 4]},
            {"y": ["n", 2, 4, 4]},
            {"w": random.standard_normal((2, 3, 3, 3)).astype(np.float32)},
        )
    )
    return path


def test_import_writes_a_file_that_other_commands_read(net, tmp_path, capsys):
    out = tmp_path / "net.rlx"
    assert main(["import", str(net), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"wrote {out}: 6 ops (nn.conv 1, nn.relu 1, real.add 1, ")
    assert said.endswith(f"next: rlx inspect {out}\n")
    assert main(["inspect", str(out)]) == 0


def test_import_as_json(net, tmp_path, capsys):
    out = tmp_path / "net.rlx"
    command = ["import", str(net), "-o", str(out), "--json", "--input-shape", "x=2x3x4x4"]
    assert main(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == [
        {"dtype": "f32", "name": "x", "shape": [2, 3, 4, 4]},
        {"dtype": "f32", "name": "z", "shape": [2, 2, 4, 4]},
    ]
    assert report["outputs"] == [{"dtype": "f32", "name": "y", "shape": [2, 2, 4, 4]}]
    assert report["constant_bytes"] == 2 * 27 * 4
    assert load(out).graph.inputs[1].type.shape == (2, 2, 4, 4)


def test_shapes_may_be_given_one_by_one_or_in_a_list(net, tmp_path):
    files = [tmp_path / f"{i}.rlx" for i in range(2)]
    one = ["--input-shape", "x=2x3x4x4,z=2x2x4x4"]
    two = ["--input-shape", "x=2x3x4x4", "--input-shape", "z=2x2x4x4"]
    for out, shapes in zip(files, (one, two), strict=True):
        assert main(["import", str(net), "-o", str(out), *shapes]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("shape", "status", "message"),
    [
        ("x=2x3x4", 5, "the shape 2x3x4 does not fit the input 'x', f32[n, 3, 4, 4]"),
        ("q=2", 5, "unknown input 'q' in the input shapes"),
        ("x:2x3", 2, "'x:2x3' is not an input shape\n  try: write NAME=1x3x224x224"),
        ("x=2x3x4x4,x=1x3x4x4", 2, "the input 'x' has two shapes"),
    ],
)
def test_shapes_that_make_no_sense(net, tmp_path, capsys, shape, status, message):
    command = ["import", str(net), "-o", str(tmp_path / "o.rlx"), "--input-shape", shape]
    assert main(command) == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o.rlx").exists()


def test_help_shows_the_options_of_the_format(net, capsys):
    assert main(["import", "--format", "onnx", "--help"]) == 0
    by_name = capsys.readouterr().out
    assert main(["import", str(net), "--help"]) == 0
    assert capsys.readouterr().out == by_name
    assert "--input-shape NAME=1x3x224x224" in by_name
    assert "--allow-external" in by_name


def test_the_same_import_in_two_processes_gives_the_same_bytes(net, tmp_path):
    files = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.rlx"
        command = [sys.executable, "-m", "rlx.cli", "import", str(net), "-o", str(out)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True)  # fmt: skip
        files.append(out.read_bytes())
    assert files[0] == files[1]


@pytest.fixture
def dense(tmp_path):
    """A dense layer whose weights and bias are constants ``w`` and ``b``, as a .rlx file."""
    graph = Graph("dense")
    x = graph.input("x", TensorType((1, 3), DType.F32))
    w = graph.constant(np.zeros((2, 3), np.float32), name="w")
    b = graph.constant(np.zeros(2, np.float32), name="b")
    graph.output(graph.apply(NnLinear(), x, w, b))
    path = tmp_path / "dense.rlx"
    save(GraphModule.hir(graph), path)
    return path


def test_weights_of_a_file_are_put_into_the_graph(dense, tmp_path):
    out, weights = tmp_path / "out.rlx", tmp_path / "w.safetensors"
    save_file({"layer.w": np.ones((2, 3), np.float32), "step": np.zeros(1, np.float32)}, weights)
    command = ["import", str(dense), "-o", str(out), "--weights", str(weights)]
    assert main([*command, "--rename", "layer.w=w", "--rename", "step="]) == 0
    constants = {n.name: n.result.constant for n in load(out).graph.nodes}
    assert constants["w"].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert constants["b"].tolist() == [0, 0]


def test_weights_that_do_not_fit_are_refused(dense, tmp_path, capsys):
    out, weights = tmp_path / "out.rlx", tmp_path / "w.safetensors"
    save_file({"layer.w": np.ones((2, 3), np.float32)}, weights)
    command = ["import", str(dense), "-o", str(out), "--weights", str(weights)]
    assert main(command) == 4
    assert "no parameter or constant 'layer.w'" in capsys.readouterr().err
    assert main([*command, "--rename", "layer.w"]) == 2
    assert not out.exists()


@pytest.mark.parametrize(
    "command",
    [
        ("import", "{model}", "-o", "{model}"),
        ("quantize", "{model}", "-o", "{model}"),
        ("quantize", "model.tflite", "--calib", "{model}", "-o", "q.rlx", "--plot", "{model}"),
        ("run", "{model}", "-o", "{model}"),
        ("run", "model.tflite", "--input", "{model}", "-o", "link"),
        ("draw", "{model}", "-o", "{model}"),
        ("profile", "{model}", "--trace", "{model}"),
    ],
)
def test_what_a_command_reads_is_not_replaced(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    content = (ROOT / "examples" / "digits" / "digits.tflite").read_bytes()
    for name in ("model.tflite", "own.svg"):
        Path(name).write_bytes(content)
    Path("link").symlink_to("own.svg")
    model = "own.svg" if "model.tflite" in command else "model.tflite"
    assert main([text.replace("{model}", model) for text in command]) == 2
    assert "is read by this command, and would be replaced" in capsys.readouterr().err
    assert Path(model).read_bytes() == content
    assert Path("link").is_symlink()
