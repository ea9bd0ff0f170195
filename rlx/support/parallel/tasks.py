"""Tasks, and the interface of what runs them; runs them here, or on any executor."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from rlx.support.errors import UsageError, WorkerError
from rlx.support.spelling import is_typed, typed
from rlx.support.steps import Steps, reporting
from rlx.support.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    OnResult = Callable[[int], None]

T = TypeVar("T")
R = TypeVar("R")

MAX_LOST: Final = 3
"""Workers that a task may lose; then it is reported."""

_POLL_S: Final = 1.0
"""Longest wait for a result: on Windows nothing interrupts one."""


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """Argument of a function that runs elsewhere.

    Attributes:
        name: The task in messages, such as ``qemu, frames 0 to 31``.
        argument: Argument of the function, which is pickled.
    """

    name: str
    argument: T


@dataclass(frozen=True, slots=True)
class Call(Generic[T, R]):
    """A task with what its worker must know of this process.

    Attributes:
        function: The function.
        argument: Its argument.
        version: Version of rlx, which must be that of the worker.
        typed: Whether messages are for the command line.
    """

    function: Callable[[T], R]
    argument: T
    version: str
    typed: bool

    @classmethod
    def of(cls, function: Callable[[T], R], task: Task[T]) -> Call[T, R]:
        """Return the call of a task of this process."""
        return cls(function, task.argument, __version__, is_typed())


def run_call(call: Call[T, R]) -> R:
    """Run a task in the process of a worker."""
    if call.version != __version__:
        raise UsageError(
            f"a worker has rlx {__version__}, this machine {call.version}",
            where="--executor",
            hint=f"install rlx {call.version} on every worker",
        )
    with typed(enabled=call.typed):
        return call.function(call.argument)


class Workers(Protocol):
    """Interface of what runs tasks: this process, a process pool, any executor."""

    def results(
        self,
        function: Callable[[T], R],
        tasks: Sequence[Task[T]],
        on_result: OnResult | None = None,
    ) -> list[R]:
        """Return the result of each task, in order.

        If tasks fail, the error of the first one in order is raised, whichever failed first.

        Args:
            function: Function at the top level of a module; it depends on its argument alone.
            tasks: Its arguments.
            on_result: Called in this thread with the index of each finished task.

        Raises:
            WorkerError: A task lost its worker, and was lost again.
        """
        ...


class InProcess:
    """Runs tasks in this process, one after the other."""

    def results(
        self,
        function: Callable[[T], R],
        tasks: Sequence[Task[T]],
        on_result: OnResult | None = None,
    ) -> list[R]:
        """Return the result of each task; see :class:`Workers`."""
        if len(tasks) == 1:  # which reports its own progress
            return [function(tasks[0].argument)]
        results = []
        for index, task in enumerate(tasks):
            with reporting(Steps()):
                results.append(function(task.argument))
            if on_result is not None:
                on_result(index)
        return results


IN_PROCESS: Final = InProcess()
"""Runs tasks in this process."""


@dataclass(slots=True)
class Batch(Generic[T, R]):
    """Tasks that are being run.

    Attributes:
        tasks: The tasks.
        on_result: Called with the index of each finished task.
        results: Result of each task that succeeded, by index.
        errors: Error of each task that failed, by index.
        running: Index of each task that was submitted and has not finished.
        lost: Workers that each task has lost, by index.
    """

    tasks: Sequence[Task[T]]
    on_result: OnResult | None
    results: dict[int, R] = field(default_factory=dict)
    errors: dict[int, BaseException] = field(default_factory=dict)
    running: dict[Future[R], int] = field(default_factory=dict)
    lost: Counter[int] = field(default_factory=Counter)

    def waiting(self) -> Iterator[int]:
        """Yield the tasks to submit, in order; none after one that failed."""
        submitted = set(self.running.values())
        for index in range(min(self.errors, default=len(self.tasks))):
            if index not in self.results and index not in submitted:
                yield index

    def collect(self, lost: tuple[type[BaseException], ...]) -> list[int]:
        """Wait for some task, keep the results, and return the tasks whose worker is gone.

        Args:
            lost: Errors of an executor whose worker ended.
        """
        finished, _ = wait(self.running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
        lost_tasks = []
        for future, index in [(f, i) for f, i in self.running.items() if f in finished]:
            del self.running[future]
            try:
                self.results[index] = future.result()
            except lost:
                lost_tasks.append(index)
            except Exception as error:
                self.errors[index] = error
            else:
                if self.on_result is not None:
                    self.on_result(index)
        self.lost.update(lost_tasks)
        return lost_tasks

    def in_order(self) -> list[R]:
        """Return the results, or raise the error of the first task that failed."""
        if self.errors:
            raise self.errors[min(self.errors)]
        return [self.results[index] for index in range(len(self.tasks))]


@dataclass(frozen=True, slots=True)
class OnExecutor:
    """Runs tasks on an executor of the caller, which stays open.

    Attributes:
        executor: The executor.
        lost: Errors by which it reports that a worker ended; it starts others by itself, or not.
        hint: Advice where a task cannot be run.
    """

    executor: Executor
    lost: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)
    hint: str = "make a new executor; with executor=N rlx starts processes, and replaces lost ones"

    def results(
        self,
        function: Callable[[T], R],
        tasks: Sequence[Task[T]],
        on_result: OnResult | None = None,
    ) -> list[R]:
        """Return the result of each task; see :class:`Workers`."""
        batch: Batch[T, R] = Batch(tasks, on_result)
        try:
            for index in batch.waiting():
                future = self._submit(function, tasks[index])
                batch.running[future] = index
            while batch.running:
                for index in batch.collect(self.lost):
                    batch.errors[index] = self._lost_error(tasks[index])
        finally:
            for future in batch.running:
                future.cancel()
        return batch.in_order()

    def _submit(self, function: Callable[[T], R], task: Task[T]) -> Future[R]:
        try:
            return self.executor.submit(run_call, Call.of(function, task))
        except self.lost:
            raise self._lost_error(task) from None

    def _lost_error(self, task: Task[Any]) -> WorkerError:
        return WorkerError(
            "the executor lost the worker that ran it", where=task.name, hint=self.hint
        )
