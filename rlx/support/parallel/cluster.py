"""Workers on several machines, through ``dask.distributed`` (extra ``farm``).

The scheduler moves tasks and results and replaces lost workers. A task that loses more workers than
its setting ``distributed.scheduler.allowed-failures`` says is reported.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rlx.support.errors import ToolMissingError, UsageError
from rlx.support.parallel.tasks import OnExecutor

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMEOUT_S: Final = 10
"""Seconds for a scheduler to answer."""

_HINT: Final = (
    "look at the log of the worker; run it without --executor to see why it ends its workers"
)


@contextmanager
def connected(address: str) -> Iterator[OnExecutor]:
    """Yield the workers of the scheduler at an address; the connection is closed at the end.

    Raises:
        ToolMissingError: ``distributed`` is not installed.
        UsageError: No scheduler answers.
    """
    try:
        from distributed import Client
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise ToolMissingError(
            "dask.distributed is not installed", hint="pip install 'rlx[farm]'"
        ) from None
    try:
        client = Client(address, timeout=_TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no scheduler answers at {address!r}: {error}",
            where="--executor",
            hint="start one with 'dask scheduler', and give the address that it prints",
        ) from None
    with client, client.get_executor(pure=False) as executor:
        yield OnExecutor(executor, (KilledWorker, CancelledError), _HINT)
