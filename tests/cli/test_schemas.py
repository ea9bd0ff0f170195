"""What commands print with ``--json`` is as the schemas that ship say."""

from __future__ import annotations

import json
from importlib import util

import msgspec
import pytest
from support import ROOT

import rlx
from rlx import f32
from rlx.cli import main
from rlx.ir.file import save
from rlx.ir.module import GraphModule
from rlx.schemas import SCHEMAS

OPEN = ("verify",)
"""Further keys are the target's."""

COMMANDS = {
    "check": [["check", "digits", "--target", "fpga"], ["check", "net", "--target", "cortexm"]],
    "diff": [["diff", "out", "out"]],
    "doctor": [["doctor"]],
    "emit": [["emit", "digits", "--target", "cortexm", "-o", "new"]],
    "error": [["inspect", "nothing.tflite"], ["emit"], ["nothing"]],
    "explain": [["explain"], ["explain", "E112"]],
    "import": [["import", "digits", "-o", "new.rlx"]],
    "run": [["run", "digits"], ["run", "digits", "--frames", "3"]],
    "targets": [["targets"]],
    "verify": [["verify", "out", "--with", "host"]],
}


@pytest.fixture(scope="module")
def tool():
    spec = util.spec_from_file_location("schemas", ROOT / "tools" / "schemas.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path, monkeypatch, digits_model):
    graph = rlx.trace("net", lambda x: x.relu(), f32(1, 8)).graph
    save(GraphModule.hir(graph), tmp_path / "net")
    (tmp_path / "digits").write_bytes(digits_model.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_schema_is_tested():
    assert COMMANDS.keys() == SCHEMAS.keys()


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_up_to_date(tool, name):
    stored = (ROOT / "rlx" / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    assert stored == tool.schema_text(name, SCHEMAS[name]), "run tools/schemas.py"


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_what_is_printed_conforms(folder, capsys, name):
    if name in ("diff", "verify"):
        assert main(["emit", "digits", "--target", "cortexm", "-o", "out"]) == 0
        capsys.readouterr()
    for command in COMMANDS[name]:
        main([*command, "--json"])
        printed = json.loads(capsys.readouterr().out)
        msgspec.convert(printed, SCHEMAS[name], strict=True)
        if name not in OPEN:
            unknown = printed.keys() - SCHEMAS[name].__annotations__.keys()
            assert not unknown, "add the keys to rlx/schemas and run tools/schemas.py"


def test_what_does_not_conform_is_found():
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"error": {"code": 7}}, SCHEMAS["error"])
