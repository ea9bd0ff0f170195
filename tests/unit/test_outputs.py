"""Output folders appear whole or not at all, whatever fails at whatever moment."""

import errno
import hashlib
import json
import os
import signal
import types

import pytest

import rlx.outputs
from rlx.errors import OutputError
from rlx.outputs import FileEntry, Manifest, Producer, check_paths, read_manifest, write_folder

FILES = {"README.md": "hello\n", "src/net.c": b"int x;\n", "include/net.h": "é\n", "empty": b""}
PRODUCER = Producer(rlx_version="1.2.3", target="cortexm", options={"prefix": "net"})
WRITES = ("mkdir", "open", "write", "fsync", "rename")


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def names(folder):
    return [path.name for path in folder.iterdir()]


def faulty(at, fault):
    """An ``os`` of which the ``at``-th writing call (from 1) runs ``fault`` instead."""
    calls = []

    def counted(name):
        def call(*arguments, **options):
            calls.append(name)
            if len(calls) == at:
                fault()
            return getattr(os, name)(*arguments, **options)

        return call

    members = {name: getattr(os, name) for name in dir(os)} | {n: counted(n) for n in WRITES}
    return types.SimpleNamespace(**members), calls


def test_write_folder_writes_files_and_manifest(tmp_path):
    manifest = write_folder(tmp_path / "out", FILES, producer=PRODUCER)
    written = tree(tmp_path / "out")
    text = json.loads(written.pop("manifest.json"))
    assert written == {
        "README.md": b"hello\n",
        "src/net.c": b"int x;\n",
        "include/net.h": "é\n".encode(),
        "empty": b"",
    }
    assert text == {
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in written.items()
        },
        "generator": "rlx",
        "input_sha256": None,
        "options": {"prefix": "net"},
        "rlx_version": "1.2.3",
        "schema": 1,
        "target": "cortexm",
    }
    assert read_manifest(tmp_path / "out") == manifest
    assert names(tmp_path) == ["out"]


def test_facts_stand_beside_the_own_entries(tmp_path):
    producer = Producer(rlx_version="1", target="t", input_sha256="ab", facts={"golden": [1, "x"]})
    write_folder(tmp_path / "out", {}, producer=producer)
    assert json.loads((tmp_path / "out/manifest.json").read_text())["golden"] == [1, "x"]
    assert read_manifest(tmp_path / "out") == Manifest(producer, {})
    with pytest.raises(
        ValueError, match=r"^facts must not name the manifest's own entries: files, target$"
    ):
        Producer(rlx_version="1", target="t", facts={"target": 1, "files": 2})


def test_same_input_gives_the_same_bytes(tmp_path):
    write_folder(tmp_path / "a", FILES, producer=PRODUCER)
    reverse = dict(reversed(FILES.items()))
    write_folder(tmp_path / "b/c", reverse, producer=PRODUCER)
    assert tree(tmp_path / "a") == tree(tmp_path / "b/c")


def test_folder_mode_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_folder(tmp_path / "out", FILES, producer=PRODUCER)
    finally:
        os.umask(old)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "out/src/net.c").stat().st_mode & 0o777 == 0o640


def test_empty_folder_and_link_to_a_place_are_used(tmp_path):
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", FILES, producer=PRODUCER)
    assert "README.md" in tree(tmp_path / "empty")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_folder(tmp_path / "link", FILES, producer=PRODUCER)
    assert (tmp_path / "link").is_symlink()
    assert "README.md" in tree(tmp_path / "real")


