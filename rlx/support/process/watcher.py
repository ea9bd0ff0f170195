"""A process that kills the children of this one if this one is killed.

Nothing that a process arranges for itself survives SIGKILL, and a signal for the death of a parent
(``PR_SET_PDEATHSIG``) reaches children but not theirs: of ``make`` that starts ``c++`` only
``make`` would end. So each program is started with a mark in its environment, which its children
inherit, and one small watcher waits at a pipe whose other end we hold. When we end, however that
happens, the pipe closes, and the watcher kills every process that bears the mark.

It needs ``/proc`` (Linux). Elsewhere there is no watcher: children survive when rlx is killed.

Tests: tests/unit/support/process/test_program.py
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import IO, Final

MARK: Final = "RLX_STARTED_BY"
"""Variable that marks the processes that this one started."""

_WAIT_S: Final = 5.0
"""Seconds for the watcher to end."""

# A process that is just being started bears no mark yet: after a kill it is looked for again.
_PROGRAM: Final = r"""
import os, signal, sys, time
for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
mark = sys.argv[1].encode()
orderly = sys.stdin.buffer.read() == b"."

def kill(name):
    try:
        process = os.pidfd_open(int(name))
    except OSError:
        return False
    try:
        with open(f"/proc/{name}/environ", "rb") as file:
            ours = mark in file.read().split(b"\0")
        if ours:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        return ours
    except OSError:
        return False
    finally:
        os.close(process)

rounds = 0
while rounds < (1 if orderly else 5):
    found = [name for name in os.listdir("/proc") if name.isdigit() and kill(name)]
    rounds = 0 if found else rounds + 1
    if found or not orderly:
        time.sleep(0.02)
"""


class _Watcher:
    """The watcher of this process, started when it is first needed."""

    def __init__(self) -> None:
        self.mark = ""
        self.pipe: IO[bytes] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start the watcher of this process if needed, and return the process's mark."""
        if not self.mark:
            self.mark = secrets.token_hex(16)
            if sys.executable and Path("/proc/self/environ").exists():
                self._start_process()
        return self.mark

    def _start_process(self) -> None:
        with contextlib.suppress(OSError):
            self.process = subprocess.Popen(
                # Isolated, without site: nothing of the user's runs in it, and it starts fast.
                [sys.executable, "-I", "-S", "-c", _PROGRAM, f"{MARK}={self.mark}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # It would keep the current folder from being unmounted.
                cwd="/",
                # A signal to our process group must not end the watcher too.
                start_new_session=True,
            )
            self.pipe = self.process.stdin
            atexit.register(self.end)

    def end(self) -> None:
        """Report a normal end to the watcher, and wait for it."""
        if self.pipe is None or self.process is None:
            return
        with contextlib.suppress(OSError):
            self.pipe.write(b".")
            self.pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_WAIT_S)
        self.pipe = self.process = None

    def forget(self) -> None:
        """Leave the watcher to the original in a copy of this process (``fork``)."""
        if self.pipe is not None:
            os.close(self.pipe.fileno())
        self.mark, self.pipe, self.process = "", None, None


_WATCHER = _Watcher()


def mark() -> dict[str, str]:
    """Return the variable by which a started program is found should this process be killed."""
    return {MARK: _WATCHER.start()}


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_WATCHER.forget)
