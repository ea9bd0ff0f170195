"""Differences between two manifests: added, removed and changed entries.

Tests: tests/unit/ir/test_manifest.py
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from rlx.ir.manifest import IoBindingEntry, text_of_tables, type_text
from rlx.support.text.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir.manifest import BindingManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntry:
    """An entry that only one of two manifests has.

    Attributes:
        kind: ``input``, ``parameter``, ``output`` or ``state``.
        entry: The entry.
    """

    kind: str
    entry: IoBindingEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field of an entry that differs; see ``IoBindingEntry``."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryChange:
    """An entry that is in both manifests with a difference.

    Attributes:
        kind: ``input``, ``parameter``, ``output`` or ``state``.
        name: Its name.
        changes: Differences; numbers of nodes do not count.
    """

    kind: str
    name: str
    changes: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestDiff:
    """Differences between two manifests. False if none affects the values that a caller must bind.

    Attributes:
        before: Name of the first graph.
        after: Name of the second graph.
        arena_bytes: Bytes of the arena, before and after.
        alignment: Alignment of the arena, before and after.
        added: Entries that only the second one has, in order.
        removed: Entries that only the first one has, in order.
        changed: Entries of one kind and name that differ, in the order of the first one.
    """

    before: str
    after: str
    arena_bytes: tuple[int, int]
    alignment: tuple[int, int]
    added: tuple[NamedEntry, ...]
    removed: tuple[NamedEntry, ...]
    changed: tuple[EntryChange, ...]

    @staticmethod
    def of(before: BindingManifest, after: BindingManifest) -> ManifestDiff:
        """Return the differences between two manifests."""
        old, new = _by_name(before), _by_name(after)
        return ManifestDiff(
            before=before.graph,
            after=after.graph,
            arena_bytes=(before.arena_bytes, after.arena_bytes),
            alignment=(before.alignment, after.alignment),
            added=tuple(NamedEntry(kind=k[0], entry=e) for k, e in new.items() if k not in old),
            removed=tuple(NamedEntry(kind=k[0], entry=e) for k, e in old.items() if k not in new),
            changed=tuple(
                EntryChange(kind=key[0], name=entry.name, changes=changes)
                for key, entry in old.items()
                if key in new and (changes := _changes(entry, new[key]))
            ),
        )

    def __bool__(self) -> bool:
        sizes = (self.arena_bytes, self.alignment)
        return any(a != b for a, b in sizes) or bool(self.added or self.removed or self.changed)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold."""
        return asdict(self)

    def tables(self) -> tuple[Table, ...]:
        """Return everything as a table with a row for each difference."""
        rows: list[tuple[object, ...]] = [
            ("", what, "changed", "", *values)
            for what, values in (("arena, B", self.arena_bytes), ("alignment", self.alignment))
            if values[0] != values[1]
        ]
        rows += [(n.kind, n.entry.name, "removed", "", _short(n), None) for n in self.removed]
        rows += [(n.kind, n.entry.name, "added", "", None, _short(n)) for n in self.added]
        rows += [
            (c.kind, c.name, "changed", f.field, _text(f.before), _text(f.after))
            for c in self.changed
            for f in c.changes
        ]
        heads = ("", "name", "", "field", "before", "after")
        columns = tuple(Column(head, right=False) for head in heads)
        return (Table(f"{self.before} -> {self.after}", columns, tuple(rows)),)

    def __str__(self) -> str:
        return text_of_tables(self.tables()) if self else "no differences"


def _by_name(manifest: BindingManifest) -> Mapping[tuple[str, str, int], IoBindingEntry]:
    """Return the entries by kind, name, and how many entries of this name come before."""
    by_key: dict[tuple[str, str, int], IoBindingEntry] = {}
    for kind, entries in manifest.sections():
        for entry in entries:
            occurrence = 0
            # Outputs may have equal names: the n-th of one name is compared with the n-th.
            while (kind, entry.name, occurrence) in by_key:
                occurrence += 1
            by_key[kind, entry.name, occurrence] = entry
    return by_key


def _changes(old: IoBindingEntry, new: IoBindingEntry) -> tuple[FieldChange, ...]:
    """Return the fields that differ, but for the number of the node."""
    pairs = ((f.name, getattr(old, f.name), getattr(new, f.name)) for f in fields(old))
    return tuple(
        FieldChange(field=name, before=a, after=b)
        for name, a, b in pairs
        if a != b
        if name != "node"
    )


def _short(named: NamedEntry) -> str:
    return f"{type_text(named.entry)}, {named.entry.nbytes:,} B"


def _text(value: object) -> object:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else value