def test_force_replaces_our_folder_whole(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    with pytest.raises(
        OutputError,
        match=rf"^{out}: the folder exists\n  hint: use --force to replace it, "
        r"or name a new folder$",
    ):
        write_folder(out, {"new": "x"}, producer=PRODUCER)
    assert "README.md" in tree(out)
    write_folder(out, {"new": "x"}, producer=PRODUCER, force=True)
    assert set(tree(out)) == {"new", "manifest.json"}
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}", '{"generator": "other"}', "[" * 9999])
def test_force_leaves_a_strange_folder_alone(tmp_path, manifest):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    if manifest is not None:
        (out / "manifest.json").write_text(manifest)
    before = tree(out)
    with pytest.raises(
        OutputError,
        match=rf"^{out}: the folder is not empty and holds no manifest.json of rlx\n"
        r"  hint: name a new folder; rlx replaces only what it wrote itself$",
    ):
        write_folder(out, FILES, producer=PRODUCER, force=True)
    assert tree(out) == before


def test_file_and_working_folder_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        OutputError, match=r"file: there is a file, not a folder\n  hint: name a new folder$"
    ):
        write_folder(tmp_path / "file", FILES, producer=PRODUCER, force=True)
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    for place in (".", "..", tmp_path / "a"):
        with pytest.raises(
            OutputError,
            match=r": the working folder cannot be replaced\n  hint: name a new folder$",
        ):
            write_folder(place, FILES, producer=PRODUCER, force=True)


def test_system_error_is_reported_with_the_place(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        OutputError,
        match=rf"^{tmp_path}/file/out: cannot write the output folder: file exists\n"
        r"  hint: check free space and permissions; nothing was changed$",
    ):
        write_folder(tmp_path / "file/out", FILES, producer=PRODUCER)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "./a",
        "a/",
        "a\\b",
        "c:x",
        "a\nb",
        "a\x7f",
        " a",
        "a /b",
    ],
)
def test_name_that_leaves_the_folder_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"^file name '.*' is not a plain relative path$"):
        write_folder(tmp_path / "out", {name: "x"}, producer=PRODUCER)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["manifest.json"], r"^file name 'manifest.json' collides with 'the manifest'$"),
        (["a/B", "A/b"], r"^file name 'a/B' collides with 'A/b'$"),
        (["a", "a/b"], r"^file name 'a/b' needs a folder where there is a file$"),
    ],
)
def test_colliding_names_are_refused(names, message):
    with pytest.raises(ValueError, match=message):
        check_paths(dict.fromkeys(names))


def count_of_writes(tmp_path, monkeypatch, replace):
    os_counting, calls = faulty(0, None)
    with monkeypatch.context() as patched:
        patched.setattr(rlx.outputs, "os", os_counting)
        write_folder(tmp_path / "counted", FILES, producer=PRODUCER, force=replace)
    return calls


@pytest.mark.parametrize("replace", [False, True])
def test_failure_of_any_write_leaves_the_old_state(tmp_path, monkeypatch, replace):
    if replace:
        write_folder(tmp_path / "counted", {"old": "x"}, producer=PRODUCER)
    calls = count_of_writes(tmp_path, monkeypatch, replace)
    total = len(calls) - 2  # opening and forcing the parent folder may fail: the result stands
    assert calls.count("rename") == (2 if replace else 1)
    assert total > 20
    for at in range(1, total + 1):
        base = tmp_path / f"case{at}"
        base.mkdir()
        if replace:
            write_folder(base / "out", {"old": "x"}, producer=PRODUCER)
        before = tree(base)

        def fault():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(rlx.outputs, "os", faulty(at, fault)[0])
            with pytest.raises(OutputError, match=r"out: cannot write .*: no space left on device"):
                write_folder(base / "out", FILES, producer=PRODUCER, force=replace)
        assert tree(base) == before, calls[at - 1]
        write_folder(base / "out", FILES, producer=PRODUCER, force=replace)
        assert names(base) == ["out"]


@pytest.mark.parametrize("replace", [False, True])
def test_interrupt_at_any_write_leaves_the_old_state(tmp_path, monkeypatch, replace):
    if replace:
        write_folder(tmp_path / "counted", {"old": "x"}, producer=PRODUCER)
    total = len(count_of_writes(tmp_path, monkeypatch, replace)) - 2
    base = tmp_path / "base"
    base.mkdir()
    if replace:
        write_folder(base / "out", {"old": "x"}, producer=PRODUCER)
    before = tree(base)

    def fault():
        raise KeyboardInterrupt

    for at in range(1, total + 1):
        with monkeypatch.context() as patched:
            patched.setattr(rlx.outputs, "os", faulty(at, fault)[0])
            with pytest.raises(KeyboardInterrupt):
                write_folder(base / "out", FILES, producer=PRODUCER, force=replace)
        assert tree(base) == before


