"""Templates are compiled once, and never from another source."""

import sys

import jinja2
import pytest

from rlx.support.text.templates import environment


def shout(text):
    return text.upper()


def rendered(folder):
    return environment(folder, filters=(shout,)).get_template("a.j2").render(x="b")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "a.j2").write_text("{{ x | shout }}\n")
    return tmp_path


def kept(folder):
    return sorted((folder / "__pycache__").glob("*"))


def test_a_template_is_compiled_once(folder, monkeypatch):
    assert rendered(folder) == "B\n"
    (path,) = kept(folder)
    assert path.name == f"a.j2.{sys.implementation.cache_tag}-1.jinja"
    monkeypatch.setattr(jinja2.Environment, "compile", None)
    assert rendered(folder) == "B\n"


def test_another_source_is_compiled_anew(folder):
    rendered(folder)
    (folder / "a.j2").write_text("{{ x }}{{ x }}\n")
    assert rendered(folder) == "bb\n"
    assert len(kept(folder)) == 1


@pytest.mark.parametrize("damaged", [b"", b"j2", b"\0" * 100])
def test_damaged_files_are_ignored(folder, damaged):
    rendered(folder)
    kept(folder)[0].write_bytes(damaged)
    assert rendered(folder) == "B\n"


def test_cut_files_are_ignored(folder):
    rendered(folder)
    (path,) = kept(folder)
    path.write_bytes(path.read_bytes()[:-20])
    assert rendered(folder) == "B\n"


def test_nothing_is_kept_where_python_keeps_nothing(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(folder) == "B\n"
    assert list(folder.iterdir()) == [folder / "a.j2"]


def test_a_folder_that_cannot_be_written_is_no_error(folder):
    (folder / "__pycache__").write_text("in the way")
    assert rendered(folder) == "B\n"


def test_what_a_template_lacks_is_an_error(folder):
    (folder / "a.j2").write_text("{{ y }}")
    with pytest.raises(jinja2.UndefinedError, match=r"^'y' is undefined$"):
        rendered(folder)
