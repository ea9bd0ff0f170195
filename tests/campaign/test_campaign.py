"""The short form: some cases of every part. The long form is ``make campaign``."""

from __future__ import annotations

import pytest

from campaign import workers
from campaign.parts import PARTS


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[getattr(pytest.mark, mark) for mark in part.marks])
        for name, part in PARTS.items()
    ],
)
def test_part(name: str) -> None:
    part = PARTS[name]
    numbers = part.spread(part.short)
    records = list(workers.run(part, numbers, jobs=1))
    assert sorted(r.number for r in records) == numbers
    findings = [f"{name} {r.number}: {r.finding}" for r in records if r.finding]
    assert not findings, "\n".join(findings)