# From Python 3.12 on fork warns where the test runner has threads; the child only writes files.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("replace", [False, True])
def test_kill_at_any_write_leaves_no_partial_folder(tmp_path, monkeypatch, replace):
    if replace:
        write_folder(tmp_path / "counted", {"old": "x"}, producer=PRODUCER)
    calls = count_of_writes(tmp_path, monkeypatch, replace)
    complete = set(FILES) | {"manifest.json"}
    for at in range(1, len(calls) + 1):
        out = tmp_path / f"case{at}" / "out"
        out.parent.mkdir()
        if replace:
            write_folder(out, {"old": "x"}, producer=PRODUCER)
        child = os.fork()
        if child == 0:
            try:
                rlx.outputs.os = faulty(at, lambda: os.kill(os.getpid(), signal.SIGKILL))[0]
                write_folder(out, FILES, producer=PRODUCER, force=replace)
            finally:
                os._exit(1)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        if out.exists():
            read_manifest(out)
            assert set(tree(out)) in ([{"old", "manifest.json"}] if replace else []) + [complete]
        else:  # the old folder, if there was one, stands complete beside
            kept = [read_manifest(p) for p in out.parent.glob(".out.old-*")]
            assert len(kept) == replace
        write_folder(out, FILES, producer=PRODUCER, force=True)
        assert set(tree(out)) == complete


def corrupt(out, change):
    values = json.loads((out / "manifest.json").read_text())
    change(values)
    (out / "manifest.json").write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.pop("files"), r"is malformed\n  hint: emit the folder again \(--force\)$"),
        (lambda v: v.update(files=[]), r"is malformed\n"),
        (lambda v: v.update(options=None), r"is malformed\n"),
        (lambda v: v.update(target=3), r"is malformed\n"),
        (lambda v: v.update(input_sha256=3), r"is malformed\n"),
        (lambda v: v["files"].update(a=3), r"is malformed\n"),
        (lambda v: v["files"].update(a={"bytes": 1}), r"is malformed\n"),
        (lambda v: v["files"].update({"../a": v["files"]["empty"]}), r"is malformed\n"),
        (lambda v: v.update(generator="x"), r"is not a manifest of rlx$"),
        (
            lambda v: v.update(schema=2),
            r"has schema 2, this rlx reads 1\n  hint: emit the folder again$",
        ),
    ],
)
def test_malformed_manifest_is_refused(tmp_path, change, message):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    corrupt(out, change)
    with pytest.raises(OutputError, match=rf"^{out}/manifest.json: {message}"):
        read_manifest(out)


def test_missing_manifest_is_refused(tmp_path):
    with pytest.raises(
        OutputError,
        match=rf"^{tmp_path}/manifest.json: cannot be read: no such file or directory\n"
        r"  hint: name a folder that rlx emit wrote$",
    ):
        read_manifest(tmp_path)


def test_oversized_manifest_is_refused(tmp_path, monkeypatch):
    write_folder(tmp_path / "out", FILES, producer=PRODUCER)
    monkeypatch.setattr(rlx.outputs, "MANIFEST_LIMIT", 100)
    with pytest.raises(OutputError, match=r"manifest.json: is larger than 100 bytes$"):
        read_manifest(tmp_path / "out")


@pytest.mark.parametrize("content", ["int y;\n", "longer text\n"])
def test_changed_file_is_found(tmp_path, content):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    (out / "src/net.c").write_text(content)
    wanted = hashlib.sha256(b"int x;\n").hexdigest()[:16]
    with pytest.raises(
        OutputError,
        match=rf"^{out}/src/net.c: the file differs from the manifest, which wants 7 bytes with "
        rf"SHA-256 {wanted}...\n  hint: emit the folder again \(--force\)$",
    ):
        read_manifest(out)
    found = read_manifest(out, check_files=False).files["empty"]
    assert found == FileEntry(hashlib.sha256().hexdigest(), 0)


def test_missing_file_is_found_and_strange_file_left_alone(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    (out / "build.log").write_text("mine")
    read_manifest(out)
    (out / "empty").unlink()
    with pytest.raises(
        OutputError,
        match=rf"^{out}/empty: a file of the manifest cannot be read: no such file or directory\n",
    ):
        read_manifest(out)
