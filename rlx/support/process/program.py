"""Run other programs: isolated, with limits, and never through a shell.

A compiler or simulator that hangs, floods its output or leaves children must not affect rlx. Each
program therefore runs in a session of its own, with limits on time and output, and any process
still alive in its group at the end is killed (:mod:`rlx.support.process.group` says how on which
system). A program that makes itself a session of its own leaves the group; none of the tools that
rlx starts does. Should rlx itself be killed, :mod:`rlx.support.process.watcher` ends them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from rlx.support.errors import SimulationError, TimeLimitError, ToolMissingError
from rlx.support.files.scratch import work_folder
from rlx.support.process.group import end_group, group_options
from rlx.support.process.pipes import CHUNK, pipes_of
from rlx.support.process.watcher import mark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.support.process.pipes import Pipes

OUTPUT_LIMIT: Final = 16 << 20
"""Default limit of the bytes that a program may write to each of its two output streams."""

ENVIRONMENT_KEPT: Final = (
    "APPDATA",
    "COMSPEC",
    "DEVELOPER_DIR",
    "DYLD_LIBRARY_PATH",
    "HOME",
    "LD_LIBRARY_PATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "SDKROOT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERPROFILE",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "ZIG_GLOBAL_CACHE_DIR",
    "ZIG_LOCAL_CACHE_DIR",
)
"""Variables that a started program sees of ours; the rest could only make results differ.

Some are those that programs need on Windows and macOS.
"""

_POLL_S: Final = 0.05
"""Seconds between two looks at whether the program has ended."""
_TAIL_LINES: Final = 12
"""Last lines of the output in an error."""
_TAIL_COLUMNS: Final = 200
"""Characters of each of them."""


@dataclass(frozen=True, slots=True)
class Completed:
    """Output and status of a program that was not killed.

    Attributes:
        argv: Argument vector that was started.
        returncode: Exit status, or minus the signal that ended it.
        stdout: Standard output as UTF-8, undecodable bytes replaced.
        stderr: Standard error, likewise.
        seconds: Wall-clock time from start to end.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    seconds: float


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: str | os.PathLike[str] | None = None,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    inherit_env: bool = False,
    input: bytes | str | None = None,
    output_limit: int = OUTPUT_LIMIT,
    check: bool = True,
    hint: str | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Completed:
    """Run ``argv`` until it ends or reaches a limit, and return its output.

    The program gets a session of its own, a temporary folder of its own (``TMPDIR``) that is
    removed at the end, and, unless ``input`` is given, an empty standard input. When this function
    returns or raises (at a signal too) no member of its process group is left: TERM first where it
    did not end, then KILL.

    Args:
        argv: Program and arguments; never passed through a shell.
        cwd: Folder to run in; ours if None.
        timeout_s: Wall-clock limit in seconds, positive.
        env: Variables to set in addition to those of :data:`ENVIRONMENT_KEPT` and ``LC_ALL=C``.
        inherit_env: Pass our whole environment instead of the allow-list.
        input: Data that the program reads on standard input.
        output_limit: Bytes allowed on each output stream, positive.
        check: Raise when the exit status is not zero.
        hint: Advice when the program is missing or fails.
        on_line: Called with each complete line of either output when it is read, in our thread.

    Raises:
        ToolMissingError: The program cannot be started.
        TimeLimitError: It was still running after ``timeout_s``.
        SimulationError: It wrote too much or, with ``check``, failed; holds the last lines.
        ValueError: ``argv`` is empty, a limit is not positive, or ``cwd`` is not a folder.
    """
    command = tuple(os.fspath(part) for part in argv)
    _check_arguments(command, cwd, timeout_s, output_limit)
    environment = dict(os.environ) if inherit_env else kept_environment()
    environment.update(mark())
    started = time.monotonic()
    with work_folder("tool") as temporary, _open_input(input) as stdin:
        environment.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)))
        environment.update(env or {})
        process = _start(command, cwd, environment, stdin, hint)
        pipes = None
        try:
            pipes = pipes_of(process, on_line)
            streams = _collect(process, pipes, started + timeout_s, timeout_s, output_limit)
        finally:
            end_group(process)
            if pipes is not None:
                pipes.close()
    completed = Completed(command, process.returncode, *streams, time.monotonic() - started)
    if check and completed.returncode != 0:
        raise failure(completed, hint=hint)
    return completed


