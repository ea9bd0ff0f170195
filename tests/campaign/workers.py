"""Run cases in processes of their own, so that a crash or a hang costs one case and no more."""

from __future__ import annotations

import gc
import multiprocessing
import resource
import signal
import time
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import TYPE_CHECKING

from campaign.measure import Record, measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection

    from campaign.part import Part

# A fork has everything imported already: a worker that died is replaced in milliseconds.
_CONTEXT = multiprocessing.get_context("fork")


def run(part: Part, numbers: Iterable[int], jobs: int) -> Iterator[Record]:
    """Run the cases of ``numbers`` in ``jobs`` processes and yield each record when it is there."""
    waiting = iter(numbers)
    if part.prepare is not None:
        part.prepare()
    workers = [_Worker(part) for _ in range(jobs)]
    try:
        busy = [w for w in workers if w.start(next(waiting, None))]
        while busy:
            connection.wait([w.pipe for w in busy], timeout=1.0)
            for worker in tuple(busy):
                record = worker.poll()
                if record is None:
                    continue
                yield record
                if not worker.start(next(waiting, None)):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.end()


@dataclass
class _Worker:
    """One process, and the case that it is at."""

    part: Part
    number: int = -1
    started: float = 0.0
    process: multiprocessing.context.ForkProcess | None = None
    pipe: Connection = field(init=False)

    def start(self, number: int | None) -> bool:
        """Begin a case; return False if there is none."""
        if number is None:
            return False
        if self.process is None:
            self._fork()
        self.number, self.started = number, time.monotonic()
        self.pipe.send(number)
        return True

    def poll(self) -> Record | None:
        """Return the record of the case if it has ended, by itself or past its deadline."""
        try:
            if self.pipe.poll():
                return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            assert self.process is not None
            self.process.join()
            code = self.process.exitcode
            self.process = None
            if code == -signal.SIGXCPU:
                return Record(self.number, "hang", "takes much more processor time than it may", {})
            if self.part.crash is not None:
                return Record(self.number, self.part.crash, "", {})
            return Record(self.number, "crash", f"the process ended with status {code}", {})
        if time.monotonic() - self.started > self.part.deadline_s:
            self.end()
            text = f"still running after {self.part.deadline_s:g} s"
            return Record(self.number, "hang", text, {})
        return None

    def end(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None

    def _fork(self) -> None:
        self.pipe, other = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(self.part, other), daemon=False)
        self.process.start()
        other.close()


def _serve(part: Part, pipe: Connection) -> None:
    """Run each case whose number comes, until nobody asks any more."""
    gc.freeze()  # What was imported stays: collecting before each case then takes no time.
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        _limit(part)
        pipe.send(measured(part, number))


def _limit(part: Part) -> None:
    """Let the system end a case far over a limit of its part, before the machine suffers."""
    if part.cpu_s is not None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        # A case over its limit is run twice.
        end = usage.ru_utime + usage.ru_stime + 4 * part.cpu_s + 2
        resource.setrlimit(resource.RLIMIT_CPU, (int(end), resource.RLIM_INFINITY))
    if part.memory_mb is not None:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (8 * part.memory_mb * 1_000_000, most))
