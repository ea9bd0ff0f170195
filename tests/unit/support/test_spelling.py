"""Messages name options as their reader writes them."""

from __future__ import annotations

import ast
import importlib
import pickle
import re

import click
import pytest

import rlx
from rlx import frontends, targets
from rlx.cli import _MODULES, COMMANDS, main
from rlx.cli.plugin_options import PluginOptions
from rlx.support.errors import UsageError
from rlx.support.spelling import FLAGS, SHELL_ONLY, in_python, spelled, typed
from support import ROOT

DIGITS = ROOT / "examples/digits/digits.rlx"

SPELLED = {
    "use --force to replace it": "use force=True to replace it",
    "leave --no-bias-correction out": "leave bias_correction=False out",
    "use --ram 70000 --flash 72000": "use ram=70000, flash=72000",
    "use --ram 32K, or --flash 1M": 'use ram="32K", or flash="1M"',
    "(--stream-bits 128, or leave it out)": "(stream_bits=128, or leave it out)",
    "write --clock 64MHz or less": 'write clock="64MHz" or less',
    "--device ecp5-45k": 'device="ecp5-45k"',
    "leave --io float out": 'leave io="float" out',
    "use --io, or another": "use io, or another",
    "the budget is 7 (--lut)": "the budget is 7 (lut)",
    "give --frames a number": "give frames a number",
    "--min-sqnr -inf --min-agreement 0": 'min_sqnr=float("-inf"), min_agreement=0',
    "--input-shape x=1x3x8x8": 'input_shape={"x": (1, 3, 8, 8)}',
    "--input-shape a=8 --input-shape b:0=1x8": 'input_shape={"a": (8,), "b:0": (1, 8)}',
    "--input-value NAME=1": 'input_value={"NAME": 1}',
    "--outputs NAME, leaves": 'outputs=["NAME"], leaves',
    "--limit file-bytes=42": 'limits={"file_bytes": 42}',
    "raise it (--timeout)": "raise it (timeout_s)",
    "rlx quantize MODEL --calib S.npz -o MODEL.q.rlx": 'rlx.quantize(model, calib="S.npz")',
    "rlx quantize MODEL -o MODEL.q.rlx": "rlx.convert(model)",
    "rlx emit MODEL --target cortexm -o OUT": 'rlx.emit(model, target="cortexm", folder="OUT")',
    "rlx emit MODEL --target cortexm": 'rlx.emit(model, target="cortexm", folder=...)',
    "rlx verify FOLDER --with sanitize": 'rlx.verify("FOLDER", tools=["sanitize"])',
    "rlx verify made/; then": 'rlx.verify("made/"); then',
    "rlx estimate MODEL --target cortexm --parts all": (
        'rlx.estimate_all(model, target="cortexm", values="all", over="part")'
    ),
    "a folder that rlx emit wrote": "a folder that rlx.emit wrote",
    "'rlx quantize' writes": "'rlx.quantize' writes",
    "rlx import a.onnx --input-shape x=1x8": 'rlx.load("a.onnx", input_shape={"x": (1, 8)})',
}
KEPT = [
    "rlx check MODEL --target NAME",
    "rlx import MODEL --weights FILE",
    "rlx quantize --write-settings FILE",
    "rlx verify --json",
    "'rlx doctor' shows the tools",
    "pytest --rlx-record writes it",
    "cmake --build build --target run",
    "$ rlx quantize x.onnx --calib SAMPLES.npz -o x.rlx",
    "--scale, --mean and --std change that",
    "rlx reads models; values from -1 to 1",
    "no file 'in --lut 100.npz'",
    "prefix: expected letters, digits and underscores, got '--force'",
    "the layer '--lut 100' is not in the network's graph",
]


@pytest.mark.parametrize("text", SPELLED)
def test_options_and_commands_in_python(text):
    assert in_python(text) == SPELLED[text]
    assert in_python(in_python(text)) == SPELLED[text]


@pytest.mark.parametrize("text", KEPT)
def test_texts_without_a_form_in_python_stay(text):
    assert in_python(text) == text


def test_the_command_line_reads_what_is_typed():
    error = UsageError("exists", where="--opset", hint="use --force")
    assert (error.where, error.hint) == ("opset", "use force=True")
    assert UsageError("no file", where="nix --force.onnx").where == "nix --force.onnx"
    with typed():
        assert (error.where, error.hint) == ("--opset", "use --force")
        assert str(error) == "--opset: exists\n  hint: use --force"
        assert spelled("--force") == "--force"
    assert str(error) == "opset: exists\n  hint: use force=True"


def test_an_error_that_was_pickled_says_the_same():
    error = UsageError("exists", where="--opset", hint="use --force")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_same_mistake_in_both_places(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    rlx.emit(DIGITS, "cortexm", tmp_path / "made", frames=1)
    with pytest.raises(rlx.RlxError, match="use force=True to replace it"):
        rlx.emit(DIGITS, "cortexm", tmp_path / "made", frames=1)
    command = ["emit", str(DIGITS), "--target", "cortexm", "-o", str(tmp_path / "made")]
    assert main(command) == 2
    assert "try: use --force to replace it" in capsys.readouterr().err


def _flags() -> set[str]:
    """Return the flags of all commands, targets and formats that are not for the shell alone."""
    commands = [
        importlib.import_module(f"rlx.cli.commands.{_MODULES.get(name, name)}").command
        for name in COMMANDS
        if name in ("emit", "estimate", "export", "import", "quantize", "compare", "verify", "run")
    ]
    params = [param for command in commands for param in command.params]
    plugins = [("target", one) for one in targets.load_all()]
    plugins += [("format", one) for one in frontends.frontends()]
    params += [param for kind, one in plugins for param in PluginOptions(kind, one).params()]
    options = [p for p in params if isinstance(p, click.Option) and p.is_flag]
    return {option.opts[0].removeprefix("--") for option in options} - SHELL_ONLY


def test_every_flag_is_known():
    """A flag that is missing here would lose its ``=True``."""
    assert _flags() - {"exact", "-q"} == FLAGS  # which is criteria="exact" in Python


def _texts(tree: ast.AST) -> list[str]:
    """Return the texts of calls that have a hint, or of what is named like one."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in ("hint", "where"):
            found += [
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
    return found


@pytest.mark.parametrize("folder", ["rlx", "targets"])
def test_no_hint_keeps_an_option_that_has_a_keyword(folder):
    kept = [
        text
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "rlx/cli" not in path.as_posix()
        for text in _texts(ast.parse(path.read_text(encoding="utf-8")))
        if re.search("--[a-z]", in_python(text)) and "rlx " not in text and "pytest" not in text
    ]
    shell = [f"--{name}" for name in SHELL_ONLY]
    assert [text for text in kept if not any(flag in text for flag in shell)] == []
