"""Options that formats and targets declare, on the commands that read a model."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, make_dataclass
from types import SimpleNamespace

import pytest

from rlx import targets
from rlx.cli import main
from rlx.frontends import registry
from rlx.ir import DType, Graph, GraphModule, QuantParams, TensorType
from rlx.ops.q import QClamp
from rlx.support import plugins
from support.messages import said


def percent(text: str) -> float:
    """Return a share of 1 from text such as ``50%``."""
    if not text.endswith("%"):
        raise ValueError(f"{text!r} is no percentage: write for example 50%")
    return float(text[:-1]) / 100


@dataclass(frozen=True)
class PlugOptions:
    width: int = field(default=2, metadata={"help": "Values of a frame [2].", "metavar": "N"})
    clamp: bool = field(default=False, metadata={"help": "Let no value below 0 through."})
    order: str = field(default="up", metadata={"choices": ("up", "down")})
    share: float = field(default=1.0, metadata={"parse": percent})
    model: str = field(default="net", metadata={"help": "Name of the graph."})


class Plug:
    """A format whose files hold nothing: the options say what the graph is."""

    name = "plug"
    suffixes = (".plug",)
    options = PlugOptions

    def __init__(self) -> None:
        self.loaded = []

    def claims(self, start):
        return start.startswith(b"PLUG")

    def load(self, path, options, limits):
        self.loaded.append((path.name, options, limits.rank))
        graph = Graph(options.model)
        type_ = TensorType((1, options.width), DType.I8, QuantParams.per_tensor(0.5, 0))
        x = graph.input("x", type_)
        graph.output(graph.apply(QClamp(low=0 if options.clamp else -128), x, name="y"))
        return GraphModule.mir(graph)


@pytest.fixture
def plug(monkeypatch):
    """The format as an installed package's."""
    found = Plug()
    load_all = plugins.load_all
    monkeypatch.setattr(
        plugins, "load_all", lambda group: [found] if group == registry.GROUP else load_all(group)
    )
    return found


@pytest.fixture
def model(tmp_path, plug):
    path = tmp_path / "some.plug"
    path.write_bytes(b"PLUG")
    return path


def error_of(capsys, *arguments):
    """Run a command that fails as a wrong usage does, and return its message."""
    assert main([*map(str, arguments)]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "emit", "estimate", "inspect", "run"])
@pytest.mark.parametrize("behind", [True, False])
def test_every_command_that_reads_a_model_takes_them(tmp_path, plug, model, command, behind):
    options = ["--width", "5", "--clamp", "--order", "down", "--share=50%", "--limit", "rank=4"]
    arguments = [str(model), *options] if behind else [*options, str(model)]
    if command in ("check", "emit", "estimate"):
        arguments += ["--target", "cortexm"]
    if command == "emit":
        arguments += ["-o", str(tmp_path / "out")]
    assert main([command, *arguments]) == 0
    assert plug.loaded == [("some.plug", PlugOptions(5, True, "down", 0.5), 4)]


def test_what_is_not_given_has_the_default_of_the_format(plug, model):
    assert main(["inspect", str(model)]) == 0
    assert plug.loaded == [("some.plug", PlugOptions(), 8)]


