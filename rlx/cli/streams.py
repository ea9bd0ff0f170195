"""Standard output or error that is full or closed: one message, no traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import IO, TYPE_CHECKING, Any

from rlx.support.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Iterator


class ReaderGoneError(StreamError):
    """The reader of a command's output is gone, as in ``rlx inspect ... | head``."""

    exit_status = 141  # that of a program that SIGPIPE ended, in a shell


class _CheckedStream:
    """A text stream whose system errors are errors of rlx."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _stream_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        with _stream_errors():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._stream, name)


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """Raise :class:`StreamError` if printed text cannot be written.

    A closed stream (``>&-``) discards all text. A character that the stream's encoding lacks, as
    that of a Windows console may, is shown as a question mark. Buffers are flushed at the end.
    """
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        devnull = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
        stdout, stderr = (devnull if stream is None else stream for stream in before)
        for stream in (stdout, stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="replace")
        sys.stdout, sys.stderr = _CheckedStream(stdout), stderr
        try:
            yield
            sys.stdout.flush()
        finally:
            sys.stdout, sys.stderr = before


def complain(text: str) -> None:
    """Print a line to standard error, if that is possible."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)


def abandon() -> None:
    """Drop what could not be printed, because Python would try and fail again at exit."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextlib.contextmanager
def _stream_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise ReaderGoneError(
                "its reader is gone", where="standard output", hint="let it read to the end"
            ) from None
        raise StreamError(
            f"cannot be written: {(error.strerror or str(error)).lower()}",
            where="standard output",
            hint="redirect it to a place with free space; files that were written are complete",
        ) from None
