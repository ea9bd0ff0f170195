"""A signal ends the command line and all that it started, and leaves no temporary folder."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rlx.cli import main
from rlx.support.files.scratch import sweep, work_folder

# A compiler that starts a child which ignores TERM, names both processes, and hangs.
COMPILER = """#!{python}
import os, signal, sys, time
if "--version" in sys.argv:
    print("gcc 12.2.0")
    sys.exit()
child = os.fork()
if not child:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    {session}
    time.sleep(100)
open({pids!r} + ".new", "w").write(f"{{os.getpid()}} {{child}}")
os.rename({pids!r} + ".new", {pids!r})
time.sleep(100)
"""


START_SECONDS = 120
"""Maximum time until the compiler runs, on a busy machine."""


@pytest.fixture(scope="module")
def emitted(tmp_path_factory, digits_model):
    folder = tmp_path_factory.mktemp("emitted") / "c"
    assert main(["emit", str(digits_model), "--target", "cortexm", "-o", str(folder)]) == 0
    return folder


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def ended(pids):
    for _ in range(1000):
        if not any(is_alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def in_child(ignored=()):
    """Set what signals do in a child, whatever they do here.

    A child inherits that HUP is ignored (``nohup``), or INT (in the background of a shell without
    job control).
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def kill_all_that_names(path):
    """Kill each process with ``path`` in its command line."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(path) in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)


@pytest.fixture
def start(tmp_path, emitted):
    """``start()`` runs ``rlx verify`` with a compiler that hangs.

    It returns the process, and the compiler's.
    """
    started = []

    def run(*, session="", ignored=()):
        written, tools = tmp_path / "pids", tmp_path / "tools"
        tools.mkdir()
        text = COMPILER.format(python=sys.executable, pids=str(written), session=session)
        (tools / "gcc").write_text(text)
        (tools / "gcc").chmod(0o755)
        (tmp_path / "tmp").mkdir()
        path = os.pathsep.join((str(tools), os.environ["PATH"]))
        process = subprocess.Popen(
            [sys.executable, "-m", "rlx.cli", "verify", str(emitted), "--with", "host"],
            env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path / "tmp")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: in_child(ignored),
        )
        started.append(process)
        end = time.monotonic() + START_SECONDS
        while not written.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end, f"no compiler after {START_SECONDS} seconds"
            time.sleep(0.02)
        return process, [int(pid) for pid in written.read_text().split()]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        kill_all_that_names(tmp_path / "tools")
        process.communicate(timeout=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("INT", 130, "rlx: interrupted\n"),
        ("TERM", 143, "rlx: ended by SIGTERM\n"),
        ("HUP", 129, "rlx: ended by SIGHUP\n"),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_signal_ends_all_and_leaves_nothing(tmp_path, start, name, status, message, times):
    process, pids = start()
    for _ in range(times):
        process.send_signal(getattr(signal, f"SIG{name}"))
        time.sleep(0.05)
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out) == (status, "")
    # Steps that were running are on standard error too.
    assert errors.endswith(message)
    assert ended(pids)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("session", ["", "os.setsid()"])
def test_kill_ends_what_was_started(tmp_path, start, session):
    process, pids = start(session=session)
    left = sorted((tmp_path / "tmp").iterdir())
    assert [path.name[:9] for path in left] == ["rlx-tool-", "rlx-verif"]
    sweep(tmp_path / "tmp")
    assert all(path.exists() for path in left)  # their process is alive
    process.kill()
    process.communicate()
    assert ended(pids)
    sweep(tmp_path / "tmp")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_ignored_signal_stays_ignored(start):
    process, pids = start(ignored=[signal.SIGHUP])
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert ended(pids)


def test_handlers_are_those_of_the_command_line_only(digits_model):
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert main(["inspect", str(digits_model)]) == 0
    after = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert after == before


def test_sweep_leaves_what_is_not_ours(tmp_path):
    names = ("rlx-host-notes", "rlx-host-0123456789abcdef0", "0123456789abcdef")
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "rlx-host-0123456789abcdef").mkdir()
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_work_folder_has_a_plain_path_whatever_tmpdir_is(tmp_path, monkeypatch):
    place = tmp_path / "with space; $(x)"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with work_folder("test") as folder:
        assert " " not in str(folder)
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
