"""Runs a module's ``main`` with what Windows lacks taken away; a stand-in, not Windows itself.

Masked: names of ``os`` and ``signal`` and modules that only POSIX has, opening of folders, paths
relative to a descriptor, renaming onto what exists, moving or removing what is open, binary mode by
default, the C library. Standard output is cp1252 if the caller sets ``PYTHONIOENCODING``.
"""

import ctypes
import os
import shutil
import signal
import subprocess  # noqa: F401 (imported before what it needs is masked)
import sys
import tempfile  # noqa: F401
import warnings
from pathlib import Path

LACKING = {
    os: (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK fchmod fchown fork forkpty geteuid getpgid"
        " getpgrp getuid killpg mkfifo pidfd_open register_at_fork sched_getaffinity setsid"
        " statvfs sysconf uname"
    ),
    signal: (
        "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGUSR1 pidfd_send_signal pthread_sigmask setitimer"
    ),
}
MODULES = "fcntl grp pty pwd readline resource termios tty"
BINARY = 0x8000

_open, _close, _write = os.open, os.close, os.write
_rename, _replace, _unlink, _rmdir = os.rename, os.replace, os.unlink, os.rmdir
_in_text_mode = set()


def opened(path, flags, mode=0o777, *, dir_fd=None):
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    if Path(path).is_dir():
        raise PermissionError(13, "Permission denied", path)
    descriptor = _open(path, flags & ~BINARY, mode)
    if not flags & BINARY:
        _in_text_mode.add(descriptor)
    return descriptor


def closed(descriptor):
    _in_text_mode.discard(descriptor)
    _close(descriptor)


def written(descriptor, data):
    if descriptor in _in_text_mode:
        _write(descriptor, bytes(data).replace(b"\n", b"\r\n"))
        return len(data)
    return _write(descriptor, data)


def refuse_open(path):
    """Raise what Windows raises for a file, or a folder of a file, that this process has open."""
    path = os.path.realpath(path)
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        if target == path or target.startswith(path + "/"):
            raise PermissionError(13, "used by another process", path)


def renamed(source, target, **options):
    if os.path.lexists(target):
        raise FileExistsError(17, "File exists", source, None, target)
    refuse_open(source)
    _rename(source, target, **options)


def replaced(source, target, **options):
    refuse_open(source)
    refuse_open(target)
    _replace(source, target, **options)


def unlinked(path, **options):
    refuse_open(path)
    _unlink(path, **options)


def linked(source, target, **options):
    raise NotImplementedError("link: follow_symlinks unavailable on this platform")


class NoLibrary:
    def __init__(self, name, *args, **options):
        if name is None:
            raise TypeError("argument of type 'NoneType' is not iterable")
        raise FileNotFoundError(name)


def mask():
    for module, names in LACKING.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES.split():
        sys.modules[name] = None
    os.O_BINARY = BINARY
    os.open, os.close, os.write = opened, closed, written
    os.rename, os.replace, os.link = renamed, replaced, linked
    os.unlink = os.remove = unlinked
    shutil._use_fd_functions = False
    ctypes.CDLL = NoLibrary


if __name__ == "__main__":
    import numpy as np  # noqa: F401 (loads its libraries)

    mask()
    # Text of rlx is UTF-8 whatever the system's encoding is (python -X warn_default_encoding).
    warnings.filterwarnings("ignore", category=EncodingWarning)
    warnings.filterwarnings("error", category=EncodingWarning, module="rlx")
    if sys.argv[1] == "-c":
        exec(sys.argv[2])
    else:
        from rlx.cli import main

        sys.exit(main())