def kept_environment() -> dict[str, str]:
    """Return the part of our environment that a started program sees."""
    kept = {name: os.environ[name] for name in ENVIRONMENT_KEPT if name in os.environ}
    return kept | {"LC_ALL": "C"}


def failure(completed: Completed, *, hint: str | None = None) -> SimulationError:
    """Return the error for a program that ended with a status it should not have."""
    code = completed.returncode
    how = f"was ended by {_signal_name(-code)}" if code < 0 else f"failed with status {code}"
    output = last_lines(completed.stderr) or last_lines(completed.stdout)
    return SimulationError(how + output, where=_tool_name(completed.argv), hint=hint)


def last_lines(text: str) -> str:
    """Return the end of ``text`` as lines to append to a message, each with a bar before it."""
    lines = text.rstrip().splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  | {line[:_TAIL_COLUMNS]}" for line in lines)


def _check_arguments(
    command: tuple[str, ...],
    cwd: str | os.PathLike[str] | None,
    timeout_s: float,
    output_limit: int,
) -> None:
    if not command:
        raise ValueError("argv is empty; it needs at least the program")
    if timeout_s <= 0 or output_limit <= 0:
        msg = f"limits must be positive, got {timeout_s} s and {output_limit} bytes"
        raise ValueError(msg)
    if cwd is not None and not Path(cwd).is_dir():
        msg = f"cwd is not a folder: {cwd}"
        raise ValueError(msg)


def _open_input(content: bytes | str | None) -> IO[bytes]:
    """Return the program's standard input; a file, so that writing it can never block us."""
    if content is None:
        return Path(os.devnull).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.write(content.encode() if isinstance(content, str) else content)
    file.seek(0)
    return file


def _start(
    command: tuple[str, ...],
    cwd: str | os.PathLike[str] | None,
    environment: dict[str, str],
    stdin: IO[bytes],
    hint: str | None,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **group_options(),
        )
    except OSError as error:
        raise ToolMissingError(
            f"cannot start {command[0]}: {(error.strerror or str(error)).lower()}",
            hint=hint
            or "install it or put it on PATH; rlx doctor prints the command for each tool",
        ) from None


def _collect(
    process: subprocess.Popen[bytes],
    pipes: Pipes,
    deadline: float,
    timeout_s: float,
    output_limit: int,
) -> tuple[str, str]:
    """Read both streams until the program has ended; raise when it passes a limit."""
    tool = _tool_name(process.args)  # type: ignore[arg-type]
    ended = False
    while not ended or _read(pipes, output_limit, 0, tool):
        # The status is asked before the last reads, so that nothing written is lost; a child
        # that still holds the pipe open can keep it open, but not us waiting.
        ended = process.poll() is not None
        if not ended and time.monotonic() > deadline:
            raise TimeLimitError(
                f"still running after {timeout_s:g} s, ended"
                + last_lines(_decode(pipes.stderr or pipes.stdout)),
                where=tool,
                hint="raise the time limit (--timeout), or give it less work",
            )
        if not ended:
            _wait(pipes, process, output_limit, tool)
    return _decode(pipes.stdout), _decode(pipes.stderr)


def _wait(pipes: Pipes, process: subprocess.Popen[bytes], output_limit: int, tool: str) -> None:
    """Wait for output, or for the end of a program that has closed both streams."""
    if pipes.open:
        _read(pipes, output_limit, _POLL_S, tool)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)


def _read(pipes: Pipes, limit: int, timeout_s: float, tool: str) -> bool:
    """Read from every stream that is ready; return whether there was any data."""
    grown = pipes.read(timeout_s)
    for stream in grown:
        if len(stream) > limit:
            raise SimulationError(
                f"wrote more than {limit} bytes, ended" + last_lines(_decode(stream[-CHUNK:])),
                where=tool,
                hint="look for what the program repeats in its last lines; if it is a loop of"
                " warnings, another version of the program may not have it",
            )
    return bool(grown)


def _decode(output: bytes | bytearray) -> str:
    return output.decode("utf-8", errors="replace")


def _tool_name(argv: Sequence[str]) -> str:
    """Return the program's name, with the module for ``python -m module``."""
    name = Path(argv[0]).name
    if name.startswith("python") and len(argv) > 2 and argv[1] == "-m":
        return f"{name} -m {argv[2]}"
    return name


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
