"""Workers that are ended at a chosen place of a task."""

import os
import subprocess
import sys

import pytest

from rlx.support.parallel.worker import STATUS
from support import ROOT

# It sends itself a signal at the N-th return of `next` (a context is entered, or left) after the
# task's temporary folder is made: before, at and after the start of the ``with`` statement.
ENDED = """
import os
import signal
import sys
from rlx.support.parallel import Task, worker
from rlx.support.parallel.tasks import Call
from support.tasks import start_program
left = None
def count(frame, event, argument):
    global left
    if event == "c_return" and argument is os.mkdir:
        left = int(sys.argv[1])
    elif left is not None and event in ("c_return", "c_exception") and argument is next:
        left -= 1
        if left == 0:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, worker._end)
call = Call.of(start_program, Task("one", sys.argv[2]))
sys.setprofile(count)
worker.run_in_process(call)
"""


@pytest.mark.slow
@pytest.mark.parametrize("entered", range(1, 6))
def test_a_worker_removes_the_folder_of_a_context_that_it_was_entering(entered, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {
        **os.environ, "TMPDIR": str(scratch),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path]),
    }  # fmt: skip
    command = [sys.executable, "-c", ENDED, str(entered), str(tmp_path)]
    process = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    assert (process.returncode, process.stderr) == (STATUS, b"")
    assert not list(scratch.iterdir())
