"""Messages about errors: text on standard error, with ``--json`` an object too.

The object goes to standard output, where the result of a command would be::

    {"error": {"code": "RLX-E001", "message": "...", "where": null, "try": "..."}}
"""

from __future__ import annotations

import json
import re
import signal
import sys
import traceback
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from rlx.cli.signals import Ended
from rlx.cli.streams import ReaderGoneError, complain
from rlx.cli.usage_hints import usage_hint
from rlx.support.errors import (
    BackendWarning,
    CacheWarning,
    EndedError,
    InternalError,
    ModelWarning,
    PluginWarning,
    RlxError,
    UsageError,
    indented,
)
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXPECTED: Final = (Exception, Ended, KeyboardInterrupt)
"""Exceptions that may end a command; anything else ends the program."""

_OWN_WARNINGS: Final = (BackendWarning, CacheWarning, ModelWarning, PluginWarning)


def report(exception: BaseException, arguments: Sequence[str]) -> int:
    """Print the message for an exception that ended a command; return the exit status.

    Args:
        exception: One of ``EXPECTED``.
        arguments: Those of the command: with ``--json`` an object is printed too, with ``--debug``
            a traceback.
    """
    if isinstance(exception, ReaderGoneError):
        return exception.exit_status
    error, status = _as_rlx_error(exception)
    if "--debug" in arguments or isinstance(error, InternalError):
        complain("".join(traceback.format_exception(exception)))
    complain(text(error))
    if sys.stderr is not None and sys.stderr.isatty() and not isinstance(error, EndedError):
        complain(f"  more: rlx explain {error.code}")
    if "--json" in arguments:
        _print_json(error)
    return status


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings of rlx as one line on standard error, without a place in our code."""
    with warnings.catch_warnings():
        for kind in _OWN_WARNINGS:
            warnings.simplefilter("always", kind)
        other = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, _OWN_WARNINGS):
                complain(f"warning: {message}")
            else:
                other(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def text(error: RlxError) -> str:
    """Return the message of an error: what is wrong, where, and what to do."""
    if isinstance(error, EndedError):
        return f"rlx: {error.message}"  # who sent the signal needs no advice
    place = f"{error.where}: " if error.where else ""
    lines = [f"error[{error.code}]: {place}{error.message}{_notes(error)}"]
    if error.hint:
        lines.append(indented("  try: ", error.hint))
    return "\n".join(lines)


def as_object(error: RlxError) -> dict[str, Any]:
    """Return an error as a JSON object with one key, ``error``."""
    shown = {
        "code": error.code, "message": f"{error.message}{_notes(error)}", "where": error.where,
        "try": error.hint,
    }  # fmt: skip
    return {"error": shown}


def _as_rlx_error(exception: BaseException) -> tuple[RlxError, int]:
    """Return an exception as an error of rlx, and the exit status."""
    if isinstance(exception, RlxError):
        return exception, exception.exit_status
    if isinstance(exception, click.ClickException):
        return _usage(exception), exception.exit_code
    if isinstance(exception, FloatingPointError):
        not_finite = UsageError(
            str(exception),
            where="check_finite",
            hint="change the network or the data, or run it without RLX_CHECK_FINITE",
        )
        return not_finite, not_finite.exit_status
    if isinstance(exception, Ended | KeyboardInterrupt | click.Abort):
        ended = exception if isinstance(exception, Ended) else Ended(signal.SIGINT)
        error = EndedError(str(ended), hint="run it again; incomplete output was removed")
        return error, ended.exit_status
    internal = InternalError(
        f"internal error: {type(exception).__name__}: {exception}{_notes(exception)}",
        hint="this is a bug of rlx, please report it with the lines above, the command, and what"
        " 'rlx doctor' prints",
    )
    return internal, internal.exit_status


def _notes(exception: BaseException) -> str:
    """Return the notes added to an exception on its way, such as the pass that raised it."""
    notes = getattr(exception, "__notes__", ())
    return f" ({'; '.join(map(str, notes))})" if notes else ""


def _usage(exception: click.ClickException) -> UsageError:
    """Return an error of the command line's parser; its message names the option."""
    context = exception.ctx if isinstance(exception, click.UsageError) else None
    command = context.command_path if context else "rlx"
    message = exception.format_message().rstrip(".")
    if hint := _choice_hint(exception):
        message = message.partition(" is not one of ")[0]  # the hint has the choices
    elif hint := usage_hint(exception, command):
        message = message.partition(". (Did you mean ")[0].partition(". Did you mean ")[0]
    else:
        hint = f"{command} --help"
    return UsageError(message[:1].lower() + message[1:], hint=hint)


def _choice_hint(exception: click.ClickException) -> str | None:
    """Return a suggestion for a value that is none of an option's choices."""
    kind = exception.param.type if isinstance(exception, click.BadParameter) and exception.param \
        else None  # fmt: skip
    value = re.match(r"'(.*)' is not one of ", exception.message)
    if not isinstance(kind, click.Choice) or value is None:
        return None
    return did_you_mean(value[1], map(str, kind.choices), what="choices")


def _print_json(error: RlxError) -> None:
    """Print an error as a JSON object, if that is possible."""
    with suppress(OSError, ValueError):
        if sys.stdout is not None:
            print(json.dumps(as_object(error), indent=2, sort_keys=True), flush=True)
