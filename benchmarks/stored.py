"""Stored results: sorted lines of JSON, with which later measurements are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Row = dict[str, Any]

MAX_COST_GROWTH = 0.01
"""Accepted growth of a cost."""


def read(path: Path) -> list[Row]:
    """Return the stored rows, an empty list if the file does not exist."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, rows: Iterable[Row], key: Sequence[str]) -> None:
    """Store ``rows``, and keep stored rows with other keys."""
    merged = {_key(row, key): row for row in (*read(path), *rows)}
    lines = [json.dumps(merged[k], sort_keys=True) + "\n" for k in sorted(merged)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


def grown_costs(
    rows: Iterable[Row],
    stored: Iterable[Row],
    key: Sequence[str],
    costs: Sequence[str] | Mapping[str, float],
) -> list[str]:
    """Return a line for each of ``costs`` that grew by more than :data:`MAX_COST_GROWTH`.

    Rows that name their machine are compared with those of the same machine only.

    Costs that are not counts differ from machine to machine: ``costs`` maps them to an additional
    tolerance. Rows and costs that were not stored before do not count.
    """
    slack = costs if isinstance(costs, Mapping) else dict.fromkeys(costs, 0.0)
    before = {_key(row, key): row for row in stored}
    problems = []
    for row in rows:
        old = before.get(_key(row, key), {})
        if old and _machine(row) != _machine(old):
            # Not even ratios of times can be compared: other processors use other kernels.
            continue
        for cost, more in slack.items():
            if cost in old and cost in row and row[cost] > old[cost] * (1 + MAX_COST_GROWTH) + more:
                share = (row[cost] / old[cost] - 1) * 100 if old[cost] else float("inf")
                problems.append(
                    f"{' '.join(map(str, _key(row, key)))}: {cost} {row[cost]:,},"
                    f" {old[cost]:,} stored (+{share:.1f} %)"
                )
    return problems


def unmatched(rows: Iterable[Row], stored: Iterable[Row], key: Sequence[str]) -> list[str]:
    """Return the keys of rows that are not stored, such as those of another compiler."""
    before = {_key(row, key) for row in stored}
    return [" ".join(map(str, _key(row, key))) for row in rows if _key(row, key) not in before]


def elsewhere(rows: Iterable[Row], stored: Iterable[Row], key: Sequence[str]) -> list[str]:
    """Return a line for each other machine that the stored figures of rows come from."""
    before = {_key(row, key): _machine(row) for row in stored}
    pairs = {(_machine(row), before.get(_key(row, key), "")) for row in rows}
    return [
        f"measured on {here}, stored on {there}: not compared"
        for here, there in sorted(pairs)
        if here and there and here != there
    ]


def _machine(row: Row) -> str:
    """Return the processor of a row and its BLAS kernels; empty for a row without them."""
    blas = row.get("blas")
    return row.get("processor", "") + (f" with kernels of {blas}" if blas else "")


def _key(row: Row, key: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in key)
