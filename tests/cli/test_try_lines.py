"""The line ``try:`` of an error helps: who follows it does not meet the same error again.

Each code of an error has an input that raises it. Where its line names a command of rlx or an
option, the test runs that, and then what failed before.
"""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.cli import explanations, main
from rlx.ir import DType, Graph, QuantParams, TensorType
from rlx.ir.file import save
from rlx.ir.module import GraphModule, Stage
from rlx.ops.real import RealDequantize, RealQuantize
from rlx_sim import toolchain
from support import ROOT
from support.networks.quantized_net import float_network, samples

ELSEWHERE = {
    "E010", "E011", "E012",  # Graphs that a program makes: no command raises them.
    "E071",  # A device that is full.
    "E080", "E081", "E082", "E083",  # Tools, workers and devices that fail or hang.
    "E090",  # Criteria of a comparison in Python.
    "E900", "E901",  # A fault of rlx, and a signal.
}  # fmt: skip
"""Errors whose line names nothing that can be run; ``test_explanations.py`` raises them."""


@dataclass(frozen=True)
class Mistake:
    """A command that fails.

    Attributes:
        code: Code of its error.
        command: Its arguments.
        follows: Whether the line names a command or an option; else it has words for a person.
        before: A command that is run first.
    """

    code: str
    command: str
    follows: bool = True
    before: str = ""


MISTAKES = [
    Mistake("E001", "emit digits.tflite -o out"),
    Mistake("E001", "export digits.tflite -o net.tflite --opset 17", follows=False),
    Mistake("E001", "inspect nothing.tflite", follows=False),
    Mistake("E001", "inspect digits.tflite --memory"),
    Mistake("E001", "emit digits.tflite --target cortexm --cpu cortex-m5 -o out", follows=False),
    Mistake("E007", "inspect cut.tflite", follows=False),
    Mistake("E008", "inspect net.h5", follows=False),
    Mistake("E030", "emit float.rlx --target cortexm -o out"),
    Mistake("E030", "quantize float.rlx -o new.rlx"),
    Mistake("E041", "emit digits.tflite --target fpga --architecture parallel -o out"),
    Mistake("E030", "quantize float.rlx --test SAMPLES.npz -o new.rlx"),
    Mistake("E041", "quantize integers.rlx --calib SAMPLES.npz -o new.rlx"),
    Mistake("E041", "export float.rlx -o net.tflite"),
    Mistake("E030", "emit loop.rlx --target cortexm -o out"),
    Mistake("E030", "emit scales.rlx --target fpga -o out"),
    Mistake("E050", "emit fixed.rlx --target cortexm --io arena -o out"),
    Mistake("E060", "emit digits.tflite --target asic -o out", follows=False),
    Mistake("E061", "verify out --with qemu", before="emit digits.tflite --target cortexm -o out",
            follows=False),
    Mistake("E070", "emit digits.tflite --target cortexm -o out",
            before="emit digits.tflite --target cortexm -o out"),
    Mistake("E070", "verify digits.tflite", follows=False),
    Mistake("E112", "emit digits.tflite --target cortexm --ram 100 -o out"),
    Mistake("E112", "emit digits.tflite --target fpga --fps 1000000 -o out"),
    Mistake("E112", "emit digits.tflite --target fpga --device ecp5-25k --dsp 4 --lut 3000 --bram 4"
            " -o out"),
    Mistake("E112", "emit digits.tflite --target fpga --device ecp5-25k --dsp 1 --bram 1 -o out"),
]  # fmt: skip


def test_every_code_is_raised():
    assert {mistake.code for mistake in MISTAKES} | ELSEWHERE == set(explanations.error_codes())


