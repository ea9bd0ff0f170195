"""Groups of processes: a program and its children, ended together.

On POSIX systems a program gets a session of its own, and the system signals its whole group. On
Windows it gets a process group, and ``taskkill`` ends it with its descendants; those of a program
that has already ended are not found there.

Tests: tests/unit/support/process/test_program.py
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any, Final

_GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL."""
_TASKKILL_S: Final = 10.0
"""Seconds for ``taskkill`` to end."""


def group_options() -> dict[str, Any]:
    """Return the arguments by which ``subprocess.Popen`` starts a program as a group."""
    if hasattr(os, "killpg"):
        return {"start_new_session": True}
    return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End every process of a program's group, TERM first where there is such, and reap it."""
    if not hasattr(os, "killpg"):
        _end_tree(process)
        return
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    # PermissionError: macOS says so for a group of which only zombies are left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a program and its descendants on Windows; at least the program, without taskkill."""
    if process.poll() is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(process.pid)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TASKKILL_S,
                check=False,
            )
        if process.poll() is None:
            process.terminate()
    process.wait()
