"""``rlx verify --bound``."""

import json

import pytest

import rlx
from rlx.cli import bounds, main
from rlx.support.errors import UsageError
from rlx.targets.verifier import CountBounds
from support.messages import raises


@pytest.fixture
def folder(tmp_path, digits_model):
    rlx.emit(digits_model, "cortexm", tmp_path / "c", frames=2)
    return tmp_path / "c"


@pytest.mark.qemu
@pytest.mark.complete
def test_text_and_json_have_the_bound_of_each_layer(folder, capsys):
    assert main(["verify", str(folder), "--with", "qemu", "--bound", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    bound = report["bound"]
    assert bound["instructions"] >= report["instructions"]
    layers = [row["layer"] for row in bound["layers"]]
    assert main(["verify", str(folder), "--with", "qemu", "--bound"]) == 0
    text = capsys.readouterr().out
    table = text[text.index("Bound for every input") :]
    assert all(layer in table for layer in layers)
    assert f"{bound['instructions']:,}" in table


def test_the_reason_is_printed_where_there_is_none(folder, capsys, monkeypatch):
    nothing = CountBounds("instructions", None, reason="a loop depends on the input, at f+0x2")
    monkeypatch.setattr(bounds, "count_bounds", lambda *_, **__: nothing)
    found = bounds.derived_bounds(folder)
    assert found["bound"]["layers"] == []
    bounds.show_bounds(found)
    assert "no bound on the instructions for every input: a loop" in capsys.readouterr().out


def test_a_target_without_bounds_is_refused(folder, monkeypatch):
    monkeypatch.setattr(bounds, "count_bounds", lambda *_, **__: None)
    with raises(UsageError):
        bounds.derived_bounds(folder)
