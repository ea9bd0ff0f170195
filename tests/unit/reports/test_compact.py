"""Compact styles and scripts; that the page's own still work, test_browser.py checks."""

import re

from rlx.reports.compact import compact_script, compact_style
from support import ROOT


def test_a_script_loses_comments_and_spaces():
    text = 'const f = (a, b) => {\n  // a comment\n  return a + b;\n};\n\nf(1, "a = b");\n'
    assert compact_script(text) == 'const f=(a,b)=>{return a + b;};f(1,"a = b");'
    assert compact_script("x = `${a} , ${b}` ? 1 : 2;") == "x=`${a} , ${b}`?1:2;"
    assert compact_script("x = a + +b - -c;") == "x=a + +b - -c;"


def test_styles_lose_spaces_that_mean_nothing():
    text = (
        "@media (max-width: 9px) {\n"
        '  a > b :hover, p { width: calc(1px + 2px); content: "a, b"; }\n}\n'
    )
    expected = '@media (max-width:9px){a > b :hover,p{width:calc(1px + 2px);content:"a, b";}}'
    assert compact_style(text) == expected


def test_the_script_of_the_page_keeps_to_what_can_be_made_compact():
    text = (ROOT / "templates" / "report" / "page.js").read_text(encoding="utf-8")
    assert not re.search(r"/\*|[^:\s] *//|'", text), "comments on lines of their own, no '...'"
    assert all(
        line.rstrip().endswith((";", "{", "}", ",", "(", "||", "=", "=>", ")", ":", "["))
        for line in text.splitlines()
        if line and not line.lstrip().startswith("//")
    )
