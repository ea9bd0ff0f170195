"""One version of the interpreter is the reference, and everything names that one."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

from rlx.driver import driver
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import GraphModule, file
from rlx.targets import load
from support import ROOT
from support.files.tflite_builder import TfliteBuilder

if TYPE_CHECKING:
    from pathlib import Path

RENEWED = (
    "this is another version than REFERENCE of rlx.frontends.tflite.frontend, which importers "
    "reproduce; with "
    "the new one run tests/unit/frontends/test_scales.py and the tests marked 'models': where it "
    "combines scales in another way a test fails that names the operator, and importer, sweep and "
    "a new design note must say so. Then set REFERENCE, README.md and docs/reference/tflite.md"
)


def module() -> GraphModule:
    model = TfliteBuilder()
    x = model.tensor((1, 4), scale=0.5)
    y = model.tensor((1, 4), scale=0.25)
    model.operator("QUANTIZE", [x], [y])
    return tflite.load(model.build([x], [y]))


def test_the_installed_wheel_is_the_reference() -> None:
    assert version(tflite.REFERENCE.name) == tflite.REFERENCE.version, RENEWED


def test_the_installed_litert_is_the_reference_for_uint8() -> None:
    # Another version: run the tests of uint8 with it, then set UINT8_REFERENCE.
    assert version(tflite.UINT8_REFERENCE.name) == tflite.UINT8_REFERENCE.version


def test_the_lock_file_names_the_reference() -> None:
    lock = (ROOT / "requirements" / "dev.lock").read_text()
    (pinned,) = re.findall(rf"^{tflite.REFERENCE.name}==(\S+)", lock, re.MULTILINE)
    assert pinned == tflite.REFERENCE.version, RENEWED


@pytest.mark.parametrize("name", ["README.md", "docs/reference/tflite.md"])
def test_documents_name_the_reference(name: str) -> None:
    found = re.findall(r"0\.dev[0-9]+", (ROOT / name).read_text())
    assert set(found) == {tflite.REFERENCE.version}, RENEWED


def test_imported_graphs_carry_the_reference(tmp_path: Path) -> None:
    imported = module()
    assert imported.reference == tflite.REFERENCE
    lowered = driver.lower(imported, load("cortexm")).module
    assert lowered.reference == tflite.REFERENCE
    file.save(imported, tmp_path / "model.rlx")
    assert file.load(tmp_path / "model.rlx").reference is None


def test_manifests_name_the_reference(tmp_path: Path) -> None:
    imported = module()
    driver.emit(imported, load("cortexm"), tmp_path / "imported")
    driver.emit(GraphModule.mir(imported.graph), load("cortexm"), tmp_path / "built")
    facts = {"name": "tflite-micro", "version": tflite.REFERENCE.version}
    for folder, reference in (("imported", facts), ("built", None)):
        manifest = json.loads((tmp_path / folder / "manifest.json").read_text())
        assert manifest["reference"] == reference
