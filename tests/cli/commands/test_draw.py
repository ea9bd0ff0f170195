"""``rlx draw`` as a user types it."""

import json
import xml.etree.ElementTree as ET

import pytest

from rlx.cli import main


@pytest.fixture
def draw(digits_model, tmp_path, capsys):
    def run(name, *arguments):
        path = tmp_path / name
        status = main(["draw", str(digits_model), "-o", str(path), *arguments])
        return (path, status, *capsys.readouterr())

    return run


def test_a_drawing(draw):
    path, status, out, _ = draw("g.SVG")
    assert (status, out) == (0, f"wrote {path}\n")
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    boxes = [e.get("data-layer") for e in root.iter() if e.get("data-layer")]
    assert (boxes[0], boxes[-1]) == ("image", "output 0")


def test_a_page_is_the_same_every_time(draw):
    path, _, out, _ = draw("g.html", "--json")
    first = path.read_bytes()
    assert json.loads(out) == {"out": str(path), "bytes": len(first)}
    assert len(first) < 300_000
    assert draw("g.html")[0].read_bytes() == first


def test_a_file_that_cannot_be_written_is_named(draw):
    path, status, _, err = draw("none/g.svg")
    assert status != 0
    assert f"{path}: cannot write the file" in err


@pytest.mark.parametrize("name", ["g.png", "g"])
def test_other_kinds_of_file_are_refused(draw, name):
    path, status, _, err = draw(name)
    assert (status, path.exists()) == (2, False)
    assert f"expected a file name that ends in .svg or .html, got '{path}'" in err
    assert "try: write for example -o g.svg\n" in err
