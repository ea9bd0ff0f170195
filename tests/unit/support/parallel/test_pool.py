"""Process pools whose workers end early, and that end early themselves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlx.support.errors import UsageError, WorkerError
from rlx.support.parallel import Task, workers
from support import ROOT
from support.messages import raises
from support.tasks import end_always, end_once, process_id, refused, squared

pytestmark = pytest.mark.slow


def named(arguments):
    return [Task(f"number {argument}", argument) for argument in arguments]


def test_results_are_in_order():
    finished = []
    with workers(2) as pool:
        numbers = list(range(20))
        assert pool.results(squared, named(numbers), finished.append) == [n * n for n in numbers]
        # The processes serve the next tasks too.
        ids = set(pool.results(process_id, named(range(8))))
        assert len(ids) == 2
        assert ids == set(pool.results(process_id, named(range(8))))
    assert sorted(finished) == numbers
    assert not any(Path(f"/proc/{one}").exists() for one in ids)


def test_the_first_error_in_order_is_raised():
    with workers(3) as pool, raises(UsageError):
        pool.results(refused, named([0, 2, 5, 7, 9, 4]))


def test_a_task_that_lost_its_worker_is_run_again(tmp_path):
    for number in (1, 4, 5):
        (tmp_path / str(number)).touch()
    tasks = [Task(f"number {n}", (n, str(tmp_path))) for n in range(8)]
    with workers(2) as pool:
        assert pool.results(end_once, tasks) == list(range(8))
    assert not list(tmp_path.iterdir())


def test_a_task_that_ends_three_workers_is_reported():
    finished = []
    with workers(2) as pool:
        with raises(WorkerError):
            pool.results(end_always, named(range(8)), finished.append)
        assert pool.results(squared, named([5])) == [25]
    # Those in order before it, and its neighbours, which were not at fault.
    assert {0, 1, 2} <= set(finished)
    assert 3 not in finished


PROGRAM = """
import sys
from pathlib import Path
from rlx.cli.signals import Ended, raised
from rlx.support.parallel import Task, workers
from support.tasks import start_program
if __name__ == "__main__":
    try:
        with raised(), workers(2) as pool:
            Path(sys.argv[1], "ready").touch()
            pool.results(start_program, [Task(str(n), sys.argv[1]) for n in range(6)])
    except Ended as ended:
        sys.exit(ended.exit_status)
"""


def started(program, marked):
    """Return the processes of a session, and those that bear a mark in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = entry.joinpath("stat").read_text().rpartition(")")[2].split()
                environment = entry.joinpath("environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if fields[0] != "Z" and (int(fields[3]) == program or marked in environment):
                found.add(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("busy", [True, False])
def test_a_signal_leaves_no_process_and_no_folder(number, busy, tmp_path):
    script, running, scratch = tmp_path / "script.py", tmp_path / "running", tmp_path / "scratch"
    script.write_text(PROGRAM)
    running.mkdir()
    scratch.mkdir()
    mark = f"RLX_TEST_POOL={tmp_path}"
    environment = {
        **os.environ, "TMPDIR": str(scratch), "RLX_TEST_POOL": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path]),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, script, running],
        env=environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_until((running / "ready").exists)
        if busy:
            wait_until(lambda: len(list(running.glob("worker-*"))) == 2)
            wait_until(lambda: len(list(scratch.glob("rlx-tool-*"))) == 2)
        if number == signal.SIGKILL:
            process.kill()
        else:
            os.killpg(process.pid, number)
        _, messages = process.communicate(timeout=30)
        wait_until(lambda: not started(process.pid, mark.encode()))
        assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
        if number != signal.SIGKILL:
            assert messages == b""
            assert not list(scratch.iterdir())
    finally:
        process.kill()


# It sends itself a signal at the N-th call after the first task.
INTERRUPTED = """
import signal
import sys
from rlx.cli.signals import Ended, raised
from rlx.support.parallel import Task, workers
from support.tasks import squared
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call"
    if calls == int(sys.argv[1]):
        sys.setprofile(None)
        signal.raise_signal(signal.SIGTERM)
if __name__ == "__main__":
    try:
        with raised(), workers(2) as pool:
            sys.setprofile(count)
            pool.results(squared, [Task(str(n), n) for n in range(2)])
    except Ended as ended:
        sys.exit(ended.exit_status)
"""


@pytest.mark.parametrize("call", range(20, 640, 20))
def test_a_signal_at_any_call_of_a_start_ends_quietly(call, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    process = subprocess.run(
        [sys.executable, script, str(call)], env=environment, capture_output=True, timeout=60
    )
    assert process.stderr == b""
    assert process.returncode == 128 + signal.SIGTERM


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
