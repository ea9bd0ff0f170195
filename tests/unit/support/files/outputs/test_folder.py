"""Output folders appear whole or not at all, whatever fails at whatever moment."""

import errno
import hashlib
import json
import os
import stat

import pytest

import rlx.support.files.outputs.folder
import rlx.support.files.outputs.manifest
from rlx.support.errors import OutputError
from rlx.support.files.outputs import (
    MANIFEST,
    FileEntry,
    Manifest,
    Producer,
    check_paths,
    read_manifest,
    write_folder,
)
from support.messages import raises

FILES = {"README.md": "hello\n", "src/net.c": b"int x;\n", "include/net.h": "é\n", "empty": b""}
PRODUCER = Producer(rlx_version="1.2.3", target="cortexm", options={"prefix": "net"})


def tree(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def names(folder):
    return [path.name for path in folder.iterdir()]


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
    with raises(ValueError):
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
    with raises(OutputError):
        write_folder(out, {"new": "x"}, producer=PRODUCER)
    assert "README.md" in tree(out)
    write_folder(out, {"new": "x"}, producer=PRODUCER, force=True)
    assert set(tree(out)) == {"new", "manifest.json"}
    assert names(tmp_path) == ["out"]


STRANGE = {
    "none": None,
    "empty": "",
    "list": "[]",
    "other": "{}",
    "deep": "[" * 9999,
    "two keys": '{"generator": "rlx", "schema": 1}',
}


@pytest.mark.parametrize("manifest", STRANGE.values(), ids=STRANGE)
def test_force_leaves_a_strange_folder_alone(tmp_path, manifest):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    if manifest is not None:
        (out / "manifest.json").write_text(manifest)
    before = tree(out)
    with raises(OutputError):
        write_folder(out, FILES, producer=PRODUCER, force=True)
    assert tree(out) == before
    assert names(tmp_path) == ["out"]


def test_force_carries_over_what_rlx_did_not_write(tmp_path):
    out = tmp_path / "out"
    write_folder(out, {"src/net.c": "old", "gone/x": "old"}, producer=PRODUCER)
    (out / "build/empty").mkdir(parents=True)
    (out / "build/net.o").write_bytes(b"object")
    (out / "build").chmod(0o555)
    (out / "src/notes.txt").write_text("mine")
    (out / "link").symlink_to("nowhere")
    os.mkfifo(out / "pipe")
    inode = (out / "build/net.o").stat().st_ino
    out.chmod(0o700)
    write_folder(out, FILES, producer=PRODUCER, force=True)
    written = tree(out)
    assert set(written) == {*FILES, "manifest.json", "build/net.o", "src/notes.txt"}
    assert written["src/notes.txt"] == b"mine"
    assert (out / "build/net.o").stat().st_ino == inode
    assert (out / "build/empty").is_dir()
    assert stat.S_IMODE((out / "build").stat().st_mode) == 0o555
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert (out / "link").readlink().name == "nowhere"
    assert stat.S_ISFIFO((out / "pipe").stat().st_mode)
    assert not (out / "gone").exists()
    assert names(tmp_path) == ["out"]
    read_manifest(out)


def test_files_are_carried_over_without_hard_links_too(tmp_path, monkeypatch):
    def no_links(*_, **__):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    out = tmp_path / "out"
    write_folder(out, {"old": "x"}, producer=PRODUCER)
    (out / "mine").write_text("text")
    (out / "link").symlink_to("nowhere")
    monkeypatch.setattr(os, "link", no_links)
    write_folder(out, FILES, producer=PRODUCER, force=True)
    assert set(tree(out)) == {*FILES, "manifest.json", "mine"}
    assert (out / "link").is_symlink()
    assert names(tmp_path) == ["out"]


def test_files_that_stay_the_same_keep_their_time(tmp_path):
    out = tmp_path / "out"
    files = {"src/same.c": "int x;", "src/other.c": "int y;", "gone.c": "int z;"}
    write_folder(out, files, producer=PRODUCER)
    stamp = 1_000_000_000_123_456_789
    for path in [*out.rglob("*.c"), out / MANIFEST]:
        os.utime(path, ns=(stamp, stamp))
    files = {"src/same.c": "int x;", "src/other.c": "int z;", "new.c": "int y;"}
    write_folder(out, files, producer=PRODUCER, force=True)
    same = {path.name for path in out.rglob("*") if path.is_file() and old(path, stamp)}
    assert same == {"same.c"}
    for path in out.rglob("*.c"):
        os.utime(path, ns=(stamp, stamp))
    os.utime(out / MANIFEST, ns=(stamp, stamp))
    write_folder(out, files, producer=PRODUCER, force=True)
    assert all(old(path, stamp) for path in out.rglob("*") if path.is_file())
    assert (out / "src/other.c").read_text() == "int z;"


def old(path, stamp):
    """Whether a file still has a time, as far as the file system tells times apart."""
    return abs(path.stat().st_mtime_ns - stamp) < 2_000_000_000


def test_a_file_in_use_elsewhere_is_not_the_new_one(tmp_path):
    """A new file has a node of its own: links that a user made to the old one stay as they are."""
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    name = sorted(FILES)[0]
    os.link(out / name, tmp_path / "mine")
    write_folder(out, FILES, producer=PRODUCER, force=True)
    assert not (out / name).samefile(tmp_path / "mine")


def test_force_refuses_to_lose_an_edit(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    for name in ("src/net.c", "include/net.h", "README.md"):
        (out / name).write_text("edited")
    (out / "empty").unlink()
    (out / "empty").symlink_to(os.devnull)
    before = tree(out)
    with raises(OutputError):
        write_folder(out, FILES, producer=PRODUCER, force=True)
    assert tree(out) == before


@pytest.mark.parametrize("name", ["src/new.c", "src/new.c/x", "src"])
def test_force_refuses_to_lose_a_file_where_a_new_one_comes(tmp_path, name):
    out = tmp_path / "out"
    write_folder(out, {"old": "x"}, producer=PRODUCER)
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("mine")
    with raises(OutputError):
        write_folder(out, {"src/new.c": "int y;"}, producer=PRODUCER, force=True)
    assert (out / name).read_text() == "mine"


def test_equal_file_of_the_user_is_no_reason_to_refuse(tmp_path):
    out = tmp_path / "out"
    write_folder(out, {"old": "x"}, producer=PRODUCER)
    (out / "new").write_text("same")
    write_folder(out, {"new": "same"}, producer=PRODUCER, force=True)
    assert set(tree(out)) == {"new", "manifest.json"}


@pytest.mark.parametrize("length", [200, 201, 255])
@pytest.mark.parametrize("letter", ["n", "\u00e9"])
def test_long_names_work(tmp_path, length, letter):
    out = tmp_path / (letter * (length // len(letter.encode())))
    for force in (False, True):
        write_folder(out, FILES, producer=PRODUCER, force=force)
    assert names(tmp_path) == [out.name]


def test_name_that_is_too_long_is_refused(tmp_path):
    with raises(OutputError):
        write_folder(tmp_path / ("n" * 256), FILES, producer=PRODUCER)


def busy(*_):
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def test_mount_point_is_refused(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(os.path, "ismount", lambda path: path == tmp_path / "out")
        with raises(OutputError):
            write_folder(tmp_path / "out", FILES, producer=PRODUCER)
    monkeypatch.setattr(os, "rename", busy)  # a bind mount of the same file system
    with raises(OutputError):
        write_folder(tmp_path / "out", FILES, producer=PRODUCER)
    assert names(tmp_path) == ["out"]


def appearing(monkeypatch, act):
    """Run ``act`` in the moment before the complete folder is moved into its place."""
    move = rlx.support.files.outputs.folder._move

    def moved(*arguments, **options):
        act()
        move(*arguments, **options)

    monkeypatch.setattr(rlx.support.files.outputs.folder, "_move", moved)


@pytest.mark.parametrize("force", [False, True])
def test_folder_that_appears_while_we_write_is_left_alone(tmp_path, monkeypatch, force):
    out = tmp_path / "out"

    def appear():
        out.mkdir()
        (out / "thesis.tex").write_text("years of work")

    appearing(monkeypatch, appear)
    with raises(OutputError):
        write_folder(out, FILES, producer=PRODUCER, force=force)
    assert tree(out) == {"thesis.tex": b"years of work"}
    assert names(tmp_path) == ["out"]


def test_second_writer_without_force_is_refused(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        appearing(patched, lambda: write_first(patched, out))
        with raises(OutputError):
            write_folder(out, FILES, producer=PRODUCER)
    assert set(tree(out)) == {"first", "manifest.json"}
    assert names(tmp_path) == ["out"]


def write_first(patched, out):
    patched.undo()
    write_folder(out, {"first": "x"}, producer=PRODUCER)


@pytest.mark.parametrize("can_exchange", [True, False])
def test_folder_exchanged_behind_our_back_is_put_back(tmp_path, monkeypatch, can_exchange):
    out = tmp_path / "out"
    write_folder(out, {"old": "x"}, producer=PRODUCER)
    replace = rlx.support.files.outputs.folder._replace
    swapped = []

    def swap_first(temporary, final):
        if not swapped:
            out.rename(tmp_path / "aside")
            out.mkdir()
            (out / "thesis.tex").write_text("years of work")
            swapped.append(True)
        return replace(temporary, final)

    if not can_exchange:
        monkeypatch.setattr(rlx.support.files.outputs.folder, "exchange", lambda *_: False)
    monkeypatch.setattr(rlx.support.files.outputs.folder, "_replace", swap_first)
    with raises(OutputError):
        write_folder(out, FILES, producer=PRODUCER, force=True)
    assert tree(out) == {"thesis.tex": b"years of work"}
    assert sorted(names(tmp_path)) == ["aside", "out"]


def test_file_that_appears_too_late_to_be_carried_over_is_kept(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_folder(out, {"old": "x"}, producer=PRODUCER)
    replace = rlx.support.files.outputs.folder._replace

    def late(temporary, final):
        (out / "late.txt").write_text("mine")
        return replace(temporary, final)

    monkeypatch.setattr(rlx.support.files.outputs.folder, "_replace", late)
    write_folder(out, FILES, producer=PRODUCER, force=True)
    (kept,) = tmp_path.glob("out.kept-*")
    assert tree(kept)["late.txt"] == b"mine"
    assert set(tree(out)) == {*FILES, "manifest.json"}


def test_file_and_working_folder_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with raises(OutputError):
        write_folder(tmp_path / "file", FILES, producer=PRODUCER, force=True)
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    for place in (".", "..", tmp_path / "a"):
        with raises(OutputError):
            write_folder(place, FILES, producer=PRODUCER, force=True)


def test_system_error_is_reported_with_the_place(tmp_path):
    (tmp_path / "file").write_text("x")
    with raises(OutputError):
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
    with raises(ValueError):
        write_folder(tmp_path / "out", {name: "x"}, producer=PRODUCER)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "names",
    [["manifest.json"], ["a/B", "A/b"], ["a", "a/b"]],
)
def test_colliding_names_are_refused(names):
    with raises(ValueError):
        check_paths(dict.fromkeys(names))


def corrupt(out, change):
    values = json.loads((out / "manifest.json").read_text())
    change(values)
    (out / "manifest.json").write_text(json.dumps(values))


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.pop("files"),
        lambda v: v.update(files=[]),
        lambda v: v.update(options=None),
        lambda v: v.update(target=3),
        lambda v: v.update(input_sha256=3),
        lambda v: v["files"].update(a=3),
        lambda v: v["files"].update(a={"bytes": 1}),
        lambda v: v["files"]["empty"].update(sha256=1.5),
        lambda v: v["files"]["empty"].update(sha256="00"),
        lambda v: v["files"]["empty"].update(bytes=-1),
        lambda v: v["files"]["empty"].update(bytes=True),
        lambda v: v["files"]["empty"].update(more=1),
        lambda v: v["files"].update({"../a": v["files"]["empty"]}),
        lambda v: v.update(generator="x"),
        lambda v: v.update(schema=2),
    ],
)
def test_malformed_manifest_is_refused(tmp_path, change):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    corrupt(out, change)
    with raises(OutputError):
        read_manifest(out)


def test_missing_manifest_is_refused(tmp_path):
    with raises(OutputError):
        read_manifest(tmp_path)


def test_oversized_manifest_is_refused(tmp_path, monkeypatch):
    write_folder(tmp_path / "out", FILES, producer=PRODUCER)
    monkeypatch.setattr(rlx.support.files.outputs.manifest, "MAX_MANIFEST_BYTES", 100)
    with raises(OutputError):
        read_manifest(tmp_path / "out")


@pytest.mark.parametrize("content", ["int y;\n", "longer text\n"])
def test_changed_file_is_found(tmp_path, content):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    (out / "src/net.c").write_text(content)
    with raises(OutputError):
        read_manifest(out)
    found = read_manifest(out, check_files=False).files["empty"]
    assert found == FileEntry(hashlib.sha256().hexdigest(), 0)


def test_missing_file_is_found_and_strange_file_left_alone(tmp_path):
    out = tmp_path / "out"
    write_folder(out, FILES, producer=PRODUCER)
    (out / "build.log").write_text("mine")
    read_manifest(out)
    (out / "empty").unlink()
    with raises(OutputError):
        read_manifest(out)
