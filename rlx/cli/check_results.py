"""Further results of ``rlx verify``: budgets, JUnit files.

Tests: tests/cli/test_budget.py
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rlx.cli.table import prose, sentences, show_table
from rlx.driver.verification import budget as budgets
from rlx.driver.verification.budget import Quantity, value_text
from rlx.driver.verification.junit import error_xml, results_xml
from rlx.support.errors import DoesNotFitError, RlxError, UsageError
from rlx.support.files.outputs import read_manifest, write_file
from rlx.support.text.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rlx.driver.verification.budget import BudgetRow
    from rlx.targets.verifier import Verification

_COLUMNS: Final = (
    Column("limit of"),
    Column("limit", right=True),
    Column("measured", right=True),
    Column("margin", right=True),
    sentences("from"),
)


@dataclass(slots=True)
class Checks:
    """Further results that are wanted of a verification.

    Attributes:
        folder: The output folder.
        budget: Budget file; None for no limits.
        build: Folder that ``rlx build -o`` wrote; None for estimates.
        junit: File for the results as JUnit XML; None for none.
        rows: The limits beside what is taken, once :meth:`add` was called.
    """

    folder: Path
    budget: Path | None = None
    build: Path | None = None
    junit: Path | None = None
    rows: Sequence[BudgetRow] = ()
    _started: float = field(default_factory=time.monotonic)

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """Refuse files that cannot be used before the verification; report its errors as JUnit."""
        if self.build is not None and self.budget is None:
            raise UsageError(
                "is for the limits of a budget", where="--build", hint="give --budget rlx.toml too"
            )
        if self.budget is not None:
            budgets.load(self.budget, self.folder)
        if self.build is not None:
            budgets.read_build(self.build, self.folder)
        try:
            yield
        except RlxError as error:
            if self.junit is not None:
                suite = _suite(self.folder)
                write_file(self.junit, error_xml(suite, error, seconds=self._seconds()))
            raise

    def add(self, result: Verification) -> None:
        """Compare the results with the budget, and write the JUnit file."""
        if self.budget is not None:
            build = None if self.build is None else budgets.read_build(self.build, self.folder)
            self.rows = budgets.load(self.budget, self.folder).rows(self.folder, result, build)
        if self.junit is not None:
            xml = results_xml(
                _suite(self.folder), result.as_json(), self.rows, seconds=self._seconds()
            )
            write_file(self.junit, xml)

    def status(self, result: Verification) -> int:
        """Return the exit status: 1 for wrong outputs, 3 for a limit that is not kept."""
        if not result.passed:
            return 1
        return 0 if all(row.kept for row in self.rows) else DoesNotFitError.exit_status

    def show(self) -> None:
        """Print the limits."""
        if self.budget is None:
            return
        rows = tuple(map(_cells, self.rows))
        print()
        show_table(Table(f"{self.budget}: {_suite(self.folder)}", _COLUMNS, rows))
        broken = [row for row in self.rows if not row.kept]
        over = [row.name for row in broken if row.value is not None]
        unknown = [row.name for row in broken if row.value is None]
        listed = (("over budget", over), ("not measured", unknown))
        verdict = "; ".join(f"{what}: {', '.join(names)}" for what, names in listed if names)
        prose(f"budget: {verdict or 'met'}", fg="red" if broken else "green", bold=True)

    def _seconds(self) -> float:
        return time.monotonic() - self._started


def _suite(folder: Path) -> str:
    """Return network and target of an output folder, or its name if it cannot be read."""
    with contextlib.suppress(RlxError):
        producer = read_manifest(folder, check_files=False).producer
        return f"{producer.facts.get('prefix', folder.name)}.{producer.target}"
    return folder.name


def _cells(row: BudgetRow) -> tuple[str, ...]:
    margin = "-"
    if row.margin is not None:
        share = f" ({100 * row.margin / row.limit:+.1f} %)" if row.limit else ""
        margin = value_text(row.quantity, row.margin) + share
    limit = ("at least " if row.quantity is Quantity.CLOCK else "") + value_text(
        row.quantity, row.limit
    )
    value = "-" if row.value is None else value_text(row.quantity, row.value)
    return row.name, limit, value, margin, row.source
