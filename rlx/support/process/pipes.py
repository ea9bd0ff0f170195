"""Reading of a program's two output streams while it runs.

Where the system can wait for several pipes at once (POSIX), one loop reads both. Windows cannot
wait for pipes: there a thread for each stream reads and hands on the data.

Tests: tests/unit/support/process/test_program.py
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import threading
import time
from typing import IO, TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

CHUNK: Final = 1 << 16
"""Bytes that are read at once."""

_WAITING_CHUNKS: Final = 16
"""Maximum number of unread chunks of the threads."""
_SETTLE_S: Final = 0.1
"""Seconds that a thread may need to hand on the last output."""
_CLOSE_S: Final = 1.0
"""Seconds for the threads to end after the program."""


class PipeOutput(bytearray):
    """Output of a program on one stream; each complete line is reported when it is read."""

    def __init__(self, on_line: Callable[[str], None] | None) -> None:
        super().__init__()
        self._on_line = on_line
        self._reported = 0

    def take(self, chunk: bytes) -> None:
        """Append bytes that were read."""
        self.extend(chunk)
        if self._on_line is None:
            return
        end = self.rfind(b"\n", self._reported) + 1
        if end:
            lines, self._reported = self[self._reported : end], end
            for line in lines.decode("utf-8", errors="replace").splitlines():
                self._on_line(line)


class Pipes(Protocol):
    """The output of a program.

    Attributes:
        stdout: Bytes read from its standard output so far.
        stderr: Likewise of its standard error.
    """

    stdout: PipeOutput
    stderr: PipeOutput

    @property
    def open(self) -> bool:
        """Whether a stream may have more data."""
        ...

    def read(self, timeout_s: float) -> list[PipeOutput]:
        """Read bytes that are there; wait ``timeout_s`` at most if there are none.

        Returns:
            Those of ``stdout`` and ``stderr`` that grew.
        """
        ...

    def close(self) -> None:
        """Close both streams; the program has ended."""
        ...


def pipes_of(
    process: subprocess.Popen[bytes], on_line: Callable[[str], None] | None = None
) -> Pipes:
    """Return the pipes of a program, read as the system can.

    Args:
        process: The program, started with two pipes.
        on_line: Called with each complete line of either stream when it is read.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    kind = PolledPipes if hasattr(os, "killpg") else ThreadedPipes
    return kind(process.stdout, process.stderr, on_line)


class PolledPipes:
    """Pipes that one thread reads as they become ready (POSIX)."""

    def __init__(
        self, stdout: IO[bytes], stderr: IO[bytes], on_line: Callable[[str], None] | None
    ) -> None:
        self.stdout, self.stderr = PipeOutput(on_line), PipeOutput(on_line)
        self._files = stdout, stderr
        self._selector = selectors.DefaultSelector()
        self._selector.register(stdout, selectors.EVENT_READ, self.stdout)
        self._selector.register(stderr, selectors.EVENT_READ, self.stderr)

    @property
    def open(self) -> bool:
        """See :class:`Pipes`."""
        return bool(self._selector.get_map())

    def read(self, timeout_s: float) -> list[PipeOutput]:
        """See :class:`Pipes`."""
        grown: list[PipeOutput] = []
        for key, _ in self._selector.select(timeout_s) if self.open else ():
            chunk = os.read(key.fd, CHUNK)
            if chunk:
                key.data.take(chunk)
                grown.append(key.data)
            else:
                self._selector.unregister(key.fileobj)
        return grown

    def close(self) -> None:
        """See :class:`Pipes`."""
        self._selector.close()
        for file in self._files:
            file.close()


class ThreadedPipes:
    """Pipes that a thread each reads (any system)."""

    def __init__(
        self, stdout: IO[bytes], stderr: IO[bytes], on_line: Callable[[str], None] | None
    ) -> None:
        self.stdout, self.stderr = PipeOutput(on_line), PipeOutput(on_line)
        self._files = stdout, stderr
        # Bounded: a program that floods its output waits, as it does for a full pipe.
        self._came: queue.Queue[tuple[PipeOutput, bytes]] = queue.Queue(_WAITING_CHUNKS)
        self._threads = [
            threading.Thread(target=self._forward, args=(file, buffer), daemon=True)
            for file, buffer in ((stdout, self.stdout), (stderr, self.stderr))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def open(self) -> bool:
        """See :class:`Pipes`."""
        return not self._came.empty() or any(thread.is_alive() for thread in self._threads)

    def read(self, timeout_s: float) -> list[PipeOutput]:
        """See :class:`Pipes`; the last output of a program may arrive late."""
        deadline = time.monotonic() + max(timeout_s, _SETTLE_S)
        while self.open and time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                buffer, chunk = self._came.get(timeout=_SETTLE_S)
                buffer.take(chunk)
                return [buffer]
        return []

    def close(self) -> None:
        """See :class:`Pipes`. A stream that a living child holds is left to its thread."""
        deadline = time.monotonic() + _CLOSE_S
        while self.open and time.monotonic() < deadline:
            self.read(0)
        for file, thread in zip(self._files, self._threads, strict=True):
            if not thread.is_alive():
                file.close()

    def _forward(self, file: IO[bytes], buffer: PipeOutput) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(file.fileno(), CHUNK):
                self._came.put((buffer, chunk))
