"""Functions that tests run on workers, which import them from here."""

import os
import signal
import time
from pathlib import Path

from rlx.support.errors import UsageError
from rlx.support.process import run


def squared(number):
    return number * number


def process_id(number):
    del number
    time.sleep(0.2)
    return os.getpid()


def refused(number):
    """Refuse odd numbers; the even ones take longer."""
    if number % 2:
        raise UsageError(f"got {number}", where="task", hint="give an even number")
    time.sleep(0.05)
    return number


def end_once(argument):
    """End the worker of each marked number once: the mark is a file."""
    number, folder = argument
    mark = Path(folder) / str(number)
    if mark.exists():
        mark.unlink()
        os._exit(7)
    return number


def end_always(number):
    """End the worker of number 3."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return number


def start_program(folder):
    """Start a program that runs for a long time, and say so in a file."""
    Path(folder, f"worker-{os.getpid()}").touch()
    run(["sleep", "600"], timeout_s=600)
