"""Steps with their times: on a terminal, in a pipe, with ``--quiet``."""

import io
import os
import re
import sys
import time

import pytest

from rlx.cli import main
from rlx.cli.progress import StepList
from rlx.support.steps import Steps, length_text, steps_of

SCRIPT = """
import time
from rlx.cli.progress import progress
with progress(minimum_s=0.0) as steps:
    steps.expect(170, "--seeds 1 takes a third")
    steps("yosys: ecp5-85k")
    time.sleep(0.25)
    steps("nextpnr-ecp5: seed 1 of 3")
    steps.detail("routing, 4200 arcs left")
    time.sleep(0.25)
    {end}
"""


class Recorder(io.StringIO):
    encoding = "utf-8"


def timeless(text):
    return re.sub(r"\d+(\.\d)? s\b", "N s", text)


def run_on_terminal(script, **variables):
    """Run Python on a pseudo-terminal of 60 columns; return what it wrote."""
    pty = pytest.importorskip("pty")
    child, terminal = pty.fork()
    if not child:
        os.environ.update({"COLUMNS": "60", "TERM": "xterm", **variables})
        os.execv(sys.executable, [sys.executable, "-c", script])
    written = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux says so at the end
            break
        if not part:
            break
        written += part
    os.waitpid(child, 0)
    os.close(terminal)
    return written.decode().replace("\r\n", "\n")


def screen(written):
    """Return the lines that are left on the screen."""
    return [line.split("\r\x1b[K")[-1] for line in written.split("\n")]


def test_a_terminal_shows_the_running_step_and_keeps_the_ended_ones():
    written = run_on_terminal(SCRIPT.format(end="pass"), NO_COLOR="1")
    frames = timeless(written).split("\r\x1b[K")
    assert "⠋ yosys: ecp5-85k  N s" in frames
    assert "⠋ nextpnr-ecp5: seed 1 of 3  routing, 4200 arcs left  N s" in [
        re.sub("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋", frame) for frame in frames
    ]
    assert [timeless(line) for line in screen(written)] == [
        "about 3 minutes; --seeds 1 takes a third",
        "✓ yosys: ecp5-85k  N s",
        "✓ nextpnr-ecp5: seed 1 of 3  N s",
        "",
    ]


def test_a_step_that_fails_is_marked_and_lines_fit():
    written = run_on_terminal(SCRIPT.format(end="raise SystemExit(3)"), NO_COLOR="1", COLUMNS="30")
    assert timeless(screen(written)[-2]) == "✗ nextpnr-ecp5: seed 1 of 3  N s"
    drawn = [f for f in written.split("\r\x1b[K") if f.startswith(tuple("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"))]
    assert drawn
    assert max(map(len, drawn)) < 30


def test_marks_have_a_colour_unless_there_should_be_none():
    script = SCRIPT.format(end="pass")
    assert "\x1b[32m✓\x1b[0m yosys" in run_on_terminal(script, NO_COLOR="")
    assert "still" not in run_on_terminal(script, TERM="dumb", NO_COLOR="")


def test_a_terminal_without_these_characters_gets_others():
    written = run_on_terminal(SCRIPT.format(end="pass"), NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert "ok yosys: ecp5-85k" in written
    assert written.isascii()


def test_a_pipe_gets_a_line_for_each_step_and_signs_of_life():
    stream = Recorder()
    steps = StepList(stream, live=False, life_s=0.05)
    steps("host: 16 inputs")
    steps("qemu: 16 inputs")
    steps.detail("3 of 16")
    time.sleep(0.3)
    steps.close(succeeded=True)
    first, second, *_, last = timeless(stream.getvalue()).splitlines()
    assert first == "host: 16 inputs: N s"
    assert second == "still qemu: 16 inputs, N s (3 of 16)"
    assert last == "qemu: 16 inputs: N s"
    assert "\r" not in stream.getvalue()


def test_short_steps_leave_no_line_if_so_wanted():
    stream = Recorder()
    steps = StepList(stream, live=False, minimum_s=0.1)
    steps.expect(5)
    steps("short")
    steps("long")
    time.sleep(0.15)
    steps("last")
    steps.close(succeeded=False)
    assert timeless(stream.getvalue()) == "long: N s\n"


def test_the_reader_of_standard_error_may_be_gone():
    class Gone(Recorder):
        def write(self, text):
            raise BrokenPipeError

    steps = StepList(Gone(), live=True)
    steps("a")
    steps.close(succeeded=True)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory, digits_model):
    folder = tmp_path_factory.mktemp("emitted") / "c"
    assert main(["emit", str(digits_model), "--target", "cortexm", "-o", str(folder)]) == 0
    return folder


@pytest.mark.sim
@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [((), (), ["host: 1 inputs: N s"]), (("--quiet",), (), []), (("-q",), (), []),
     ((), ("--quiet",), []), ((), ("-q",), []), ((), ("--json",), [])],
)  # fmt: skip
def test_verify_reports_its_steps(capsys, emitted, before, after, lines):
    command = [*before, "verify", str(emitted), "--with", "host", "--frames", "1", "--no-cache"]
    assert main([*command, *after]) == 0
    captured = capsys.readouterr()
    assert timeless(captured.err).splitlines() == lines
    assert "host" not in captured.out or after


def test_any_function_reports_steps():
    found = []
    steps = steps_of(found.append)
    steps("a")
    steps.detail("b")
    steps.expect(100)
    assert found == ["a"]
    assert steps_of(steps) is steps
    assert type(steps_of(None)) is Steps


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "about 10 seconds"), (42, "about 40 seconds"), (70, "about 1 minute"),
     (170, "about 3 minutes"), (9000, "about 2.5 hours")],
)  # fmt: skip
def test_lengths_of_time(seconds, text):
    assert length_text(seconds) == text
