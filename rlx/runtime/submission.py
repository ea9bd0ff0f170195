"""Runs that one thread does, in the order in which they were submitted."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array

    Results = list[Array]


class Pending:
    """A run that was submitted. Made by ``CompiledGraph.submit``."""

    def __init__(self, future: Future[Results], on_result: Callable[[], None]) -> None:
        self._future = future
        self._on_result = on_result

    def __repr__(self) -> str:
        return f"<Pending: {'done' if self.done else 'not done'}>"

    @property
    def done(self) -> bool:
        """Whether the run has ended, with outputs or with an error."""
        return self._future.done()

    def wait(self, timeout_s: float | None = None) -> Results:
        """Return the outputs, as ``CompiledGraph.run`` does, when they are there.

        Args:
            timeout_s: Seconds to wait at most; None for no limit.

        Raises:
            TimeoutError: The run has not ended in time; it continues.
            Exception: Error of the run.
        """
        try:
            error = self._future.exception(timeout_s)
        except TimeoutError:
            raise TimeoutError(f"the run has not ended in {timeout_s:g} s") from None
        if error is not None:
            self._on_result()
        return self._future.result()


class Submissions:
    """Runs on a thread of their own, one at a time and in order.

    The thread begins with the first run, and ends with this object or the interpreter, when all
    submitted runs have ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._executor: ThreadPoolExecutor | None = None
        self._last: Future[Results] | None = None
        self._failed: dict[int, BaseException] = {}  # by number, until it is raised

    def submit(self, run: Callable[[], Results]) -> Pending:
        """Let the thread call ``run`` after the runs submitted before."""
        # Not self: the call would keep this object, and with it the thread, alive.
        failed = self._failed

        def call() -> Results:
            try:
                return run()
            except BaseException as error:
                failed[number] = error
                raise

        with self._lock:
            number = next(self._numbers)
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="rlx")
            self._last = self._executor.submit(call)
            return Pending(self._last, lambda: _forget(failed, number))

    def sync(self) -> None:
        """Wait until everything submitted so far has ended.

        Raises:
            Exception: Error of the first run that failed while nobody waited for its outputs.
        """
        with self._lock:
            last = self._last
        if last is not None:
            last.exception()
        failed = [self._failed.pop(number, None) for number in sorted(self._failed)]
        for error in failed:
            if error is not None:
                raise error


def _forget(failed: dict[int, BaseException], number: int) -> None:
    failed.pop(number, None)
