"""Every emitted text file says what may be done with it."""

from __future__ import annotations

import re

import pytest

from rlx import frontends
from rlx.driver import driver
from rlx.support.text.licence import COMMENTS, DATA, LICENCE, with_licence
from rlx.targets import target
from support import ROOT

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cortexm", {"self_test": 1}),
        ("fpga", {"control": "axi-lite"}),
        ("fpga", {"device": "artix7-35t"}),
        ("fpga", {"device": "ice40-up5k", "architecture": "engine"}),
        ("host", {}),
    ],
)
def test_every_text_file_has_the_line_once(tmp_path, name, options):
    chosen = target.load(name)
    module = frontends.load(DIGITS)
    driver.emit(module, chosen, tmp_path / "out", options=chosen.options(**options))
    licensed = set()
    for path in (p for p in (tmp_path / "out").rglob("*") if p.is_file()):
        count = path.read_bytes().count(LICENCE.encode())
        bare = path.name not in COMMENTS and path.suffix in DATA
        assert count == (0 if bare else 1), path.name
        if count and path.suffix != ".md":
            licensed.add(path.suffix or path.name)
            assert any(LICENCE in line for line in path.read_text().splitlines()[:2]), path.name
    assert {".c", ".h"} <= licensed or {".sv", ".py", ".tcl"} <= licensed


def test_the_line_stands_behind_what_a_tool_looks_for_first():
    files = {"a.core": "CAPI=2:\nname: a\n", "b.c": "int b;\n", "c.json": "{}", "d.c": b"bytes"}
    assert with_licence(files) == {
        "a.core": f"CAPI=2:\n# {LICENCE}\nname: a\n",
        "b.c": f"/* {LICENCE} */\nint b;\n",
        "c.json": "{}",
        "d.c": b"bytes",
    }


def test_a_file_of_another_kind_has_to_be_decided_on():
    with pytest.raises(KeyError, match="exe"):
        with_licence({"a.exe": "text"})


def test_the_notice_has_the_terms():
    notice = (ROOT / "NOTICE").read_text()
    assert "(0BSD)" in notice
    assert re.search(r"for any purpose with or without\s+fee is hereby granted", notice)
