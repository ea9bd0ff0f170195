"""Results are kept across runs, and nothing that goes wrong with the cache is an error."""

import json
import os
import sys
from pathlib import Path

import pytest

from rlx.support import config
from rlx.support.files import cache

KEY = cache.key_of({"what": 1})


@pytest.fixture
def folder(tmp_path):
    with config.override(cache=tmp_path / "cache"):
        yield tmp_path / "cache"


def test_what_is_kept_is_found_again(folder):
    assert cache.recall("verify", KEY) is None
    cache.keep("verify", KEY, {"equal": 3, "runs": [{"name": "größe"}]})
    entry = cache.recall("verify", KEY)
    assert entry.result == {"equal": 3, "runs": [{"name": "größe"}]}
    assert entry.computed_at.endswith(" UTC")
    assert cache.recall("verify", cache.key_of({"what": 2})) is None
    assert cache.recall("build", KEY) is None
    assert [path.name for path in (folder / "verify").iterdir()] == [f"{KEY}.json"]


def broken(text):
    values = json.loads(text)
    values["result"]["equal"] = 4
    return json.dumps(values)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:40],
        lambda _: "",
        lambda _: "[]",
        lambda _: "[" * 100_000,
        lambda text: text.replace('"made"', '"when"'),
        broken,
        lambda text: text.replace(KEY, "0" * 64),
    ],
)
def test_damaged_entries_are_ignored(folder, damage):
    cache.keep("verify", KEY, {"equal": 3})
    path = folder / "verify" / f"{KEY}.json"
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert cache.recall("verify", KEY) is None
    cache.keep("verify", KEY, {"equal": 3})
    assert cache.recall("verify", KEY).result == {"equal": 3}


def test_entries_unused_for_longest_are_removed(folder, monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRIES", 3)
    keys = [cache.key_of({"number": number}) for number in range(5)]
    for place, key in enumerate(keys[:3]):
        cache.keep("verify", key, {})
        os.utime(folder / "verify" / f"{key}.json", (place, place))
    assert cache.recall("verify", keys[0]) is not None  # used now
    cache.keep("verify", keys[3], {})
    assert [key for key in keys[:4] if cache.recall("verify", key)] == [keys[0], *keys[2:4]]


def test_large_results_are_not_kept(folder):
    cache.keep("verify", KEY, {"text": "a" * cache.MAX_ENTRY_BYTES})
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with config.override(cache=tmp_path / "file" / "below"):
        cache.keep("verify", KEY, {})
        assert cache.recall("verify", KEY) is None


def test_switched_off():
    with config.override(cache=False):
        assert cache.cache_folder() is None
        cache.keep("verify", KEY, {})
        assert cache.recall("verify", KEY) is None


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("linux", {}, "HOME/.cache/rlx"),
        ("linux", {"XDG_CACHE_HOME": "/big/cache"}, "/big/cache/rlx"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "HOME/.cache/rlx"),
        ("darwin", {}, "HOME/Library/Caches/rlx"),
        ("win32", {"LOCALAPPDATA": "/c/Users/me/Local"}, "/c/Users/me/Local/rlx"),
    ],
)
def test_folder_of_each_system(monkeypatch, tmp_path, system, variables, folder):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", system)
    with config.override(cache=True):
        found = cache.cache_folder()
    assert found == Path(folder.replace("HOME", str(tmp_path)))
