"""Run a function that may kill its process, on many items, in a process of its own."""

from __future__ import annotations

import faulthandler
import multiprocessing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection

Item = TypeVar("Item")
Result = TypeVar("Result")

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Died:
    """What stands for the result of an item whose process ended.

    Attributes:
        status: The process's exit status; below 0 the number of the signal that ended it.
    """

    status: int


@dataclass(frozen=True)
class _Worker(Generic[Item, Result]):
    """A process that answers each item with a result."""

    function: Callable[[Item], Result]

    def serve(self, channel: Connection) -> None:
        """Answer until the other end is closed."""
        while True:
            try:
                item = channel.recv()
            except EOFError:
                return
            channel.send(self.function(item))


def each(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | Died]]:
    """Yield each item and its result; an item that ends the process has ``Died`` as a result.

    The process is forked from this one and lives until an item ends it, so ``function`` need not
    be importable. It must not raise.
    """
    worker = _Worker(function)
    process, channel = _start(worker)
    try:
        for item in items:
            try:
                channel.send(item)
                yield item, channel.recv()
            except (EOFError, BrokenPipeError, ConnectionResetError):
                process.join()
                yield item, Died(process.exitcode or 0)
                process, channel = _start(worker)
    finally:
        channel.close()
        process.join()


def _start(worker: _Worker[Item, Result]) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    here, there = _FORK.Pipe()

    def run() -> None:
        here.close()
        # The end of this process is a result, not a fault of the tests.
        faulthandler.disable()
        worker.serve(there)

    process = _FORK.Process(target=run, daemon=True)
    process.start()
    there.close()
    return process, here
