"""The example on the page of ONNX models does what it shows."""

import doctest
import re

from support import ROOT


def test_example_of_a_recurrent_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/guide/onnx.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{doctest\}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    test = doctest.DocTestParser().get_doctest(blocks[0], {}, "onnx.md", None, None)
    found: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=found.append)
    assert "".join(found) == ""
