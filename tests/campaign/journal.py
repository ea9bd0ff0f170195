"""Progress of a long run, on disk: so that it can be interrupted and go on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from campaign.measure import Record
from support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = ("rlx", "targets", "sim", "templates", "tests/campaign")


@dataclass
class Journal:
    """The records of one part, a line of JSON each.

    Attributes:
        path: The file.
        revision: Fingerprint of the sources that write to it now.
    """

    path: Path
    revision: str

    def records(self) -> dict[int, Record]:
        """Return the newest record of each case that was run, by number."""
        found = {}
        for row in self._rows():
            row.pop("revision")
            found[row["number"]] = Record(**row)
        return dict(sorted(found.items()))

    def revisions(self) -> set[str]:
        """Return the fingerprints of the sources that the records are of."""
        newest = {row["number"]: row["revision"] for row in self._rows()}
        return set(newest.values())

    def append(self, record: Record) -> None:
        """Add a record."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record.as_json(), "revision": self.revision}) + "\n")

    def _rows(self) -> list[dict[str, Any]]:
        """Return all lines; one that a kill cut off is left out."""
        if not self.path.is_file():
            return []
        lines = self.path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines[:-1] if line.endswith("}")]


def source_revision() -> str:
    """Return a short hash over the sources that a campaign tests."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
