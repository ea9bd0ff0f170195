"""Process pool that replaces workers that were killed.

``concurrent.futures.ProcessPoolExecutor`` gives up when a worker ends: every unfinished task fails,
whichever of them was at fault. Here such tasks are run again on a new pool, one at a time, so that
a task that ends its worker again is known to be the one.
"""

from __future__ import annotations

import contextlib
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rlx.support.errors import WorkerError
from rlx.support.parallel.tasks import MAX_LOST, Batch, Call
from rlx.support.parallel.worker import BLOCKED, STATUS, initialize, run_in_process
from rlx.support.signals import signals_deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rlx.support.parallel.tasks import OnResult, Task

T = TypeVar("T")
R = TypeVar("R")

_GRACE_S: Final = 3.0
"""Seconds from SIGTERM to SIGKILL."""


class ProcessWorkers:
    """Runs tasks in processes of this machine, which start with the first task."""

    def __init__(self, count: int) -> None:
        """Prepare to start ``count`` processes."""
        self._count = count
        self._pool: ProcessPoolExecutor | None = None
        self._context = _Context()

    def results(
        self,
        function: Callable[[T], R],
        tasks: Sequence[Task[T]],
        on_result: OnResult | None = None,
    ) -> list[R]:
        """Return the result of each task; see :class:`rlx.support.parallel.tasks.Workers`."""
        batch: Batch[T, R] = Batch(tasks, on_result)
        suspects: set[int] = set()
        while self._submit(function, batch, suspects) or batch.running:
            lost = batch.collect((BrokenProcessPool,))
            suspects.difference_update(batch.results, batch.errors)
            if not lost:
                continue
            while batch.running:  # the pool is broken: they fail too, or have just finished
                lost += batch.collect((BrokenProcessPool,))
            context = self._context
            self.kill()
            status = context.status_of_lost()
            suspects.update(lost)
            for index in lost:
                if batch.lost[index] >= MAX_LOST:
                    batch.errors[index] = _lost_error(tasks[index], status)
        return batch.in_order()

    def _submit(self, function: Callable[[T], R], batch: Batch[T, R], suspects: set[int]) -> bool:
        """Submit as many tasks as there are workers; a suspect alone. Return whether any was."""
        submitted = False
        for index in sorted(suspects.intersection(batch.waiting())) or batch.waiting():
            if len(batch.running) >= (1 if suspects else self._count):
                break
            call = Call.of(function, batch.tasks[index])
            # Submitting starts a process and a thread: one that is cut short writes a traceback of
            # its own, or cannot be joined. A pool that is broken shows in the tasks that run.
            with contextlib.suppress(BrokenProcessPool), signals_deferred():
                future = self._executor().submit(run_in_process, call)
                batch.running[future] = index
                submitted = True
        return submitted

    def _executor(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._count, mp_context=self._context, initializer=initialize
            )
        return self._pool

    def close(self) -> None:
        """End all workers, which have nothing to do."""
        if self._pool is not None:
            self._pool.shutdown()
        self._forget()

    def kill(self) -> None:
        """End all workers now; their tasks clean up, if that takes at most three seconds."""
        self._context.end()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._forget()

    def _forget(self) -> None:
        self._pool, self._context = None, _Context()


class _Process(SpawnProcess):
    """Process that does not see Ctrl-C while it starts."""

    def start(self) -> None:
        """Start the process."""
        with _blocked():
            super().start()


class _Context(SpawnContext):
    """Context that remembers the processes of a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: ANN401, N802
        """Return a process for a worker."""
        process = _Process(*args, **kwargs)
        self.processes.append(process)
        return process

    def status_of_lost(self) -> str:
        """Return the end of a lost worker in words; the others were ended with SIGTERM."""
        ordinary = (None, 0, STATUS, -signal.SIGTERM)
        statuses = [p.exitcode for p in self.processes if p.exitcode not in ordinary]
        status = min((one for one in statuses if one is not None), default=-signal.SIGTERM)
        return f"with status {status}" if status > 0 else f"by {signal.Signals(-status).name}"

    def end(self) -> None:
        """End all processes, TERM first."""
        started = [process for process in self.processes if process.pid is not None]
        for process in started:
            process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for process in started:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """Hold back signals from this thread and from the processes that it starts."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _lost_error(task: Task[Any], status: str) -> WorkerError:
    return WorkerError(
        f"ended {MAX_LOST} worker processes that ran it, the last one {status}",
        where=task.name,
        hint="run it without --executor to see why; SIGKILL mostly means too little memory: take"
        " fewer workers. A script must call rlx below: if __name__ == '__main__':",
    )
