"""``make campaign``: run the long form of every part, or of those that are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from campaign import page, summary, workers
from campaign.journal import Journal, source_revision
from campaign.parts import PARTS
from support import ROOT

if TYPE_CHECKING:
    from campaign.part import Part


@click.command()
@click.argument("names", nargs=-1, metavar="[PART]...", type=click.Choice([*PARTS]))
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--cases", type=click.IntRange(1), help="Cases of each part. Default: all.")
@click.option("--only", type=click.IntRange(0), help="Run one case again and print its outcome.")
@click.option("--again", is_flag=True, help="Run the cases with findings again.")
@click.option("--fresh", is_flag=True, help="Forget what earlier runs did.")
@click.option("--store", is_flag=True, help=f"Write the counts to {page.STORED.relative_to(ROOT)}.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "out" / "campaign",
    help="Folder of the records of finished cases, by which an interrupted run goes on.",
)
def main(
    names: tuple[str, ...],
    jobs: int,
    cases: int | None,
    only: int | None,
    again: bool,
    fresh: bool,
    store: bool,
    out: Path,
) -> None:
    """Run the campaign's parts (all, or those named) and print a table; status 1 on findings."""
    chosen = [PARTS[name] for name in names or PARTS]
    if only is not None:
        sys.exit(_run_one(chosen, only))
    revision = source_revision()
    rows = []
    for part in chosen:
        journal = Journal(out / f"{part.name}.jsonl", revision)
        if fresh:
            journal.path.unlink(missing_ok=True)
        _run(part, journal, jobs=jobs, cases=cases, again=again)
        rows.append(summary.row(part, journal.records().values(), journal.revisions()))
    if store:
        page.update(rows)
    _print_table(rows)
    sys.exit(1 if any(row["findings"] for row in rows) else 0)


def _run_one(parts: list[Part], number: int) -> int:
    """Run one case in this process, tracebacks shown."""
    (part,) = parts
    outcome = part.run(number)
    click.echo(outcome)
    return 1 if outcome.finding else 0


def _run(part: Part, journal: Journal, *, jobs: int, cases: int | None, again: bool) -> None:
    """Run what the journal lacks, and print each finding when it comes."""
    done = journal.records()
    wanted = [n for n in part.spread(cases or part.cases) if n not in done]
    wanted += [n for n, record in done.items() if again and record.finding]
    records = workers.run(part, wanted, jobs)
    console = Console(stderr=True)
    for record in track(records, part.name, total=len(wanted), console=console):
        journal.append(record)
        if record.finding:
            console.print(f"{part.name} {record.number}: {record.finding}", markup=False)


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = Table("test", "goal", "tried", "results", "findings", "CPU s", "max s", "max MB")
    for found in rows:
        table.add_row(
            found["title"],
            found["goal"],
            f"{found['tried']:,} of {found['cases']:,}",
            summary.described(found),
            str(found["findings"]),
            *(f"{found[k]:,}" for k in ("cpu_s", "cpu_s_maximum", "memory_mb_maximum")),
        )
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()
