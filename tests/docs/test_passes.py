"""The page of passes has a row for every pass of ``Pass.registry``."""

import re

from support import ROOT
from support.pass_registry import PACKAGES, registered, table

PAGE = ROOT / "docs" / "reference" / "passes.md"
PART = re.compile(r"(?<=<!-- passes -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def test_the_page_is_what_the_registry_gives(request):
    page = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        PAGE.write_text(PART.sub(lambda _: table(), page), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    (part,) = PART.findall(page)
    assert part == table(), "pytest --update-golden, then read the difference"


def test_every_pass_is_in_a_package_that_is_searched():
    folders = [ROOT / package.__name__.replace(".", "/") for package in PACKAGES]
    sources = [p for root in ("rlx", "targets", "sim") for p in (ROOT / root).rglob("*.py")]
    found = [p for p in sources if re.search(r"^class \w+\((\w+\.)?Pass\):", p.read_text(), re.M)]
    assert len(found) == len(registered())
    assert [p for p in found if not any(f in p.parents for f in folders)] == []
