"""The pictures of the documentation are what the commands write."""

import pytest

from rlx.cli import main
from support import ROOT

IMAGES = ROOT / "docs" / "images"
ADVICE = "run the command again and look at the picture: docs/how-to/look-at-a-network.md"


def test_drawing(digits_model, tmp_path):
    path = tmp_path / "digits.svg"
    assert main(["draw", str(digits_model), "-o", str(path)]) == 0
    assert path.read_bytes() == (IMAGES / "digits.svg").read_bytes(), ADVICE


def test_memory(digits_model, tmp_path):
    out = tmp_path / "out"
    command = ["emit", str(digits_model), "--target", "cortexm", "--ram", "1K", "-o", str(out)]
    assert main(command) == 0
    picture = (out / "report" / "memory.svg").read_bytes()
    assert picture == (IMAGES / "digits-memory.svg").read_bytes(), ADVICE


@pytest.mark.slow
def test_table_of_devices(digits_model, capsys):
    page = (ROOT / "docs" / "how-to" / "look-at-a-network.md").read_text(encoding="utf-8")
    shown = page.partition("--devices all\n")[2].partition("```")[0].splitlines()
    assert main(["estimate", str(digits_model), "--devices", "all"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(shown) > 5
    assert [line for line in shown if line != "..." and line not in printed] == [], ADVICE
