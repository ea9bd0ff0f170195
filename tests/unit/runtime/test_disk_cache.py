"""Entries on disk: whole or a miss, for any damage, any number of writers, and any folder."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from rlx.runtime.disk_cache import DiskCache, disk_cache, entry_key
from rlx.support import config
from rlx.support.errors import CacheWarning
from support.messages import said, warns

KEY = entry_key("test", {"source": "int x;"})
OTHER = entry_key("test", {"source": "int y;"})
CONTENT = bytes(range(256)) * 3
MIB = 1 << 20
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")


def content_of(key: str, size: int = 5000) -> bytes:
    """Return the only content that the tests store under a key."""
    return (key.encode() * (size // len(key) + 1))[:size]


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache", MIB)


def test_content_is_found_again(cache):
    assert cache.get(KEY) is None
    assert not cache.folder.exists()
    cache.put(KEY, CONTENT)
    assert (cache.get(KEY), cache.get(OTHER)) == (CONTENT, None)
    assert DiskCache(cache.folder, MIB).get(KEY) == CONTENT
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""


@POSIX
def test_folder_and_entries_are_private_for_any_umask(cache):
    old = os.umask(0)
    try:
        cache.put(KEY, CONTENT)
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cache.folder, cache.folder / KEY)]
    assert modes == [0o700, 0o600]
    assert cache.get(KEY) == CONTENT


def test_keys_differ_by_each_part():
    keys = [
        entry_key("a", {}),
        entry_key("b", {}),
        entry_key("a", {"x": "1"}),
        entry_key("a", {"x": b"1"}),
        entry_key("a", {"x": "1", "y": ""}),
        entry_key("a", {"x": "1y"}),
        entry_key("a", {"backend": "a"}),
        entry_key("a", {"rlx": "0"}),
    ]
    assert len(set(keys)) == len(keys)
    assert entry_key("a", {"x": "1", "y": "2"}) == entry_key("a", {"y": "2", "x": "1"})


def test_keys_depend_on_the_version(monkeypatch):
    monkeypatch.setattr("rlx.runtime.disk_cache.__version__", "0.0.1")
    assert entry_key("test", {"source": "int x;"}) != KEY


@pytest.mark.parametrize("key", ["../../etc/passwd", "", KEY[:-1], KEY.upper()])
def test_other_texts_are_not_keys(cache, key):
    for call in (lambda: cache.get(key), lambda: cache.put(key, b"")):
        with pytest.raises(ValueError, match="expected a key of entry_key"):
            call()


def damaged_entries(entry: bytes) -> list[bytes]:
    """Return 200 damaged forms of an entry: cut, longer, and with a bit flipped."""
    dice = random.Random(0)
    header = len(entry) - len(CONTENT)
    cuts = [*range(header + 1), len(entry) - 1][:80]
    bits = [*range(0, 8 * header, 9), *dice.sample(range(8 * header, 8 * len(entry)), 200)]
    forms = [entry[:size] for size in cuts] + [entry + b"\0", entry * 2]
    for bit in bits[: 200 - len(forms)]:
        flipped = bytearray(entry)
        flipped[bit // 8] ^= 1 << bit % 8
        forms.append(bytes(flipped))
    return forms


def test_damaged_entries_are_misses_with_a_warning(cache):
    cache.put(KEY, CONTENT)
    path = cache.folder / KEY
    entry = path.read_bytes()
    forms = damaged_entries(entry)
    assert len(forms) == 200
    for form in forms:
        path.write_bytes(form)
        fresh = DiskCache(cache.folder, MIB)
        with pytest.warns(CacheWarning):
            found = fresh.get(KEY)
        assert (found, fresh.get(KEY)) == (None, None)  # and warns once
    path.write_bytes(entry)
    assert cache.get(KEY) == CONTENT


def test_foreign_and_old_entries_are_misses(cache):
    cache.put(KEY, CONTENT)
    entry = (cache.folder / KEY).read_bytes()
    (cache.folder / OTHER).write_bytes(entry)
    (cache.folder / KEY).write_bytes(entry.replace(b"compiled 1", b"compiled 0", 1))
    with warns(CacheWarning):
        assert cache.get(OTHER) is None
        assert cache.get(KEY) is None
    cache.put(KEY, CONTENT)
    assert cache.get(KEY) == CONTENT


@POSIX
@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "writable"])
def test_other_files_are_not_read(cache, kind):
    cache.put(OTHER, CONTENT)
    path = cache.folder / KEY
    match kind:
        case "link":
            path.symlink_to(cache.folder / OTHER)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "writable":
            cache.put(KEY, CONTENT)
            path.chmod(0o620)
    with warns(CacheWarning):
        assert cache.get(KEY) is None


@POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(cache, mode):
    cache.put(KEY, CONTENT)
    cache.folder.chmod(mode)
    with warns(CacheWarning):
        assert cache.get(KEY) is None
        cache.put(OTHER, CONTENT)
    assert not (cache.folder / OTHER).exists()


@POSIX
def test_a_folder_of_another_user_is_not_used(cache, monkeypatch):
    cache.put(KEY, CONTENT)
    monkeypatch.setattr(os, "geteuid", lambda: cache.folder.stat().st_uid + 1)
    with pytest.warns(CacheWarning, match="it belongs to user"):
        assert cache.get(KEY) is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_folder_that_takes_nothing_gets_one_warning(cache, monkeypatch, code):
    cache.put(KEY, CONTENT)

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with warns(CacheWarning):
        for _ in range(3):
            cache.put(OTHER, CONTENT)
    assert (cache.get(OTHER), cache.get(KEY)) == (None, CONTENT)
    assert [path.name for path in cache.folder.iterdir()] == [KEY]


def test_a_place_that_is_not_a_folder_gets_one_warning(tmp_path):
    (tmp_path / "cache").write_text("", encoding="utf-8")
    for folder in (tmp_path / "cache", tmp_path / "cache" / "below"):
        cache = DiskCache(folder, MIB)
        with warns(CacheWarning):
            cache.put(KEY, CONTENT)
            cache.put(KEY, CONTENT)
            assert cache.get(KEY) is None


def test_entries_unused_for_longest_are_removed(tmp_path):
    cache = DiskCache(tmp_path, 4 * 1200)
    keys = [entry_key("test", {"number": str(number)}) for number in range(5)]
    for place, key in enumerate(keys[:4]):
        cache.put(key, bytes(1000))
        os.utime(tmp_path / key, (place, place))
    assert cache.get(keys[0]) == bytes(1000)  # used now
    cache.put(keys[4], bytes(1000))
    assert [key for key in keys if cache.get(key) is None] == [keys[1]]
    cache.put(keys[1], bytes(4 * 1200))
    assert cache.get(keys[1]) is None
    cache.put(keys[1], bytes(4 * 1200 - 200))
    assert [path.name for path in tmp_path.iterdir()] == [keys[1]]


def test_the_cache_of_the_settings(tmp_path):
    with config.override(cache=tmp_path, compile_cache=True, compile_cache_mib=3):
        found = disk_cache()
        assert (found.folder, found.max_bytes) == (tmp_path / "compiled", 3 * MIB)
        assert disk_cache() is found
    with config.override(compile_cache=tmp_path / "own", cache=False):
        assert disk_cache().folder == tmp_path / "own"
    for settings in ({"compile_cache": False}, {"cache": False, "compile_cache": True}):
        with config.override(**settings):
            cache = disk_cache()
            cache.put(KEY, CONTENT)
            assert (cache.get(KEY), repr(cache)) == (None, "<DiskCache off>")


USE = """
import hashlib, random, sys, threading, warnings
from pathlib import Path
from rlx.runtime.disk_cache import DiskCache, entry_key

