"""A writer that fails or is killed at any call leaves the old state or the new one, and no rest."""

import contextlib
import errno
import os
import signal
from pathlib import Path

import pytest

import rlx.support.files.outputs.folder
from rlx.cli.signals import Ended, raised
from rlx.support.errors import OutputError
from rlx.support.files.outputs import Producer, read_manifest, write_file, write_folder
from support.messages import raises

PRODUCER = Producer(rlx_version="1", target="t")
OLD = {"old": "x", "src/a": "a"}
NEW = {"README.md": "hello\n", "src/net.c": "int x;\n", "empty": b""}
MINE = "build/mine.o"
WRITES = (
    "mkdir",
    "open",
    "write",
    "fsync",
    "rename",
    "replace",
    "link",
    "unlink",
    "rmdir",
    "chmod",
)


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def count(patched, act=None, at=0, *, late=False):
    """Call ``act`` before (or after) the ``at``-th writing call of ``os``; return the calls."""
    calls = []

    def counted(name, real):
        def call(*arguments, **options):
            calls.append(name)
            mine = len(calls) == at
            if mine and not late:
                act()
            result = real(*arguments, **options)
            if mine and late:
                act()
            return result

        return call

    for name in WRITES:
        patched.setattr(os, name, counted(name, getattr(os, name)))
    patched.setattr(
        rlx.support.files.outputs.folder,
        "exchange",
        counted("exchange", rlx.support.files.outputs.folder.exchange),
    )
    return calls


class Folder:
    """Writes a folder, a new one or over one that holds a file of the user."""

    def __init__(self, *, force):
        self.force = force

    def prepare(self, base):
        base.mkdir()
        if self.force:
            write_folder(base / "out", OLD, producer=PRODUCER)
            (base / MINE).parent.mkdir(exist_ok=True)
            (base / "out/build").mkdir()
            (base / "out" / MINE).write_text("mine")
            (base / "build").rmdir()

    def write(self, base):
        write_folder(base / "out", NEW, producer=PRODUCER, force=self.force)

    def write_again(self, base):
        write_folder(base / "out", NEW, producer=PRODUCER, force=True)

    def check(self, base):
        """Return ``old`` or ``new``, whichever is there complete."""
        mine = {MINE} if self.force else set()
        if not (base / "out").exists() and not self.force:
            return "old"
        read_manifest(base / "out")  # puts an old folder back
        found = set(tree(base / "out"))
        assert found in ({*OLD, *mine, "manifest.json"}, {*NEW, *mine, "manifest.json"})
        return "new" if set(NEW) < found else "old"

    def names(self):
        return ["out"]


class File:
    """Writes a single file over an old one."""

    def prepare(self, base):
        base.mkdir()
        (base / "out").write_bytes(b"old")

    def write(self, base):
        write_file(base / "out", b"new")

    write_again = write

    def check(self, base):
        return (base / "out").read_text()

    def names(self):
        return ["out"]


WRITERS = {"new": Folder(force=False), "force": Folder(force=True), "file": File()}


@pytest.fixture(params=[True, False], ids=["exchange", "no exchange"])
def system(request, monkeypatch):
    """A system that can exchange two folders in one step, and one that cannot."""
    if not request.param:
        monkeypatch.setattr(rlx.support.files.outputs.folder, "exchange", lambda *_: False)


def calls_of(writer, tmp_path, monkeypatch):
    writer.prepare(tmp_path / "counted")
    with monkeypatch.context() as patched:
        calls = count(patched)
        writer.write(tmp_path / "counted")
    return list(calls)


def check_rest(writer, base):
    """The next writer leaves its result and nothing else."""
    writer.write_again(base)
    assert writer.check(base) == "new"
    assert [path.name for path in base.iterdir()] == writer.names()


