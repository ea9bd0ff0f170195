"""The page about TFLite lists the operators that have importers."""

from __future__ import annotations

import re

import pytest
from support import ROOT

from rlx.frontends.tflite_ops import IMPORTERS, REAL_IMPORTERS


@pytest.mark.parametrize(("kind", "table"), [("int8", IMPORTERS), ("float32", REAL_IMPORTERS)])
def test_operators_are_listed(kind: str, table: dict[str, object]) -> None:
    text = (ROOT / "docs/reference/tflite.md").read_text(encoding="utf-8")
    listed = re.search(rf"Imported on {kind}: ([^.]*)\.", text)
    assert listed is not None
    assert re.findall(r"`(\w+)`", listed[1]) == sorted(table)
