"""Output of commands at each width of a terminal, and in a pipe."""

import re

import pytest

from rlx.cli import main
from rlx.cli import table as cli_table
from support.networks.mlperf_like import file

WIDTHS = (60, 80, 100, 120, 200)


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Return a function that runs a command on a terminal of a width; it returns the lines."""
    monkeypatch.setattr(cli_table, "is_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(width, *arguments):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out.splitlines()

    return run


def piped(capsys, *arguments):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out.splitlines()


COMMANDS = [
    ("estimate", "MODEL", "--target", "cortexm"),
    ("estimate", "MODEL", "--target", "fpga"),
    ("estimate", "MODEL", "--target", "fpga", "--architecture", "engine"),
    ("inspect", "MODEL"),
    ("check", "MODEL", "--target", "cortexm"),
    ("run", "MODEL"),
    ("devices",),
    ("targets",),
    ("targets", "fpga"),
]


def words(lines):
    """Return the words of lines; numbers and names are whole."""
    return set(re.findall(r"[\w.,-]+", " ".join(lines)))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: "-".join(c))
def test_lines_fit_and_no_word_is_folded(terminal, digits_model, command):
    command = [digits_model if part == "MODEL" else part for part in command]
    everything = words(terminal(10_000, *command))
    for width in WIDTHS:
        lines = terminal(width, *command)
        assert max(map(len, lines)) <= width
        # Shortened cells and the line about --wide apart, every word is one of the whole table.
        kept = [line for line in lines if "…" not in line]
        cut = next((i for i, line in enumerate(kept) if line.startswith("not shown")), len(kept))
        assert words(kept[:cut]) <= everything, width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_layers_of_keyword_spotting_fit(terminal, tmp_path, target, width):
    lines = terminal(width, "estimate", file(tmp_path, "kws"), "--target", target)
    assert max(map(len, lines)) <= width
    heading = lines[1].split()
    if width == 80 and target == "cortexm":
        assert lines[1].split("  ")[0] == "layer"
        assert heading == ["layer", "op", "out", "MACs", "instr.", "%", "flash,", "B", "RAM,", "B"]
        assert [line.split()[0] for line in lines[2:16]][-1] == "all"
        assert lines[15].split() == ["all", "2,656,768", "2,775,495", "100", "35,355", "17,792"]
    if width == 200:
        assert not any("not shown" in line for line in lines)


def test_what_is_left_out_is_named_and_wide_shows_it(terminal, digits_model):
    command = ("estimate", digits_model, "--target", "cortexm")
    (line,) = (line for line in terminal(80, *command) if line.startswith("not shown"))
    assert line == (
        "not shown: constants, code, scratch, weight bits, kernel, type (all with --wide)"
    )
    wide = terminal(80, *command, "--wide")
    assert not any(line.startswith("not shown") for line in wide)
    assert "kernel" in wide[1]


def test_a_pipe_gets_all_columns_without_boxes(capsys, monkeypatch, digits_model):
    monkeypatch.setenv("COLUMNS", "40")
    command = ("estimate", digits_model, "--target", "cortexm")
    lines = piped(capsys, *command)
    assert lines == piped(capsys, *command, "--wide")
    assert "kernel" in lines[1]
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_the_layer_that_costs_most_is_bold_on_a_terminal(terminal, monkeypatch, digits_model):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    bold = [
        line
        for line in terminal(80, "estimate", digits_model, "--target", "cortexm")
        if line.startswith("\x1b[1m")
    ]
    names = ["Layers", "conv2", "all"]
    assert [line.split()[0].removeprefix("\x1b[1m") for line in bold] == names
