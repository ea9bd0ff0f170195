"""Sums of a part's records: a row of the table, and of the stored results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from campaign.measure import Record
    from campaign.part import Part


def row(part: Part, records: Collection[Record], revisions: Collection[str]) -> dict[str, Any]:
    """Return counts, findings and the largest costs of a part as JSON values."""
    amounts: Counter[str] = Counter()
    for record in records:
        amounts.update(record.amounts)
    return {
        "part": part.name,
        "title": part.title,
        "goal": part.goal,
        "cases": part.cases,
        "tried": len(records),
        "results": dict(sorted(Counter(r.result for r in records).items())),
        "amounts": dict(sorted(amounts.items())),
        "findings": sum(bool(r.finding) for r in records),
        "cpu_s": round(sum(r.cpu_s for r in records)),
        "cpu_s_maximum": round(max((r.cpu_s for r in records), default=0.0), 1),
        "memory_mb_maximum": round(max((r.memory_mb for r in records), default=0.0)),
        "revisions": sorted(revisions),
    }


def described(found: dict[str, Any]) -> str:
    """Return the results and amounts of a row in one line."""
    parts = [f"{count:,} {name}" for name, count in (found["results"] | found["amounts"]).items()]
    return ", ".join(parts)
