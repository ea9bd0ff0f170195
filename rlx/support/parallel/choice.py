"""Choice of workers: ``--executor`` and ``executor=``."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.support.errors import UsageError
from rlx.support.parallel.pool import ProcessWorkers
from rlx.support.parallel.tasks import IN_PROCESS, InProcess, OnExecutor, Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

ExecutorLike: TypeAlias = "Executor | str | int | None"
"""Number of processes, the address of a cluster (``dask:tcp://host:8786``) or an executor; None for
this process."""

MAX_PROCESSES: Final = 512

_DASK: Final = "dask:"
_FORMS: Final = "give a number of processes, or dask:tcp://HOST:PORT"


@contextmanager
def workers(executor: ExecutorLike) -> Iterator[Workers]:
    """Yield the workers of a choice; processes and connections last as long as the context.

    Raises:
        UsageError: The text is none of the forms, or no scheduler answers at the address.
        ToolMissingError: The package for a cluster is not installed.
    """
    if executor is None:
        yield IN_PROCESS
    elif isinstance(executor, Executor):
        yield OnExecutor(executor)
    elif isinstance(executor, str) and executor.startswith(_DASK):
        from rlx.support.parallel.cluster import connected

        with connected(executor.removeprefix(_DASK)) as cluster:
            yield cluster
    else:
        with _processes(_count(executor)) as pool:
            yield pool


@contextmanager
def _processes(count: int) -> Iterator[ProcessWorkers]:
    pool = ProcessWorkers(count)
    try:
        yield pool
    except BaseException:
        pool.kill()
        raise
    pool.close()


def _count(executor: object) -> int:
    """Return a number of processes."""
    text = str(executor)
    if isinstance(executor, bool) or not isinstance(executor, int | str) or not text.isdecimal():
        raise UsageError(f"expected an executor, got {executor!r}", where="--executor", hint=_FORMS)
    if not 1 <= int(text) <= MAX_PROCESSES:
        raise UsageError(
            f"expected 1 to {MAX_PROCESSES} processes, got {text}", where="--executor", hint=_FORMS
        )
    return int(text)


def is_in_process(pool: Workers) -> bool:
    """Whether tasks run in this process, one after the other."""
    return isinstance(pool, InProcess)
