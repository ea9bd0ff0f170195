"""Kills, full disks, races and signals: whatever happens, nothing is lost and nothing is left.

A case is a line of words: its number, its kind and what it depends on. The same number is always
the same case, so that a long run can be resumed. Kinds:

- ``kill WRITER before|after N``: SIGKILL around the N-th call of the system that a writer makes;
- ``error WRITER ENOSPC|EIO N``: that call fails;
- ``race free|force WRITERS N``: several writers to one place at the same moment;
- ``signal COMMAND NAME MILLISECONDS``: a signal to the command line while it works.

After each the old state or the new one must be there, complete, with the user's own files; no
process may be left, and after the next run no temporary file.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rlx.support.files.outputs.folder
from campaign.part import Outcome, Part
from rlx.support.errors import OutputError
from rlx.support.files.outputs import Producer, read_manifest, write_file, write_folder
from rlx.support.files.scratch import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONG = 1000
"""Cases of the long form."""

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits.rlx"
CALLS = (
    "chmod", "fsync", "link", "mkdir", "open", "rename", "replace", "rmdir", "scandir", "unlink",
    "write",
)  # fmt: skip
"""Functions of ``os`` that a writer calls, by itself or through ``shutil``, to read or write."""

COMMANDS = {
    "verify-c": ("verify", "c"),
    "emit": ("emit", str(MODEL), "--target", "cortexm", "--force", "-o", "c"),
    "verify-fpga": ("verify", "hw"),
    "build": ("build", "hw", "--seeds", "1", "-o", "built"),
}
"""Command lines that are interrupted."""

SPANS = {"verify-c": 4000, "emit": 1500, "verify-fpga": 15000, "build": 12000}
"""Milliseconds within which a command gets its signal."""

SIGNALS = ("INT", "TERM", "HUP", "KILL")

_PRODUCER = Producer(rlx_version="1", target="t")
_OLD = {"old.c": "old", "src/a.c": "a", "src/b.c": "b"}
_NEW = {"README.md": "text", "src/a.c": "new", "src/c.c": "c", "mem/deep/x.mem": "00"}
_MINE = {"build/mine.o": "object", "notes.txt": "mine"}
_WRITERS = ("new", "force", "stepwise", "file")
_RACES = 60
_SLOW = 12
_PARTIES = (2, 3)


def cases() -> Iterable[str]:
    """Return all cases, :data:`LONG` of them, always the same."""
    every = [*_kills(), *_errors(), *_races()]
    every += _signals(LONG - len(every))
    return [f"{number:04} {case}" for number, case in enumerate(every, start=1)]


def short_cases(count: int = 40) -> list[str]:
    """Return a few dozen cases of all kinds that take no hardware tools."""
    fast = [case for case in cases() if not any(name in case for name in ("fpga", "build"))]
    slow = [case for case in fast if " signal " in case]
    fast = [case for case in fast if " signal " not in case]
    step = max(1, len(fast) // count)
    return [*fast[::step], *slow[:: max(1, len(slow) // _SLOW)]]


def run(case: str) -> str | None:
    """Run one case.

    Returns:
        None if all was well, else what was found, in one line.
    """
    _, kind, *words = case.split()
    base = Path(tempfile.mkdtemp(prefix="campaign-kills-"))
    try:
        return {"kill": _kill, "error": _error, "race": _race, "signal": _signal}[kind](base, words)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _kills() -> Iterator[str]:
    for writer in _WRITERS:
        for when in ("before", "after"):
            yield from (f"kill {writer} {when} {at}" for at in range(1, _calls(writer) + 1))


def _errors() -> Iterator[str]:
    for writer in _WRITERS:
        for name in ("ENOSPC", "EIO"):
            yield from (f"error {writer} {name} {at}" for at in range(1, _calls(writer) + 1, 2))


def _races() -> Iterator[str]:
    for at in range(_RACES):
        for mode in ("free", "force"):
            yield f"race {mode} {_PARTIES[at % 2]} {at}"


def _signals(count: int) -> Iterator[str]:
    """Yield signals at moments spread over each command; hardware is slow and gets fewer."""
    chance = random.Random(1)
    commands = ["verify-c", "emit", "verify-c", "emit", "verify-fpga", "build"]
    for at in range(count):
        command = commands[at % len(commands)]
        name = SIGNALS[at // len(commands) % len(SIGNALS)]
        yield f"signal {command} {name} {chance.randrange(100, SPANS[command])}"


@cache
def _calls(writer: str) -> int:
    """Return the number of calls that a writer makes."""
    base = Path(tempfile.mkdtemp(prefix="campaign-kills-"))
    try:
        _prepare(base, writer)
        with _counted(0, lambda: None) as calls:
            _write(base, writer)
        return len(calls)
    finally:
        shutil.rmtree(base, ignore_errors=True)


@contextlib.contextmanager
def _counted(at: int, act: Callable[[], object], *, after: bool = False) -> Iterator[list[str]]:
    """Call ``act`` before or after the ``at``-th call (from 1); yield the names of all calls."""
    calls: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            number = len(calls)
            if number == at and not after:
                act()
            try:
                return real(*arguments, **options)
            finally:
                if number == at and after:
                    act()

        return call

    with contextlib.ExitStack() as stack:
        for holder, name in [
            *((os, name) for name in CALLS),
            (rlx.support.files.outputs.folder, "exchange"),
        ]:
            real = getattr(holder, name)
            setattr(holder, name, counted(name, real))
            stack.callback(setattr, holder, name, real)
        yield calls


def _prepare(base: Path, writer: str) -> None:
    if writer == "file":
        (base / "out").write_text("old")
    elif writer != "new":
        write_folder(base / "out", _OLD, producer=_PRODUCER)
        for name, text in _MINE.items():
            (base / "out" / name).parent.mkdir(exist_ok=True)
            (base / "out" / name).write_text(text)


def _write(base: Path, writer: str, *, force: bool | None = None) -> None:
    if writer == "file":
        write_file(base / "out", b"new")
        return
    exchange = rlx.support.files.outputs.folder.exchange
    if writer == "stepwise":  # as on a system that cannot exchange two folders
        rlx.support.files.outputs.folder.exchange = lambda *_: False
    try:
        forced = writer != "new" if force is None else force
        write_folder(base / "out", _NEW, producer=_PRODUCER, force=forced)
    finally:
        rlx.support.files.outputs.folder.exchange = exchange


def _kill(base: Path, words: list[str]) -> str | None:
    writer, when, at = words
    _prepare(base, writer)
    child = os.fork()
    if child == 0:
        try:
            kill = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
            with _counted(int(at), kill, after=when == "after"):
                _write(base, writer)
        finally:
            os._exit(1)
    if os.WTERMSIG(os.waitpid(child, 0)[1]) != signal.SIGKILL:
        return "the writer was not killed"
    return _found(base, writer)


def _error(base: Path, words: list[str]) -> str | None:
    writer, name, at = words
    number = getattr(errno, name)

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    _prepare(base, writer)
    expected = {"new"}
    with _counted(int(at), fail):
        try:
            _write(base, writer)
        except OutputError as error:
            expected = {"old"}
            if not error.hint:
                return f"a refusal without a remedy: {error.message}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return _found(base, writer, expected)


def _found(
    base: Path, writer: str, expected: frozenset[str] | set[str] = frozenset()
) -> str | None:
    """Return the fault in the place of a writer, and then after the next one."""
    state = _state(base, writer)
    if state not in (expected or {"old", "new"}):
        return f"left {state}"
    _write(base, writer, force=True)
    state = _state(base, writer)
    names = sorted(path.name for path in base.iterdir())
    if state != "new" or names != ["out"]:
        return f"after the next run: {state}, {', '.join(names)}"
    return None


def _state(base: Path, writer: str) -> str:
    """Return ``old``, ``new``, or what is wrong."""
    out = base / "out"
    if writer == "file":
        return out.read_text() if out.is_file() else "no file"
    try:
        read_manifest(out)
    except OutputError as error:
        return "old" if writer == "new" and not out.exists() else f"{error.where}: {error.message}"
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    mine = set() if writer == "new" else set(_MINE)
    for state, files in (("old", _OLD), ("new", _NEW)):
        if found == {*files, *mine, "manifest.json"}:
            return state
    return f"a mixture: {' '.join(sorted(found))}"


def _race(base: Path, words: list[str]) -> str | None:
    """Let several writers begin at once: without force one wins, with it the last one."""
    mode, parties, seed = words[0], int(words[1]), int(words[2])
    chance = random.Random(seed)
    if mode == "force":
        _prepare(base, "force")
    start, delays = time.monotonic() + 0.03, [chance.random() * 0.004 for _ in range(parties)]
    children = [_racer(base, mode, who, start + delay) for who, delay in enumerate(delays)]
    done = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    wanted = [0] * parties if mode == "force" else [0] + [3] * (parties - 1)
    if sorted(done) != wanted:
        return f"statuses {done}"
    read_manifest(base / "out")
    mine = set(_MINE) if mode == "force" else set()
    found = {path.relative_to(base / "out").as_posix() for path in base.rglob("*")
             if path.is_file()}  # fmt: skip
    winners = [who for who in range(parties) if {f"{who}.txt", *mine, "manifest.json"} == found]
    names = sorted(path.name for path in base.iterdir())
    if len(winners) != 1 or names != ["out"]:
        return f"left {' '.join(sorted(found))} in {', '.join(names)}"
    return None if mode == "force" or done[winners[0]] == 0 else "the loser's folder is there"


def _racer(base: Path, mode: str, who: int, start: float) -> int:
    child = os.fork()
    if child == 0:
        status = 4
        try:
            time.sleep(max(0.0, start - time.monotonic()))
            files = {f"{who}.txt": str(who)}
            write_folder(base / "out", files, producer=_PRODUCER, force=mode == "force")
            status = 0
        except OutputError:
            status = 3
        finally:
            os._exit(status)
    return child


@cache
def _emitted(target: str) -> Path:
    """Return a folder that was emitted for a target, made once for all cases."""
    home = Path(tempfile.mkdtemp(prefix="campaign-emitted-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    _rlx(["emit", str(MODEL), "--target", target, "-o", "out"], home).communicate()
    return home / "out"


def _rlx(arguments: Iterable[str], base: Path) -> subprocess.Popen[str]:
    (base / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "rlx.cli", *arguments],
        cwd=base,
        env={**os.environ, "TMPDIR": str(base / "tmp")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hear_signals,
    )


def _hear_signals() -> None:
    """Undo what shells do: without job control they ignore interrupts, and nohup hangups."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _signal(base: Path, words: list[str]) -> str | None:
    command, name, delay = words
    number = getattr(signal, f"SIG{name}")
    folder = "hw" if command in ("verify-fpga", "build") else "c"
    shutil.copytree(_emitted("fpga" if folder == "hw" else "cortexm"), base / folder)
    process = _rlx(COMMANDS[command], base)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(int(delay) / 1000)
    process.send_signal(number)
    _, errors = process.communicate()
    if process.returncode not in (0, 128 + number, -number):
        return f"status {process.returncode}: {errors[-300:]!r}"
    return _rest(base, folder, killed=number == signal.SIGKILL)