def _weights(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _attention(x):
    keys = x @ _weights(8, 8)
    return (x @ keys.transpose(0, 2, 1)).softmax()


def _choice(x):
    y = x.linear(_weights(8, 8))
    return y.where(y > x, x)


def _loop(image):
    """Return the last state of a recurrent layer over the rows of an image."""

    def step(state, row):
        state = (row.linear(_weights(4, 24)) + state.linear(_weights(4, 4))).tanh()
        return state, state

    rows = image.reshape(8, 1, 24)
    return rlx.scan(step, rows[0, :, :4], rows)[0]


def _scales(image):
    """Return two layers of an image that is quantized; nothing else has a scale."""
    quant = QuantParams.per_tensor(1 / 256, -128)
    x = image.reshape(1, 192).apply(RealQuantize(quant=quant)).apply(RealDequantize(quant=quant))
    return x.linear(_weights(8, 192)).tanh().linear(_weights(4, 8))


REFUSED = {
    "attention": (_attention, rlx.f32(1, 4, 8), "its weights are computed"),
    "choice": (_choice, rlx.f32(1, 8), "no integer op does"),
    "running_sum": (lambda x: x.linear(_weights(8, 8)).cumsum(1), rlx.f32(1, 8), "no integer op"),
    "volume": (lambda x: x.conv(_weights(4, 2, 2, 2, 3)), rlx.f32(1, 4, 4, 4, 3), "3 axes"),
}
"""Float networks without an integer form, the type of the input, and a part of the reason."""


def _save_traced(folder, name, function, type_):
    traced = rlx.trace(name, function, type_)
    graph = rlx.freeze(traced.graph, traced.parameters)
    save(GraphModule(graph, Stage.HIR), folder / f"{name}.rlx")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with the files that commands name."""
    folder = tmp_path_factory.mktemp("files")
    digits = ROOT / "examples" / "digits" / "digits.tflite"
    shutil.copy(digits, folder)
    (folder / "cut.tflite").write_bytes(digits.read_bytes()[:2000])
    (folder / "net.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    save(GraphModule(float_network(), Stage.HIR), folder / "float.rlx")
    np.savez(folder / "SAMPLES.npz", image=samples(32))
    integers = ["--calib", str(folder / "SAMPLES.npz"), "-o", str(folder / "integers.rlx")]
    assert not main(["-q", "quantize", str(folder / "float.rlx"), *integers])
    graph = Graph("fixed")
    x = graph.input("x", TensorType((1, 8), DType.I8))
    graph.output(x, graph.constant(np.ones((1, 8), np.int8)))
    save(GraphModule(graph, Stage.MIR), folder / "fixed.rlx")
    for function in (_loop, _scales):
        _save_traced(folder, function.__name__[1:], function, rlx.f32(1, 8, 8, 3))
    for name, (function, type_, _) in REFUSED.items():
        _save_traced(folder, name, function, type_)
        data = np.random.default_rng(0).standard_normal((16, *type_.static_shape))
        np.savez(folder / f"{name}.npz", x=data.astype(np.float32))
    return folder


@pytest.fixture
def run(files, tmp_path, monkeypatch, capsys):
    """Return a function that runs a command and returns its status and what it prints on error."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def command(arguments):
        status = main(arguments)
        return status, capsys.readouterr().err

    return command


def advised(line, failed):
    """Return the commands that a line ``try:`` asks for after a command that failed.

    The last one is that command again, with the file that was made, or with the option named.
    """
    command = re.search(r"\brlx ([a-z]+ .*)", line)
    model = next(word for word in failed if "." in word)
    if command is None:
        options = re.findall(r"(--[a-z-]+)(?: ([\w.]+))?", line.partition(", or ")[0])
        assert options, f"neither a command nor an option: {line}"
        again = failed
        for name, value in options:
            # ``--force to replace it``: a flag, and words.
            given = [name] if name == "--force" else [name, value]
            again = [*_without(again, name), *given]
        return [again]
    words = shlex.split(command[1])
    if words[0] == failed[0] and model not in words and "--help" not in words:
        return [[*failed, *words[1:]]]
    if "-o" not in words or words[0] in (failed[0], "emit"):
        return [words]
    made = words[words.index("-o") + 1]
    return [words, [made if word == model else word for word in failed]]


def _without(arguments, option):
    """Return arguments without an option and its value."""
    if option not in arguments:
        return arguments
    place = arguments.index(option)
    return [*arguments[:place], *arguments[place + 2 :]]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.command)
def test_who_follows_the_line_does_not_meet_the_error_again(run, monkeypatch, mistake):
    if mistake.before:
        assert run(mistake.before.split())[0] == 0
    if mistake.code == "E061":
        monkeypatch.setenv("PATH", "")
        # Without what was found before with the whole path, and without keeping what is not.
        monkeypatch.setattr(toolchain, "_search", toolchain._search.__wrapped__)
    failed = mistake.command.split()
    status, said = run(failed)
    assert status
    assert f"error[RLX-{mistake.code}]" in said
    (line,) = re.findall(r"^  try: (.*)$", said, re.MULTILINE)
    assert "MODEL" not in line
    if not mistake.follows:
        assert not re.search(r"\brlx [a-z]+ .*(MODEL|-o)", line)
        return
    for arguments in advised(line, failed):
        status, said = run(arguments)
        assert not status, said


@pytest.mark.slow
def test_advice_names_a_file_with_blanks_and_one_in_another_folder(run):
    Path("in here").mkdir()
    shutil.move("float.rlx", "in here/a b.rlx")
    status, said = run(["emit", "in here/a b.rlx", "--target", "cortexm", "-o", "out"])
    assert status
    assert "try: quantize it first: rlx quantize 'in here/a b.rlx' --calib SAMPLES.npz" in said
    assert "-o 'a b.q.rlx'" in said


@pytest.mark.parametrize("command", ["inspect", "quantize -o q.rlx", "emit --target cortexm -o o"])
def test_advice_about_data_in_the_place_of_the_model_asks_for_the_model(run, command):
    np.savez("data.npz", x=np.zeros((1, 4)))
    name, *options = command.split()
    status, said = run([name, str(Path("data.npz").resolve()), *options])
    assert status
    assert "rlx run MODEL --input data.npz, rlx quantize MODEL --calib data.npz" in said


COMMANDS = [
    "emit NET --target cortexm -o out",
    "estimate NET --target cortexm",
    "estimate NET --target fpga",
    "estimate NET --target fpga --devices all",
    "check NET --target cortexm",
    "export NET -o net.tflite",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", REFUSED)
def test_a_network_without_an_integer_form_is_not_sent_to_quantize(run, name, command):
    status, said = run(command.replace("NET", f"{name}.rlx").split())
    assert status
    (line,) = re.findall(r"^  try: (.*)$", said, re.MULTILINE)
    assert "rlx quantize" not in line
    assert REFUSED[name][2] in said
    assert run(["quantize", f"{name}.rlx", "--calib", f"{name}.npz", "-o", "q.rlx"])[0] == 5
