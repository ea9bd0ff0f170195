"""The notebooks of ``examples/notebooks``: every cell runs, as a user has them."""

from __future__ import annotations

import json
import sys

import nbclient
import nbformat
import pytest

from rlx.support.files import shipped
from support import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["first_look.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_output_is_stored(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert "pip install 'rlx[" in "".join(book["cells"][0]["source"])


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of the kernel's client
def test_every_cell_runs(path, tmp_path, monkeypatch):
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("JUPYTER_PATH", f"{sys.prefix}/share/jupyter")
    shipped.copy("notebooks", tmp_path)
    folder = tmp_path / "notebooks"
    book = nbformat.read(folder / path.name, as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()  # raises what a cell raises
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in shown)
    assert "of 397 correct" in text
    assert "32 of 32 outputs are equal" in text
    data = [output.get("data", {}) for output in shown]
    pages = [one["text/html"] for one in data if "text/html" in one]
    assert len(pages) >= 6  # the network, classes, layers, comparison, estimates, report
    assert any("<svg" in page for page in pages)
