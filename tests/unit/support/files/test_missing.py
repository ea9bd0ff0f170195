"""Errors for missing files name a similar file of the folder."""

import pytest

import rlx
from rlx.support.errors import OutputError, UsageError
from rlx.support.files.missing import missing_file, similar_name
from support import ROOT
from support.messages import raises


def test_a_similar_name_replaces_the_advice(tmp_path):
    (tmp_path / "samples.npz").touch()
    assert similar_name(tmp_path / "sample.npz", "give one") == (
        f"did you mean {str(tmp_path / 'samples.npz')!r}?"
    )
    assert similar_name(tmp_path / "other.npz", "give one") == "give one"
    assert similar_name(tmp_path / "none" / "samples.npz", "give one") == "give one"
    assert similar_name(tmp_path / "a\0b", "give one") == "give one"
    error = missing_file(tmp_path / "sample.npz", "give one", where="data")
    assert (type(error), error.where) == (UsageError, "data")


@pytest.mark.parametrize(
    "call",
    [
        lambda: rlx.load("nets.rlx"),
        lambda: rlx.run("net.rlx", "sample.npz"),
        lambda: rlx.quantize("net.rlx", "sample.npz"),
        lambda: rlx.compare("net.rlx", "net.rlx", "sample.npz"),
    ],
)
def test_every_function_names_the_similar_file(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.rlx").write_bytes((ROOT / "examples/digits/digits.rlx").read_bytes())
    (tmp_path / "samples.npz").touch()
    with raises(UsageError):
        call()


def test_a_missing_folder_is_not_called_unreadable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for name in ("ou", "elsewhere"):
        with raises(OutputError):
            rlx.verify(name)
