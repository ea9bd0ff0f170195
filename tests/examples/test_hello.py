"""The small example programs run and say what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXAMPLES / name / "main.py"), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_hello_session(capsys):
    first, second = run("hello_session", capsys)
    assert first == (
        '<CompiledGraph "hello": 3 ops, "x" f32[4, 64] -> "y" f32[4, 128]; on cpu by numpy>:'
        " y is float32[4, 128]"
    )
    assert second.startswith("minimum -0.170, mean ")


def test_hello_stages(capsys):
    lines = run("hello_stages", capsys)
    assert any("nn.conv(%0, %1)" in line for line in lines)
    assert any("real.conv(%0, %1)" in line and 'by "decompose"' in line for line in lines)
    assert "1 nn.softmax: decomposed; it is run as its decomposition" in lines
    assert lines[-1] == "sums of the probabilities: [1.0, 1.0, 1.0, 1.0]"


def test_hello_trace(capsys):
    ops, changed = run("hello_trace", capsys)
    assert "8 real.matmul" in ops
    assert changed == "tokens that changed with the last one: [5]"


def test_hello_decode(capsys):
    assert run("hello_decode", capsys) == [
        "cache: f32[batch, 2, new + place - 1, 8]",
        "cache at the end: [3, 2, 8, 8]",
        "one token at a time gives what all at once give",
    ]


@pytest.mark.parametrize(
    "folder", sorted(p for p in EXAMPLES.glob("hello_*")), ids=lambda p: p.name
)
def test_example_has_a_readme_that_names_its_command(folder):
    text = (folder / "README.md").read_text()
    assert f"python examples/{folder.name}/main.py" in text
