"""Threads that compute the steps of native programs together.

Programs with the same number of threads share them. The last program that is deleted ends them. A
child of ``os.fork`` has no threads but the one that forked: it starts others when it needs them.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from functools import lru_cache
from typing import Final

from rlx.support.errors import SimulationError
from rlx_host.library import compiler, load_text

_FLAGS: Final = ("-pthread",)


class Pool:
    """A number of threads, one of which is the caller; the others start with the first step.

    Attributes:
        threads: Their number, from 2 on.
        handle: Pointer of C, which programs pass to ``rlx_run``. It changes in a forked child.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.handle = ctypes.c_void_p()
        self._functions = _functions(compiler())
        self._end: weakref.finalize[[ctypes.c_void_p], Pool] | None = None
        self.begin()

    @property
    def started(self) -> int:
        """Number of threads that were started, without the caller."""
        return int(self._functions.rlx_pool_members(self.handle))

    def begin(self) -> None:
        """Make a new pool of C; the one before, if there is any, is not touched."""
        new = self._functions.rlx_pool_new(self.threads)
        if not new:
            raise SimulationError(f"out of memory for {self.threads} threads")
        self.handle.value = new
        end = weakref.finalize(self, self._functions.rlx_pool_free, ctypes.c_void_p(new))
        # Threads end with the process, where daemon threads of Python may still run programs.
        end.atexit = False
        self._end = end

    def begin_after_fork(self) -> None:
        """Replace the pool of the parent process, whose threads do not exist here."""
        if self._end is not None:
            self._end.detach()
        self.begin()


_POOLS: Final[weakref.WeakValueDictionary[int, Pool]] = weakref.WeakValueDictionary()
_LOCK = threading.Lock()


def pool_of(threads: int) -> Pool | None:
    """Return the pool of a number of threads; None for one thread.

    Raises:
        ToolMissingError: No C compiler is installed.
        SimulationError: The pool does not compile, or memory runs out.
    """
    if threads == 1:
        return None
    with _LOCK:
        pool = _POOLS.get(threads)
        if pool is None:
            pool = _POOLS[threads] = Pool(threads)
        return pool


@lru_cache
def _functions(command: tuple[str, ...]) -> ctypes.CDLL:
    """Return the library of ``templates/host/pool.c.j2``."""

    def text() -> str:
        # The template engine is imported only to compile code that is not on disk.
        from rlx_host.render import render

        return render("pool.c", {})

    _, library = load_text("pool", text, command, _FLAGS)
    library.rlx_pool_new.restype = ctypes.c_void_p
    return library


def _begin_after_fork() -> None:
    """Replace every pool, and the lock, which another thread may have held."""
    global _LOCK
    _LOCK = threading.Lock()
    for pool in list(_POOLS.values()):
        pool.begin_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_after_fork)