def _rest(base: Path, folder: str, *, killed: bool) -> str | None:
    """Return the remains of a command: processes, temporary files, half a folder."""
    left = _processes(base)
    if left:
        return f"still running: {left}"
    temporary = base / "tmp"
    if killed:
        sweep(temporary)  # as the next run does
    names = [path.name for path in temporary.iterdir()]
    if names:
        return f"temporary files: {', '.join(names)}"
    read_manifest(base / folder)
    if (base / "built").exists():
        read_manifest(base / "built")
    for name in (folder, "built"):
        write_file(base / name / "x" if (base / name).is_dir() else base / "x", b"")
    hidden = [path.name for path in base.iterdir() if path.name.startswith(".")]
    return f"left {', '.join(hidden)}" if hidden and not killed else None


def _processes(base: Path) -> str:
    """Return the names of processes that work for us, when there was time for all to end."""
    names: list[str] = []
    for _ in range(100):
        names = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"TMPDIR={base}/tmp".encode() in (path / "environ").read_bytes().split(b"\0"):
                    names.append((path / "comm").read_text().strip())
        if not names:
            break
        time.sleep(0.05)
    return ", ".join(names)


@cache
def _listed() -> tuple[str, ...]:
    return tuple(cases())


def _run_numbered(number: int) -> Outcome:
    finding = run(_listed()[number])
    return Outcome("lost or left" if finding else "whole", finding or "")


KILLS = Part(
    name="kills",
    title="kills and errors around each call of each writer, races, signals",
    goal="1,000; nothing lost, nothing left",
    run=_run_numbered,
    cases=LONG,
    short=0,
    deadline_s=600.0,
)
