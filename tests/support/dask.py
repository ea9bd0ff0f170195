"""A cluster of ``dask.distributed`` on this machine, as users start it on several."""

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

from support import ROOT

_SECONDS = 60


@contextmanager
def cluster(workers):
    """Start a scheduler and single-threaded workers; yield the scheduler's address."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)]),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "2",
        "PYTHONWARNINGS": "ignore",
    }
    started = []

    def start(*arguments):
        program = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            env=environment,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        started.append(program)
        return program

    try:
        scheduler = start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"
        )
        address = line_with(scheduler, r"Scheduler at: +(\S+)")
        worker = start(
            "dask_worker", address, "--nworkers", str(workers), "--nthreads", "1", "--no-dashboard"
        )
        for _ in range(workers):
            line_with(worker, r"Starting established connection to (\S+)")
        for program in started:  # a full pipe would block it
            threading.Thread(target=program.stderr.read, daemon=True).start()
        yield address
    finally:
        for program in reversed(started):
            program.terminate()
        for program in reversed(started):
            program.wait(timeout=_SECONDS)
            program.stderr.close()


def line_with(program, pattern):
    """Return the group of the first line of a program's messages that matches."""
    end = time.monotonic() + _SECONDS
    for line in program.stderr:
        assert time.monotonic() < end
        if match := re.search(pattern, line):
            return match[1]
    raise AssertionError("the program has ended")