warnings.simplefilter("error")
cache = DiskCache(Path(sys.argv[1]), 100_000)
failures = []


def work(seed):
    dice = random.Random(seed)
    try:
        for _ in range(int(sys.argv[3])):
            key = entry_key("test", {"number": str(dice.randrange(12))})
            expected = (key.encode() * 400)[: 10_000 + int(key[:2], 16)]
            found = cache.get(key)
            if found is None:
                cache.put(key, expected)
            elif found != expected:
                failures.append(key)
    except BaseException as error:
        failures.append(repr(error))


threads = [threading.Thread(target=work, args=(f"{sys.argv[2]} {n}",)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures)
"""


def use(folder, seed: int, rounds: int) -> subprocess.Popen[str]:
    """Start a process of eight threads that use one cache, for more entries than it has space."""
    command = [sys.executable, "-c", USE, str(folder), str(seed), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_four_processes_of_eight_threads(tmp_path):
    processes = [use(tmp_path / "cache", seed, 40) for seed in range(4)]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["[]\n"] * 4
    assert sum(path.stat().st_size for path in (tmp_path / "cache").iterdir()) <= 100_000


def put_until_killed(cache: DiskCache, keys: list[str], pipe: int | None = None) -> None:
    """Store entries in a forked process, and write a byte after each; never returns."""
    try:
        while True:
            for key in keys:
                cache.put(key, content_of(key, 300_000))
                if pipe is not None:
                    os.write(pipe, b".")
    finally:
        os._exit(1)


@POSIX
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_writers_leave_whole_entries_or_none(tmp_path):
    cache = DiskCache(tmp_path / "cache", 2 * MIB)
    keys = [entry_key("test", {"number": str(number)}) for number in range(5)]
    dice = random.Random(1)
    for round_number in range(50):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            put_until_killed(cache, keys, writing)
        entries = round_number % 3
        for _ in range(entries):
            assert os.read(reading, 1) == b"."
        time.sleep(dice.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
        contents = {key: cache.get(key) for key in keys}
        assert all(one in (None, content_of(key, 300_000)) for key, one in contents.items())
        assert sum(one is not None for one in contents.values()) >= entries
        for key, one in contents.items():
            if one is not None and dice.random() < 0.5:
                (cache.folder / key).unlink()
    cache.put(KEY, CONTENT)
    assert {path.name for path in cache.folder.iterdir()} <= {KEY, *keys}


@POSIX
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["open", "chmod", "fsync", "replace"])
@pytest.mark.parametrize("late", [False, True])
def test_writers_killed_at_a_call(cache, monkeypatch, name, late):
    cache.put(KEY, b"old")
    child = os.fork()
    if child == 0:
        real = getattr(os, name)

        def call(*arguments, **options):
            if late:
                real(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(os, name, call)
        put_until_killed(cache, [KEY])
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    whole = content_of(KEY, 300_000)
    assert cache.get(KEY) == (whole if late and name == "replace" else b"old")
    cache.put(OTHER, CONTENT)
    assert {path.name for path in cache.folder.iterdir()} == {KEY, OTHER}


def test_threads_of_one_process_share_a_cache(cache):
    keys = [entry_key("test", {"number": str(number)}) for number in range(6)]

    def work(number: int) -> bool:
        key = keys[number % 6]
        cache.put(key, content_of(key))
        return cache.get(key) == content_of(key)

    with warnings.catch_warnings(), ThreadPoolExecutor(8) as pool:
        warnings.simplefilter("error")
        assert all(pool.map(work, range(100)))


def test_the_command_line_prints_one_line(tmp_path, capsys):
    from rlx.cli.failures import plain_warnings

    (tmp_path / "cache").write_text("", encoding="utf-8")
    with plain_warnings():
        DiskCache(tmp_path / "cache", MIB).put(KEY, CONTENT)
    said(capsys.readouterr().err)