@pytest.mark.slow
@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", WRITERS)
def test_failure_of_any_call_leaves_old_or_new(tmp_path, monkeypatch, name, error):
    writer = WRITERS[name]
    calls = calls_of(writer, tmp_path, monkeypatch)
    assert len(calls) > 5

    def fault():
        raise OSError(error, os.strerror(error))

    for at in range(1, len(calls) + 1):
        base = tmp_path / f"case{at}"
        writer.prepare(base)
        state = "new"
        with monkeypatch.context() as patched:
            count(patched, fault, at)
            try:
                writer.write(base)
            except OutputError:
                state = "old"
        assert writer.check(base) == state, (at, calls[at - 1])
        check_rest(writer, base)


@pytest.mark.slow
@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("name", WRITERS)
def test_interrupt_at_any_call_leaves_old_or_new(tmp_path, monkeypatch, name):
    writer = WRITERS[name]
    calls = calls_of(writer, tmp_path, monkeypatch)

    def fault():
        raise KeyboardInterrupt

    for at in range(1, len(calls) + 1):
        base = tmp_path / f"case{at}"
        writer.prepare(base)
        with monkeypatch.context() as patched:
            count(patched, fault, at)
            with pytest.raises(KeyboardInterrupt):
                writer.write(base)
        writer.check(base)
        check_rest(writer, base)


@pytest.mark.slow
@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", WRITERS)
def test_signal_at_any_call_leaves_nothing_beside_the_output(tmp_path, monkeypatch, name, late):
    writer = WRITERS[name]
    calls = calls_of(writer, tmp_path, monkeypatch)
    for at in range(1, len(calls) + 1):
        base = tmp_path / f"case{at}"
        writer.prepare(base)
        with monkeypatch.context() as patched, contextlib.suppress(Ended), raised():
            count(patched, lambda: os.kill(os.getpid(), signal.SIGTERM), at, late=late)
            writer.write(base)
        writer.check(base)
        assert {path.name for path in base.iterdir()} <= {*writer.names()}, (at, calls[at - 1])


# From Python 3.12 on fork warns where the test runner has threads; the child only writes files.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("name", WRITERS)
def test_kill_at_any_call_leaves_old_or_new(tmp_path, monkeypatch, name):
    writer = WRITERS[name]
    calls = calls_of(writer, tmp_path, monkeypatch)
    for at in range(1, len(calls) + 1):
        base = tmp_path / f"case{at}"
        writer.prepare(base)
        child = os.fork()
        if child == 0:
            try:
                count(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGKILL), at)
                writer.write(base)
            finally:
                os._exit(1)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        writer.check(base)
        check_rest(writer, base)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("force", [False, True])
def test_what_a_living_writer_writes_is_not_swept(tmp_path, monkeypatch, force):
    out = tmp_path / "out"
    if force:
        write_folder(out, OLD, producer=PRODUCER)
    read, write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_tree = rlx.support.files.outputs.folder._write_tree

            def wait(*arguments):
                write_tree(*arguments)
                os.write(write, b"x")
                os.read(go_read, 1)

            monkeypatch.setattr(rlx.support.files.outputs.folder, "_write_tree", wait)
            write_folder(out, {"child": "c"}, producer=PRODUCER, force=True)
            os._exit(0)
        finally:
            os._exit(1)
    os.read(read, 1)
    assert len(list(tmp_path.glob(".out.tmp-*"))) == 1
    write_folder(out, NEW, producer=PRODUCER, force=force)
    assert len(list(tmp_path.glob(".out.tmp-*"))) == 1
    os.write(go_write, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert set(tree(out)) == {"child", "manifest.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    for descriptor in (read, write, go_read, go_write):
        os.close(descriptor)


def test_file_is_written_through_a_link_and_keeps_its_mode(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_device_is_written_to_and_not_replaced(tmp_path):
    read, write = os.pipe()
    write_file(f"/proc/self/fd/{write}", b"bytes")
    assert os.read(read, 10) == b"bytes"
    os.close(read)
    os.close(write)
    write_file(os.devnull, b"bytes")
    assert not Path(os.devnull).is_file()
    with raises(OutputError):
        write_file(tmp_path, b"")
