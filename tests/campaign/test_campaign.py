"""The short form: some cases of every part. The long form is ``make campaign``."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from benchmarks import stored
from campaign import corpus, page, workers
from campaign.parts import PARTS
from campaign.sealed import sealed_document
from rlx.ir.file import load, to_file_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor
    from pathlib import Path

    from campaign.measure import Record


def test_page_shows_what_is_stored() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_nothing_was_found() -> None:
    rows = {row["part"]: row for row in stored.read(page.STORED)}
    assert rows.keys() == PARTS.keys()
    assert {name: row["findings"] for name, row in rows.items()} == dict.fromkeys(rows, 0)


def test_files_sealed_again_are_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "again.rlx"
    for data in corpus.rlx_files():
        path.write_bytes(sealed_document(data, lambda _: None))
        assert to_file_bytes(load(path)) == data


@pytest.fixture(scope="module")
def fresh() -> Iterator[Executor]:
    """Run calls in a process without threads: a part forks, and the test runner may hold JAX."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        yield executor


def _records(name: str, numbers: list[int]) -> list[Record]:
    return list(workers.run(PARTS[name], numbers, jobs=1))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[getattr(pytest.mark, mark) for mark in part.marks])
        for name, part in PARTS.items()
        if part.short
    ],
)
def test_part(name: str, fresh: Executor) -> None:
    part = PARTS[name]
    numbers = part.spread(part.short)
    records = fresh.submit(_records, name, numbers).result()
    assert sorted(r.number for r in records) == numbers
    findings = [f"{name} {r.number}: {r.finding}" for r in records if r.finding]
    assert not findings, "\n".join(findings)
