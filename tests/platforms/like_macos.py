"""Runs the command line with what macOS lacks taken away; a stand-in, not macOS itself.

Masked: ``/proc``, file descriptors of processes, ``epoll``, exchange of two folders.
"""

import builtins
import ctypes
import io
import os
import select
import selectors
import signal
import sys

LACKING = {
    os: "pidfd_open sched_getaffinity posix_fadvise memfd_create",
    signal: "pidfd_send_signal",
    select: "epoll",
}

_library, _stat, _io_open = ctypes.CDLL, os.stat, io.open


class Library(_library):
    def __getattr__(self, name):
        if name in ("renameat2", "prctl"):
            raise AttributeError(name)
        return super().__getattr__(name)


def refuse_proc(path):
    if isinstance(path, str | os.PathLike) and os.fspath(path).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", str(path))


def looked_at(path, **options):
    refuse_proc(path)
    return _stat(path, **options)


def opened(path, *args, **options):
    refuse_proc(path)
    return _io_open(path, *args, **options)


if __name__ == "__main__":
    for module, names in LACKING.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    selectors.DefaultSelector = selectors.PollSelector
    ctypes.CDLL = Library
    os.stat = looked_at
    builtins.open = io.open = opened
    from rlx.cli import main

    sys.exit(main())