def test_an_option_may_have_the_name_of_an_argument(capsys, model):
    assert main(["inspect", str(model), "--model", "mine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "mine"


@pytest.mark.parametrize("command", ["check", "emit", "estimate", "inspect", "run"])
def test_help_shows_the_options_of_a_format(capsys, command, plug, digits_model):
    assert main([command, "--format", "plug", "--help"]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "--width N Values of a frame [2]." in shown
    assert "--clamp / --no-clamp Let no value below 0 through." in shown
    assert "--order [up|down]" in shown
    assert main([command, str(digits_model), "--help"]) == 0
    assert "--width" not in capsys.readouterr().out


def test_help_shows_the_options_of_the_file(capsys, model):
    assert main(["inspect", str(model), "--help"]) == 0
    assert "--width N" in capsys.readouterr().out


def test_an_option_of_another_format_is_refused(capsys, plug, digits_model):
    assert error_of(capsys, "inspect", digits_model, "--width", 5) == (
        "error[RLX-E001]: --width is an option of models of the format plug, but the model's format"
        " is rlx\n"
        "  try: leave the option out, or name the file's format: --format plug\n"
    )


def test_an_option_of_no_format_is_refused(capsys, model):
    assert "no such option" in error_of(capsys, "inspect", model, "--wings", 5)


def test_a_missing_file_is_named_before_its_options(capsys, tmp_path, plug):
    path = tmp_path / "gone.plug"
    assert error_of(capsys, "inspect", path, "--width", 5) == (
        f"error[RLX-E001]: no file {str(path)!r}\n  try: give the path of a model file\n"
    )


def test_a_file_of_no_format_is_named_before_its_options(capsys, tmp_path, plug):
    path = tmp_path / "weights.pkl"
    path.write_bytes(b"\x80\x04")
    assert main(["inspect", str(path), "--width", "5"]) == 4
    assert capsys.readouterr().err.startswith("error[RLX-E008]: weights.pkl: is a Python pickle; ")


def test_a_value_that_the_format_refuses_is_named_by_its_option(capsys, model):
    assert error_of(capsys, "inspect", model, "--share", "half") == (
        "error[RLX-E001]: --share: 'half' is no percentage\n  try: write for example 50%\n"
    )


def test_a_format_is_taken_by_name(capsys, tmp_path, plug):
    path = tmp_path / "any"
    path.write_bytes(b"")
    assert main(["inspect", str(path), "--format", "plug", "--width", "3"]) == 0
    assert plug.loaded == [("any", PlugOptions(3), 8)]
    assert error_of(capsys, "inspect", path, "--format", "pickle") == (
        "error[RLX-E001]: no format is called 'pickle'\n  try: formats: tflite, rlx, onnx, plug\n"
    )


def test_the_other_model_of_a_comparison_has_a_format_of_its_own(plug, model, digits_model):
    other = model.rename(model.with_name("other.plug"))
    model.write_bytes(b"PLUG")
    assert main(["diff", str(model), str(other), "--width", "3"]) == 0
    assert main(["diff", str(digits_model), str(other)]) == 0
    assert [options for _, options, _ in plug.loaded] == [
        PlugOptions(3), PlugOptions(3), PlugOptions(),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "other"), [("frames", "the command"), ("optimize", "target 'cortexm'")]
)
def test_two_options_of_one_name_are_refused(capsys, tmp_path, plug, model, name, other):
    plug.options = make_dataclass("Clashing", [(name, str, "")], frozen=True)
    arguments = ("emit", model, "--target", "cortexm", "-o", tmp_path / "out")
    assert error_of(capsys, *arguments) == (
        f"error[RLX-E001]: {other} and format 'plug' both have an option --{name}\n"
        "  try: load the model in Python, rlx.load(path, options=...), save it with rlx.save, and"
        " give the command the .rlx file\n"
    )


@dataclass(frozen=True)
class AcmeOptions:
    part: str = ""
    turbo: bool = False


ACME = SimpleNamespace(name="acme", options=AcmeOptions)
"""A target of another package."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["estimate", "net.onnx", "--cpu", "cortex-m4"],
        ["emit", "net.onnx", "--part", "nrf52840", "-o", "out"],
        ["check", "net.onnx", "--no-turbo"],
        ["estimate", "net.onnx", "--target", "fpga", "--cpu", "cortex-m4"],
        ["estimate", "net.onnx", "--target", "cortexm", "--device", "stm32f411"],
        ["inspect", "net.onnx", "--cpu", "cortex-m4"],
        ["estimate", "net.onnx", "--prat", "nrf52840"],
    ],
)
def test_an_option_of_another_target_names_that_target(arguments, monkeypatch, capsys):
    own_targets = targets.load_all()
    monkeypatch.setattr(targets, "load_all", lambda: [*own_targets, ACME])
    assert main(arguments) == 2
    said(capsys.readouterr().err)
