"""``rlx inspect --svg`` and ``--html``."""

import xml.etree.ElementTree as ET

from rlx.cli import main


def test_inspect_writes_a_drawing_and_a_page(digits_model, tmp_path, capsys):
    svg, html = tmp_path / "g.svg", tmp_path / "g.html"
    assert main(["inspect", str(digits_model), "--svg", str(svg), "--html", str(html)]) == 0
    assert capsys.readouterr().out == f"wrote {svg}\nwrote {html}\n"
    root = ET.fromstring(svg.read_text(encoding="utf-8"))
    boxes = [e.get("data-layer") for e in root.iter() if e.get("data-layer")]
    assert boxes[0] == "image"
    assert boxes[-1] == "output 0"
    assert len(html.read_bytes()) < 300_000
    first = html.read_bytes()
    assert main(["inspect", str(digits_model), "--html", str(html)]) == 0
    assert html.read_bytes() == first


def test_a_place_that_cannot_be_written_is_named(digits_model, tmp_path, capsys):
    path = tmp_path / "none" / "g.svg"
    assert main(["inspect", str(digits_model), "--svg", str(path)]) != 0
    assert f"{path}: cannot write the file" in capsys.readouterr().err
