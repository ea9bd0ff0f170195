"""The architecture page names every package of the layers that imports are held to."""

import re
import tomllib

from support import ROOT


def test_every_layer_has_a_row():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["type"] == "layers")
    packages = [name for layer in layers for name in re.split(r"[|:]", layer.replace(" ", ""))]
    page = (ROOT / "docs" / "guide" / "architecture.md").read_text()
    assert [name for name in packages if f"`{name}`" not in page] == []
