"""The page of the documentation that shows the stored counts."""

from __future__ import annotations

from typing import Final

from benchmarks import stored
from benchmarks.markdown import markdown_table
from campaign import summary
from support import ROOT

STORED: Final = ROOT / "benchmarks" / "results" / "campaign.jsonl"
PAGE: Final = ROOT / "docs" / "reference" / "campaign.md"
KEY: Final = ("part",)

_INTRODUCTION: Final = """\
# Campaign

This page is written by `make campaign`; do not edit it.

The campaign attacks rlx with files, networks, names, faults and signals that nobody here chose.
Each part is a list of numbered cases, always the same; `tests/campaign` holds them. The test suite
runs some of each, `make campaign` all of them (some hours; it goes on where it was interrupted),
and `make campaign PARTS="wheel qemu"` only those. One case again, with its traceback:
`PYTHONPATH=tests:. python -m campaign wheel --only 17`.

A *finding* is a wrong byte, a traceback, a crash, a hang, a case over its limit of processor time
or memory, a refusal without place or remedy, a lost or left-over file. CPU is that of the whole
part, in seconds; the last two columns are the maximum of a case.

"""


def page() -> str:
    """Return the page for what is stored."""
    body = [
        [
            found["title"],
            found["goal"],
            summary.described(found),
            f"{found['tried']:,} of {found['cases']:,}",
            *(f"{found[k]:,}" for k in ("findings", "cpu_s")),
            *(f"{found[k]:,}" for k in ("cpu_s_maximum", "memory_mb_maximum")),
        ]
        for found in stored.read(STORED)
    ]
    head = ["test", "goal", "results", "tried", "findings", "CPU s", "maximum s", "maximum MB"]
    return _INTRODUCTION + markdown_table(head, body, texts=3)


def update(rows: list[stored.Row]) -> None:
    """Store ``rows`` and write the page again."""
    stored.write(STORED, rows, KEY)
    PAGE.write_text(page(), encoding="utf-8")
