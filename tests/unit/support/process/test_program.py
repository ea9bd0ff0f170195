"""Programs that hang, fork, flood or are missing must not take rlx with them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlx.support.errors import SimulationError, TimeLimitError, ToolMissingError
from rlx.support.process import kept_environment, run
from support.messages import raises

PYTHON = sys.executable

# Starts a child that ignores TERM, prints its process id, and hangs.
STUBBORN_CHILD = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
{after}
time.sleep(60)
"""


def is_alive(pid):
    """Whether the process runs; a zombie that nobody reaps is dead."""
    try:
        with Path(f"/proc/{pid}/stat").open() as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_dead(pid):
    for _ in range(100):
        if not is_alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_run_returns_status_and_both_streams():
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    done = run([PYTHON, "-c", code], timeout_s=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")
    assert done.argv == (PYTHON, "-c", code)
    assert 0 < done.seconds < 20


def test_lines_are_told_as_they_come():
    code = (
        "import sys, time; print('first', flush=True); sys.stdin.read();"
        " sys.stderr.write('a é\\nb'); sys.stderr.flush(); time.sleep(0.3);"
        " print('c', file=sys.stderr); print('no end', end='')"
    )
    reported = []
    run_options = {"timeout_s": 20, "on_line": lambda line: reported.append((line, time.time()))}
    done = run([PYTHON, "-c", code], **run_options)
    assert sorted(line for line, _ in reported) == ["a é", "bc", "first"]
    assert dict(reported)["bc"] - dict(reported)["first"] > 0.2
    assert (done.stdout, done.stderr) == ("first\nno end", "a é\nbc\n")


def test_an_error_in_what_is_told_ends_the_program():
    def refuse(line):
        raise KeyError(line)

    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with pytest.raises(KeyError) as caught:
        run([PYTHON, "-c", code], timeout_s=20, on_line=refuse)
    assert wait_dead(int(caught.value.args[0]))


def test_run_gives_input_and_else_an_empty_one():
    code = "import sys; print(len(sys.stdin.buffer.read()))"
    assert run([PYTHON, "-c", code], timeout_s=20, input=bytes(300_000)).stdout == "300000\n"
    assert run([PYTHON, "-c", code], timeout_s=20, input="aé").stdout == "3\n"
    assert run([PYTHON, "-c", code], timeout_s=20).stdout == "0\n"


def test_run_uses_cwd(tmp_path):
    done = run([PYTHON, "-c", "import os; print(os.getcwd())"], timeout_s=20, cwd=tmp_path)
    assert done.stdout.strip() == os.path.realpath(tmp_path)


def test_run_passes_only_the_allow_list(monkeypatch):
    monkeypatch.setenv("RLX_TEST_SECRET", "1")
    code = "import os; print(os.environ.get('RLX_TEST_SECRET'), os.environ.get('RLX_TEST_GIVEN'))"
    given = {"RLX_TEST_GIVEN": "2"}
    assert run([PYTHON, "-c", code], timeout_s=20, env=given).stdout == "None 2\n"
    assert run([PYTHON, "-c", code], timeout_s=20, inherit_env=True).stdout == "1 None\n"
    assert kept_environment()["LC_ALL"] == "C"


def test_run_starts_no_shell(tmp_path):
    canary = tmp_path / "canary"
    done = run([PYTHON, "-c", "import sys; print(sys.argv[1])", f"; touch {canary}"], timeout_s=20)
    assert done.stdout == f"; touch {canary}\n"
    assert not canary.exists()


def test_failure_shows_status_and_last_lines():
    code = "import sys; [print('line', n, file=sys.stderr) for n in range(40)]; sys.exit(3)"
    with raises(SimulationError):
        run([PYTHON, "-c", code], timeout_s=20, hint="look at it")
    assert run([PYTHON, "-c", code], timeout_s=20, check=False).returncode == 3


def test_failure_names_the_signal():
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with raises(SimulationError):
        run([PYTHON, "-c", code], timeout_s=20)


def test_missing_program_is_named():
    with raises(ToolMissingError):
        run(["no-such-tool"], timeout_s=1)


def test_file_that_is_no_program_is_named(tmp_path):
    file = tmp_path / "tool"
    file.write_text("not executable")
    with raises(ToolMissingError):
        run([file], timeout_s=1, hint="get it")


@pytest.mark.parametrize(
    "arguments",
    [
        {"argv": [], "timeout_s": 1},
        {"argv": ["x"], "timeout_s": 0},
        {"argv": ["x"], "timeout_s": 1, "output_limit": 0},
        {"argv": ["x"], "timeout_s": 1, "cwd": "/no/such"},
    ],
)
def test_misuse_is_a_value_error(arguments):
    with raises(ValueError):
        run(**arguments)


def test_hung_program_is_ended_in_time():
    code = "import time; print('going to sleep', flush=True); time.sleep(60)"
    started = time.monotonic()
    with raises(TimeLimitError):
        run([PYTHON, "-c", code], timeout_s=0.6)
    assert time.monotonic() - started < 2.6


def test_program_that_closed_its_streams_is_ended_in_time():
    code = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    started = time.monotonic()
    with pytest.raises(TimeLimitError):
        run([PYTHON, "-c", code], timeout_s=0.5)
    assert time.monotonic() - started < 2.5


def test_program_and_child_that_ignore_term_are_killed():
    started = time.monotonic()
    with pytest.raises(TimeLimitError) as caught:
        run([PYTHON, "-c", STUBBORN_CHILD.format(after="")], timeout_s=0.8)
    assert time.monotonic() - started < 2.8
    child = int(str(caught.value).split("| ")[1].split()[0])
    assert wait_dead(child)


def test_child_left_behind_is_killed_and_does_not_delay():
    code = STUBBORN_CHILD.format(after="    sys.exit(0)")
    started = time.monotonic()
    done = run([PYTHON, "-c", code], timeout_s=20)
    assert time.monotonic() - started < 2
    assert wait_dead(int(done.stdout))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_flood_is_stopped(stream):
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 65535 + chr(10))"
    started = time.monotonic()
    with raises(SimulationError) as caught:
        run([PYTHON, "-c", code], timeout_s=20, output_limit=100_000)
    assert time.monotonic() - started < 5
    assert len(str(caught.value)) < 4000


def test_output_up_to_the_limit_is_kept():
    code = "import sys; sys.stdout.write('x' * 100_000)"
    assert len(run([PYTHON, "-c", code], timeout_s=20, output_limit=100_000).stdout) == 100_000


def test_keyboard_interrupt_kills_the_group(tmp_path):
    reported = tmp_path / "child"
    child_code = STUBBORN_CHILD.format(after="").replace(
        "print(child, flush=True)", f"open({str(reported)!r}, 'w').write(str(child) + '.')"
    )
    # A shell without job control starts what runs in the background deaf to interrupts.
    script = (
        "import signal; from rlx.support.process import run;"
        " signal.signal(signal.SIGINT, signal.default_int_handler);"
        f" run([{PYTHON!r}, '-c', {child_code!r}], timeout_s=50)"
    )
    with subprocess.Popen([PYTHON, "-c", script], stderr=subprocess.PIPE) as process:
        for _ in range(500):
            if reported.exists() and reported.read_text().endswith("."):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in errors
    assert wait_dead(int(reported.read_text()[:-1]))
