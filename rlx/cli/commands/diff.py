"""``rlx diff``: what differs between two output folders, or two models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rlx.cli.common import json_option, print_json
from rlx.cli.table import prose, sentences, show_table, wide_option
from rlx.support.errors import UsageError
from rlx.support.text.tables import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir.diff import GraphDiff
    from rlx.reports.folder_diff import Change, FolderDiff, LayerDiff

_SIGNS: Final = {"added": "+", "removed": "-", "changed": "~"}
_SHARES: Final = (Column("unit", priority=1), Column("change", right=True, priority=1))


@click.command(name="diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--exit-code", is_flag=True, help="Exit with status 1 if anything differs.")
@wide_option
@json_option
def command(old: Path, new: Path, exit_code: bool, as_json: bool) -> int:
    """Show what differs between OLD and NEW: two output folders, or two model files.

    Of folders: what a program that uses the network must follow (names, inputs, outputs), what it
    takes (memory, time), and layers that were added, removed or changed. Of models: their graphs,
    as 'rlx inspect --diff' shows them.
    """
    difference = _difference(old, new)
    if as_json:
        print_json(difference.to_dict())
    elif isinstance(difference, _folder_class()):
        _show(difference)
    else:
        print(difference)
    return 1 if exit_code and difference else 0


def _difference(old: Path, new: Path) -> FolderDiff | GraphDiff:
    """Return the differences.

    Raises:
        UsageError: One is a folder, the other a file, or one is missing.
    """
    from rlx.cli.common import missing_file

    for path in (old, new):
        if not path.exists():
            raise missing_file(path, "give two output folders, or two model files")
    folders = [path for path in (old, new) if path.is_dir()]
    if len(folders) == 1:
        raise UsageError(
            f"{folders[0]} is a folder, the other is none",
            hint="compare two output folders, or two model files",
        )
    if folders:
        from rlx.reports.folder_diff import folder_diff, read_emitted

        return folder_diff(read_emitted(old), read_emitted(new))
    from rlx import frontends
    from rlx.ir.diff import inspect_graph_diff

    return inspect_graph_diff(frontends.load(old).graph, frontends.load(new).graph)


def _folder_class() -> type[FolderDiff]:
    from rlx.reports.folder_diff import FolderDiff

    return FolderDiff


def _show(difference: FolderDiff) -> None:
    prose(f"--- {difference.before}")
    prose(f"+++ {difference.after}")
    if not difference:
        prose("equal: every file is the same")
        return
    _show_changes("For the caller", difference.caller, ())
    _show_changes("Predicted", difference.figures, _SHARES)
    _show_layers(difference.layers)
    prose(f"layers unchanged: {difference.unchanged}")
    _show_files("only in one of them", difference.files)
    _show_files("other contents", difference.contents)


def _show_changes(title: str, changes: Sequence[Change], more: tuple[Column, ...]) -> None:
    """Print changes as a table; ``more`` are the columns of unit and share, or none."""
    if not changes:
        return
    print()
    columns = (
        Column("what"),
        Column("old", right=True, shortest=12),
        Column("new", right=True, shortest=12),
    )
    rows = tuple(
        (c.name, *c.values, *(c.unit, _share(c.before, c.after))[: len(more)]) for c in changes
    )
    show_table(Table(title, columns + more, rows))


def _share(before: object, after: object) -> str:
    """Return the change of a number in percent; nothing for anything else."""
    numbers = (int, float)
    if isinstance(before, bool) or not isinstance(before, numbers) or not before:
        return ""
    if isinstance(after, bool) or not isinstance(after, numbers):
        return ""
    return f"{100 * (after - before) / before:+.1f} %"


def _show_layers(layers: Sequence[LayerDiff]) -> None:
    if not layers:
        return
    print()
    columns = (Column(""), Column("layer", shortest=12), Column("op"), sentences("what differs"))
    rows = tuple(
        (_SIGNS[one.kind], one.name, one.op, "; ".join(map(str, one.changes)) or one.kind)
        for one in layers
    )
    show_table(Table("Layers", columns, rows))


def _show_files(title: str, names: Sequence[str]) -> None:
    if names:
        prose(f"files, {title}: {', '.join(names)}")
