"""Steps with their times: on a terminal, in a pipe, with ``--quiet``."""

import io
import json
import os
import re
import sys
import time

import msgspec
import pytest

from rlx.cli import main
from rlx.cli.progress import StepList
from rlx.cli.progress_json import JsonSteps
from rlx.cli.running_step import RunningStep, time_text
from rlx.cli.schemas.progress import Progress
from rlx.support.steps import Steps, advancing, length_text, reporting, steps_of

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
    written = run_on_terminal(SCRIPT.format(end="pass"), NO_COLOR="1", COLUMNS="100")
    frames = timeless(written).split("\r\x1b[K")
    assert "⠋ yosys: ecp5-85k  about 3 minutes left in all  N s" in frames
    whole = "about 3 minutes left in all"
    assert f"⠋ nextpnr-ecp5: seed 1 of 3  routing, 4200 arcs left, {whole}  N s" in [
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
    [((), (), ["host: 1 frame: N s"]), (("--quiet",), (), []), (("-q",), (), []),
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


BAR_SCRIPT = """
import time
from rlx.cli.progress import progress_bar
with progress_bar() as show:
    for count in range(13):
        show("measuring ranges", 100 * count, 1200)
        time.sleep(0.13)
"""


def test_a_terminal_shows_a_bar_a_rate_and_the_remaining_time():
    written = run_on_terminal(BAR_SCRIPT, NO_COLOR="1", COLUMNS="90")
    frames = written.split("\r\x1b[K")
    pattern = r". measuring ranges  (━*)(─*)  1,100 of 1,200, [\d,]+/s, 0\.\d s left  1\.\d s"
    last = [match for match in (re.fullmatch(pattern, frame) for frame in frames) if match]
    assert last
    assert [len(part) for part in last[0].groups()] == [14, 2]
    assert any("100 of 1,200  0." in frame for frame in frames)  # no rate in the first second


def test_a_terminal_without_these_characters_gets_a_plain_bar():
    written = run_on_terminal(BAR_SCRIPT, NO_COLOR="1", PYTHONIOENCODING="ascii", COLUMNS="90")
    assert "##############--  1,100 of 1,200, " in written
    assert written.isascii()


def test_the_time_before_the_first_count_is_not_part_of_the_rate(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("rlx.cli.running_step.time.monotonic", lambda: now[0])
    step = RunningStep("qemu: 32 inputs")
    now[0] += 50
    step.count(2, 32)
    assert (step.rate, step.remaining, step.figures) == (None, None, "2 of 32")
    now[0] += 4
    step.count(10, 32)
    assert (step.rate, step.remaining) == (2.0, 11.0)
    assert step.figures == "10 of 32, 2.0/s, 11 s left"
    step.count(32, 32)
    assert step.figures == "32 of 32, 7.5/s"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.96, "10 s"), (599, "599 s"), (3600, "60 min")]
)
def test_times(seconds, text):
    assert time_text(seconds) == text


def test_without_a_count_the_time_of_all_steps_is_shown():
    stream = Recorder()
    steps = StepList(stream, live=False, life_s=0.1)
    steps.expect(170)
    steps("yosys: ecp5-85k")
    time.sleep(0.15)
    steps.close(succeeded=True)
    assert "still yosys: ecp5-85k, N s (about 3 minutes left in all)" in timeless(stream.getvalue())


def test_json_lines_say_what_is_done_and_what_remains(monkeypatch):
    now = [100.0]
    for module in ("running_step", "progress_json"):
        monkeypatch.setattr(f"rlx.cli.{module}.time.monotonic", lambda: now[0])
    stream = Recorder()
    steps = JsonSteps(stream)
    steps.expect(170)
    steps("qemu: 32 inputs")
    now[0] += 1
    steps.count(2, 32)
    steps.count(3, 32)  # too soon for another line
    now[0] += 4
    steps.count(10, 32)
    steps.close(succeeded=False)
    objects = [json.loads(line) for line in stream.getvalue().splitlines()]
    for one in objects:
        msgspec.convert(one, Progress, strict=True)
    lines = [one["progress"] for one in objects]
    assert [(p["state"], p["done"], p["remaining"]) for p in lines] == [
        ("running", None, None), ("running", 2, None), ("running", 10, 11.0), ("failed", 10, None),
    ]  # fmt: skip
    assert {p["expected"] for p in lines} == {170}
    assert {p["step"] for p in lines} == {"qemu: 32 inputs"}


def test_advance_reports_to_the_steps_of_the_command():
    counts = []

    class Counted(Steps):
        def count(self, completed, total):
            counts.append((completed, total))

    with reporting(Counted()):
        assert list(advancing("ab")) == ["a", "b"]
    assert list(advancing("ab")) == ["a", "b"]
    assert counts == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("mode", ["json", "plain", "bar", "none"])
@pytest.mark.parametrize("after", [(), ("--json",)])
def test_the_form_is_chosen(capsys, tmp_path, digits_model, mode, after):
    command = ["import", str(digits_model), "-o", str(tmp_path / "new.rlx"), "--progress", mode]
    assert main([*command, *after]) == 0
    captured = capsys.readouterr()
    if after:
        assert json.loads(captured.out)["op_count"] > 1
    states = [json.loads(line)["progress"] for line in captured.err.splitlines() if mode == "json"]
    assert [(p["step"], p["state"]) for p in states] == (
        [] if mode != "json" else
        [("reading digits.rlx", "running"), ("reading digits.rlx", "done"),
         ("writing new.rlx", "running"), ("writing new.rlx", "done")]
    )  # fmt: skip
    if mode == "plain":
        assert timeless(captured.err).splitlines() == [
            "reading digits.rlx ...", "reading digits.rlx: N s",
            "writing new.rlx ...", "writing new.rlx: N s",
        ]  # fmt: skip
    if mode == "none":
        assert captured.err == ""
    if mode == "bar":
        assert "\r\x1b[K" in captured.err
        assert "reading digits.rlx" in captured.err


def test_quiet_wins_over_a_form(capsys, tmp_path, digits_model):
    command = ["import", str(digits_model), "-o", str(tmp_path / "new.rlx"), "--progress", "json"]
    assert main([*command, "-q"]) == 0
    assert capsys.readouterr().err == ""
